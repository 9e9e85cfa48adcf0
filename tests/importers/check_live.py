#!/usr/bin/env python3
"""Looks at the live page of a run in headless Chromium: check_live.py GYRATOR [FOLDER for screenshots].

A run of 30 s at real speed: updates arrive at least twice a second, the plots are drawn, nothing is asked of another
host, no console error; Pause and Resume work; the page stays when the run has ended. A second run is stopped by a
click. A third one, as fast as it can, has browsers that read nothing every other time: its process needs less than 1 %
more time of the processor for a step. Needs Debian's chromium and nothing but the standard library.
"""

import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = ROOT / "examples" / "double-oscillator.toml"
OPTIONS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking".split()
#: Simulated and real time of the run that is looked at, s.
LENGTH = 30
#: Seconds of each stretch with, and without, browsers that read nothing, pairs of them, and browsers.
STRETCH, PAIRS, DEAD = 2.0, 40, 4
#: A report of the run, as an event.
STATE = re.compile(rb'data: \{"kind":"state",.*?"steps":(\d+),')
#: Widths of windows in which the page is looked at, besides the usual one, in pixels.
WIDTHS = (1280, 860, 400)


class Chromium:
    """A page in a browser, commanded by the DevTools protocol over a pair of pipes."""

    def __init__(self, url: str) -> None:
        here_read, there_write = os.pipe()
        there_read, here_write = os.pipe()
        self.folder = tempfile.TemporaryDirectory()

        def pipes() -> None:
            # Copies first: a number may be in use.
            reading, writing = os.dup(there_read), os.dup(there_write)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            ["chromium", *OPTIONS, f"--user-data-dir={self.folder.name}", "--remote-debugging-pipe", "--window-size=1100,1500"],
            preexec_fn=pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there_read)
        os.close(there_write)
        self.output, self.input = os.fdopen(here_write, "wb", 0), os.fdopen(here_read, "rb")
        self.number, self.answers, self.errors, self.hosts = 0, {}, [], set()
        self.session = None
        self.arrived = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=url)

    def read(self) -> None:
        buffer = b""
        while chunk := os.read(self.input.fileno(), 1 << 16):
            *messages, buffer = (buffer + chunk).split(b"\0")
            for text in messages:
                self.take(json.loads(text))

    def take(self, message: dict) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            # Images that stand in the page have no host.
            if not parameters["request"]["url"].startswith("data:"):
                self.hosts.add(urlsplit(parameters["request"]["url"]).netloc)
        elif method == "Runtime.exceptionThrown":
            self.errors.append(parameters["exceptionDetails"].get("exception", {}).get("description", str(parameters)))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] == "error":
            self.errors.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        with self.arrived:
            if "id" in message:
                self.answers[message["id"]] = message
                self.arrived.notify_all()

    def call(self, method: str, **parameters: object) -> dict:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.output.write(json.dumps(message).encode() + b"\0")
        with self.arrived:
            assert self.arrived.wait_for(lambda: message["id"] in self.answers, 30), f"no answer to {method}"
            answer = self.answers.pop(message["id"])
        assert "error" not in answer, answer
        return answer["result"]

    def value(self, script: str) -> object:
        return self.call("Runtime.evaluate", expression=script)["result"].get("value")

    def wait(self, script: str, seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while not self.value(script):
            assert time.monotonic() < end, f"waited too long for {script}; {self.value('document.body.innerText')[:400]}"
            time.sleep(0.05)

    def click(self, name: str) -> None:
        found = f"[...document.querySelectorAll('#live button')].find((one) => one.textContent.startsWith('{name}'))"
        self.wait(f"Boolean({found})")
        self.value(f"{found}.click()")

    def screenshot(self, path: Path) -> None:
        import base64

        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
        print(f"  {path}")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


class Run:
    """A run with a live page."""

    def __init__(self, gyrator: str, *options: str) -> None:
        command = [gyrator, "run", str(SYSTEM), "--live", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert line.startswith("live page: "), line
        self.url = line.split()[-1]
        self.host = urlsplit(self.url).netloc

    def worker(self) -> int:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = children.read_text().split() if children.exists() else []
        if not found:
            found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout.split()
        return int(found[0])

    def connect(self, buffer: int = 4096) -> socket.socket:
        """A browser that asks for the events; with a small buffer one that reads nothing keeps the server waiting."""
        host, port = self.host.split(":")
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.connect((host, int(port)))
        path = urlsplit(self.url).path
        client.sendall(f"GET {path}events HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())
        return client


def look(gyrator: str, folder: Path) -> None:
    run = Run(gyrator, "--real-time", f"--stop-time={LENGTH}")
    page = Chromium(run.url)
    page.wait("document.querySelectorAll('#plots canvas').length > 0")
    count, begin = page.value("Number(document.documentElement.dataset.events)"), time.monotonic()
    slowest = float("inf")
    while time.monotonic() - begin < LENGTH / 2:
        time.sleep(2)
        now = page.value("Number(document.documentElement.dataset.events)")
        slowest, count = min(slowest, (now - count) / 2), now
    print(f"  updates: at least {slowest / 2:.1f} a second")
    # Each update is a state and a drawing.
    assert slowest >= 4, slowest
    page.screenshot(folder / "live-running.png")
    page.wait("document.querySelector('#graph img').naturalWidth > 0")
    readout(page)
    for width in WIDTHS:
        narrow(page, width, folder / f"live-{width}.png")
    page.click("Pause")
    page.wait("document.querySelector('#live .badge').textContent.includes('paused')")
    page.click("Resume")
    page.wait("document.querySelector('#live .badge').textContent.includes('running')")
    page.wait("document.querySelector('#live .badge').textContent.includes('ended')", 3 * LENGTH)
    assert run.process.wait() == 0, run.process.stderr.read()
    page.wait("document.querySelector('#run').textContent.includes('stop-time')")
    page.screenshot(folder / "live-ended.png")
    drawn = page.value("document.querySelector('#drawn').textContent")
    assert str(1000 * LENGTH + 1) in drawn, drawn
    print(f"  at the end: {drawn}")
    assert page.hosts == {run.host}, page.hosts
    assert not page.errors, page.errors
    page.close()


def readout(page: Chromium) -> None:
    """The values at the cursor stay, and are those of the data that arrive; so do hidden signals."""
    page.value("document.querySelector('.u-over').scrollIntoView({ block: 'center' })")
    box = "JSON.stringify(document.querySelector('.u-over').getBoundingClientRect())"
    box = json.loads(page.value(box))
    x, y = box["left"] + box["width"] / 2, box["top"] + box["height"] / 2
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    page.value("document.querySelectorAll('.key')[1].click()")
    times = set()
    for _ in range(40):
        time.sleep(0.1)
        times.add(page.value("document.querySelector('#cursor').textContent"))
        figures = page.value("[...document.querySelectorAll('.key .figure')].map((one) => one.textContent).join('|')")
        assert figures and not re.search(r"^\||\|\||\|$", figures), figures
    assert "" not in times and len(times) > 2, times
    assert page.value("document.querySelectorAll('.key')[1].getAttribute('aria-pressed')") == "false"
    page.value("document.querySelectorAll('.key')[1].click()")
    print(f"  the cursor has shown {len(times)} times: {sorted(times)[:3]} …")


def narrow(page: Chromium, width: int, path: Path) -> None:
    """Nothing is wider than a narrow window, and the buttons stand in one line."""
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=1200, deviceScaleFactor=1, mobile=False)
    time.sleep(1)
    page.value("scrollTo(0, 0)")
    widest = page.value("document.documentElement.scrollWidth")
    tops = page.value("JSON.stringify([...document.querySelectorAll('#live .badge, #live .buttons button')].map((one) => one.getBoundingClientRect()).map(({ top, height }) => top + height / 2))")
    tops = json.loads(tops)
    assert max(tops) - min(tops) < 2, f"the buttons are not in the line of the badge: {tops}"
    page.screenshot(path)
    assert widest <= width, f"{widest} pixels in a window of {width}"
    page.call("Emulation.clearDeviceMetricsOverride")


def stop(gyrator: str, folder: Path) -> None:
    run = Run(gyrator, "--real-time", "--stop-time=600")
    page = Chromium(run.url)
    page.wait("document.querySelectorAll('#plots canvas').length > 0")
    set_value = "document.querySelector('#live input[name=%s]').value = '%s'"
    page.value(set_value % ("variable", "left.k"))
    page.value(set_value % ("variable", "left.v2"))
    page.value(set_value % ("value", "0"))
    page.value("document.querySelectorAll('#live details').forEach((one) => (one.open = true))")
    page.click("Override")
    page.wait("document.querySelector('#live pre').textContent.includes('override')")
    page.screenshot(folder / "live-overridden.png")
    page.click("Stop")
    page.wait("document.querySelector('#live .badge').textContent.includes('ended')")
    assert run.process.wait() == 130
    assert not page.errors, page.errors
    page.close()


class Following:
    """A browser that reads: the steps of the run by the reports that arrive."""

    def __init__(self, run: Run) -> None:
        self.stream = run.connect(1 << 20).makefile("rb")
        self.arrived = threading.Condition()
        self.steps, self.count = 0, 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for line in self.stream:
            if found := STATE.match(line):
                with self.arrived:
                    self.steps, self.count = int(found[1]), self.count + 1
                    self.arrived.notify_all()

    def next(self) -> int:
        """The steps of the next report, as soon as it comes."""
        with self.arrived:
            last = self.count
            assert self.arrived.wait_for(lambda: self.count > last, 60), "no report in a minute"
            return self.steps


def computed(process: int) -> int:
    """Time that the threads of a process have computed, ns: sched-stats of the kernel."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads)


def dead_browser(gyrator: str) -> None:
    """Compares stretches of one run, so that they differ in nothing but the browsers; their order changes from pair to pair."""
    # Without staleness the run makes no energy, and can go on for long.
    run = Run(gyrator, "--stop-time=1e7", "--exchange=fresh", "--no-sense-check")
    processes = {"steps": run.worker(), "serves": run.process.pid}
    following = Following(run)

    def stretch(dead: int) -> dict[str, float]:
        """Nanoseconds that each process has computed for a step, beside browsers that read nothing."""
        clients = [run.connect() for _ in range(dead)]
        following.next()
        steps, before = following.next(), {name: computed(process) for name, process in processes.items()}
        end = time.monotonic() + STRETCH
        while time.monotonic() < end:
            last = following.next()
        costs = {name: (computed(process) - before[name]) / (last - steps) for name, process in processes.items()}
        for client in clients:
            client.close()
        return costs

    pairs = []
    for pair in range(PAIRS):
        order = (0, DEAD) if pair % 2 == 0 else (DEAD, 0)
        costs = {dead: stretch(dead) for dead in order}
        pairs.append((costs[0], costs[DEAD]))
    assert run.process.poll() is None, run.process.stderr.read()
    run.process.send_signal(2)
    run.process.wait()
    for name in processes:
        alone = statistics.median(pair[0][name] for pair in pairs)
        # The median: other work on the machine makes single stretches slower.
        ratios = sorted(pair[1][name] / pair[0][name] for pair in pairs)
        ratio, quarter = statistics.median(ratios), len(ratios) // 4
        print(
            f"  the process that {name}: {alone:.0f} ns a step; beside {DEAD} browsers that read nothing {100 * (ratio - 1):+.2f} % "
            f"(half of {PAIRS} pairs between {100 * (ratios[quarter] - 1):+.2f} % and {100 * (ratios[-1 - quarter] - 1):+.2f} %)"
        )
        if name == "steps":
            cost = ratio
    assert cost < 1.01, cost


def main() -> None:
    gyrator = sys.argv[1]
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    for check in (lambda: look(gyrator, folder), lambda: stop(gyrator, folder), lambda: dead_browser(gyrator)):
        check()
    print("the live page is as it should be")


if __name__ == "__main__":
    main()
