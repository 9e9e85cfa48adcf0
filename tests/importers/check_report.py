"""The report of a run in headless Chromium, over the DevTools protocol.

check_report.py GYRATOR FMUS [IMAGES]: runs the double oscillator with error bars, opens the page and checks its title,
its verdict, the figures of its ledger, the pixels of its plots, zoom and cursor, that no message reaches the console,
that no request leaves the page, its size, and that each plot of very large and very small values has labels. Writes
screenshots, light and dark, to IMAGES.

Needs Debian's chromium and the package websockets.
"""

import asyncio
import base64
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

import websockets

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The limit of docs/report.md: 20 signals of 2000 points.
MOST_BYTES = 300_000
# A curve over the width of the page covers more pixels than this; axes and grid of an empty plot have none of its colour.
LEAST_PIXELS = 500

# Greatest values of plots, to the ends of the range of doubles.
MAGNITUDES = ["1e300", "1.7e308", "3e13", "9e6", "250", "2e-11", "4e-14", "1e-300", "2e-320"]

# Pixels of a colour on each canvas, axes and grid left out.
PIXELS = """
[...document.querySelectorAll('.uplot canvas')].map((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let k = 0; k < data.length; k += 4) {
    const [r, g, b, a] = data.slice(k, k + 4);
    if (a > 128 && Math.max(r, g, b) - Math.min(r, g, b) > 60) count++;
  }
  return count;
})
"""

class Page:
    """A tab of a browser."""

    def __init__(self, socket):
        self.socket, self.number = socket, 0
        self.console, self.requests, self.loaded = [], [], False

    async def call(self, method, **parameters):
        self.number += 1
        number = self.number
        await self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(await self.socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            self.console.append(parameters["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.console.append(str(parameters["args"]))
        elif method == "Log.entryAdded":
            self.console.append(parameters["entry"]["text"])

    async def evaluate(self, expression):
        result = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    async def until(self, expression):
        for _ in range(200):
            if await self.evaluate(expression):
                return
            await asyncio.sleep(0.05)
        raise RuntimeError(f"never true: {expression}")

    async def mouse(self, kind, x, y, button="left", buttons=1):
        await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons, clickCount=1)

    async def screenshot(self, path, scheme, width, height):
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        await asyncio.sleep(0.5)
        image = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(image["data"]))


def expect(condition, text):
    print(f"{'ok  ' if condition else 'FAIL'} {text}")
    if not condition:
        raise SystemExit(1)


async def check(page, url, summary, images):
    for domain in ["Page", "Network", "Runtime", "Log"]:
        await page.call(f"{domain}.enable")
    await page.call("Emulation.setDeviceMetricsOverride", width=1200, height=900, deviceScaleFactor=1, mobile=False)
    await page.call("Page.navigate", url=url)
    await page.until("document.querySelectorAll('.uplot canvas').length > 0")
    title = await page.evaluate("document.title")
    expect(title.startswith("double-oscillator.toml"), f"title: {title}")
    verdict = await page.evaluate("document.querySelector('#verdict .mark').textContent")
    expect(summary["verdict"] in verdict, f"verdict: {verdict}")
    await page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
    cells = await page.evaluate("[...document.querySelectorAll('#ledger .figure')].map((cell) => cell.title || cell.textContent.trim())")
    figures = [value for bond in summary["bonds"] for value in bond.values() if type(value) in (int, float)]
    found = [float(cell) for cell in cells if cell]
    missing = [figure for figure in figures if figure not in found]
    expect(figures and not missing, f"{len(figures)} figures of the ledger are those of the summary {missing}")
    await page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = false))")
    pixels = await page.evaluate(PIXELS)
    expect(len(pixels) >= 4 and min(pixels) >= LEAST_PIXELS, f"pixels of the curves: {pixels}")
    await zoom(page)
    times = await page.evaluate("document.querySelector('#time').textContent")
    expect("outside of FMUs" in times and "µs a call" in times, "times of FMUs")
    graph = await page.evaluate("document.querySelector('#graph img').naturalWidth")
    expect(graph > 0, f"width of the graph: {graph}")
    for width in [860, 400]:
        await page.screenshot(images / f"report-{width}.png", "light", width, 2000)
        widest = await page.evaluate("document.documentElement.scrollWidth")
        expect(widest <= width, f"width of the page in a window of {width}: {widest}")
    for scheme in ["light", "dark"]:
        path = images / f"report-{scheme}.png"
        await page.screenshot(path, scheme, 1200, 2000)
        expect(path.stat().st_size > 20_000, f"{path} has {path.stat().st_size} bytes")
    pixels = await page.evaluate(PIXELS)
    expect(min(pixels) >= LEAST_PIXELS, f"pixels of the curves, dark: {pixels}")
    pdf = await page.call("Page.printToPDF", printBackground=False)
    (images / "report.pdf").write_bytes(base64.b64decode(pdf["data"]))
    pixels = await page.evaluate(PIXELS)
    expect(min(pixels) >= LEAST_PIXELS, f"pixels of the curves after printing: {pixels}")
    expect(page.console == [], f"messages on the console: {page.console}")
    foreign = [request for request in page.requests if not request.startswith((url, "data:", "blob:"))]
    expect(foreign == [], f"requests to others: {foreign}")


async def zoom(page):
    """Drags over the first plot; all plots then show a part of the time, and the cursor its values."""
    await page.evaluate("document.querySelector('.u-over').scrollIntoView({ block: 'center' })")
    box = await page.evaluate(
        "(({ left, top, width, height }) => [left, top, width, height])(document.querySelector('.u-over').getBoundingClientRect())"
    )
    left, top, width, height = box
    middle = top + height / 2
    before = await page.evaluate("gyrator.range()")
    await page.mouse("mouseMoved", left + 0.2 * width, middle, "none", 0)
    cursor = await page.evaluate("document.querySelector('#cursor').textContent")
    expect(re.fullmatch(r"t = [\d.]+ s", cursor) is not None, f"cursor: {cursor}")
    values = await page.evaluate("[...document.querySelectorAll('.key .figure')].map((one) => one.textContent)")
    expect(values and all(values), f"values at the cursor: {values}")
    await page.mouse("mousePressed", left + 0.2 * width, middle)
    await page.mouse("mouseMoved", left + 0.3 * width, middle)
    await page.mouse("mouseMoved", left + 0.4 * width, middle)
    await page.mouse("mouseReleased", left + 0.4 * width, middle, buttons=0)
    await asyncio.sleep(0.3)
    after = await page.evaluate("gyrator.range()")
    size = before[1] - before[0]
    is_close = abs(after[0] - before[0] - 0.2 * size) < 0.02 * size and abs(after[1] - before[0] - 0.4 * size) < 0.02 * size
    expect(is_close, f"zoom by dragging: {before} becomes {after}")
    ranges = await page.evaluate("gyrator.ranges()")
    expect(all(one == after for one in ranges), f"all {len(ranges)} plots show the same time")
    await page.evaluate("document.querySelector('[data-zoom=all]').click()")
    await asyncio.sleep(0.2)
    expect(await page.evaluate("gyrator.range()") == before, "the whole run again")


async def check_magnitudes(page, url, names, images):
    """Each plot has labels, and the power of ten of its name is that of its values."""
    for domain in ["Page", "Runtime"]:
        await page.call(f"{domain}.enable")
    await page.call("Page.navigate", url=url)
    await page.until(f"document.querySelectorAll('.uplot canvas').length === {len(names) + 1}")
    await page.screenshot(images / "magnitudes.png", "light", 1000, 250 * len(names) + 250)
    axes = await page.evaluate("gyrator.axes()")
    for name, (label, ticks) in zip([*names, "far"], axes, strict=True):
        print(f"     {name}: {label} {ticks}")
        is_scaled = name != "far" and not 1e-11 <= float(name) < 1e7
        expect(is_scaled == label.startswith("×10"), f"power of ten of an axis to {name}: {label}")
        is_short = max(len(tick) for tick in ticks) < 14
        expect(len(set(ticks)) == len(ticks) >= 3 and is_short, f"labels of an axis to {name}: {ticks}")
    expect(page.console == [], f"messages on the console: {page.console}")


async def browse(checks):
    folder = tempfile.mkdtemp(prefix="chromium-")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    command += ["--hide-scrollbars", "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
    browser = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        # It names its port on the standard error.
        address = next(line for line in browser.stderr if "DevTools listening on" in line).split()[-1]
        port = address.split(":")[2].split("/")[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            tab = next(tab for tab in json.load(answer) if tab["type"] == "page")
        async with websockets.connect(tab["webSocketDebuggerUrl"], max_size=None) as socket:
            await checks(Page(socket))
    finally:
        browser.terminate()
        browser.wait(20)
        browser.stderr.close()
        shutil.rmtree(folder, ignore_errors=True)


def run(gyrator, *arguments):
    subprocess.run([gyrator, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def twenty_signals(folder):
    """A result of 20 signals of 2000 points that no compression makes much shorter."""
    import random

    source = random.Random(1)
    names = [f"component.signal_{k}" for k in range(20)]
    rows = [",".join([repr(0.001 * row), *(repr(source.gauss(0, 1)) for _ in names)]) for row in range(2000)]
    path = folder / "signals.csv"
    path.write_text("\n".join([",".join(["time", *names]), *rows]) + "\n")
    return path


def spikes(folder):
    """A result with a spike of each magnitude, and a signal far from 0."""
    names = [*(f"m{k}.y{k}" for k in range(len(MAGNITUDES))), "far.y"]
    rows = [",".join([str(row), *(one if row == 2 else "0" for one in MAGNITUDES), f"{1e9 + 0.2 * row:.1f}"]) for row in range(5)]
    path = folder / "magnitudes.csv"
    path.write_text("\n".join([",".join(["time", *names]), *rows]) + "\n")
    return path


def main():
    gyrator, fmus = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        images = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else folder
        images.mkdir(exist_ok=True)
        system = folder / "double-oscillator.toml"
        text = (ROOT / "examples/double-oscillator.toml").read_text()
        system.write_text(text.replace("../target/fmus", fmus))
        summary, report = folder / "summary.json", folder / "out.html"
        run(gyrator, "run", system, "--error-bars", "--summary", summary, "--report", report, "--progress", "never")
        page = folder / "signals.html"
        run(gyrator, "report", twenty_signals(folder), "--summary", summary, "-o", page)
        size = page.stat().st_size
        expect(size <= MOST_BYTES, f"20 signals of 2000 points: {size} bytes")
        asyncio.run(browse(lambda page: check(page, report.as_uri(), json.loads(summary.read_text()), images)))
        page = folder / "magnitudes.html"
        run(gyrator, "report", spikes(folder), "-o", page)
        asyncio.run(browse(lambda tab: check_magnitudes(tab, page.as_uri(), MAGNITUDES, images)))


main()
