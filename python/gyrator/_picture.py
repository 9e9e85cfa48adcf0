"""Pictures and pages, drawn by the program that the package carries."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import error_of, message_of
from ._program import PROGRAM

if TYPE_CHECKING:
    from ._gyrator import Table


class Picture:
    """A picture as SVG, which Jupyter shows."""

    def __init__(self, svg: str):
        #: The picture.
        self.svg = svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture to a file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<gyrator.Picture: {len(self.svg)} characters of SVG>"


def plot(table: Table, summary: dict[str, Any], names: tuple[str, ...]) -> Picture:
    """The columns of a result, as ``gyrator plot`` draws them."""
    with tempfile.TemporaryDirectory(prefix="gyrator-") as folder:
        picture = Path(folder, "picture.svg")
        _draw("plot", Path(folder), table, summary, picture, names)
        return Picture(picture.read_text(encoding="utf-8"))


def report(table: Table, summary: dict[str, Any], page: Path, names: tuple[str, ...]) -> None:
    """Writes the page that ``gyrator report`` makes of a result."""
    with tempfile.TemporaryDirectory(prefix="gyrator-") as folder:
        _draw("report", Path(folder), table, summary, page, names)


def graph(system: Path | str, fingerprint: str | None = None) -> str | None:
    """The graph of a system, which is a file or the text of one, as SVG.

    ``None`` where it cannot be drawn, and where the file is not the one that had this SHA-256.
    """
    with tempfile.TemporaryDirectory(prefix="gyrator-") as folder:
        if isinstance(system, str):
            path = Path(folder, "system.toml")
            path.write_text(system, encoding="utf-8")
        else:
            path = system
        try:
            if fingerprint is not None and sha256(path.read_bytes()).hexdigest() != fingerprint:
                return None
        except OSError:
            return None
        picture = Path(folder, "graph.svg")
        # What is wrong with the system is no matter here.
        _call("inspect", f"--graph={picture}", "--", str(path))
        return picture.read_text(encoding="utf-8") if picture.exists() else None


def _draw(
    verb: str, folder: Path, table: Table, summary: dict[str, Any], output: Path, names: tuple[str, ...]
) -> None:
    # Its name is the title.
    title = Path((summary.get("provenance") or {}).get("system", {}).get("file") or "result").stem
    rows, facts = folder / f"{title}.rows", folder / "summary.json"
    table.write(rows)
    facts.write_text(json.dumps(summary), encoding="utf-8")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"columns are named one by one, each by a str, not {name!r}")
    done = _call(verb, f"--output-file={output}", f"--summary={facts}", "--", str(rows), *names)
    if done.returncode != 0:
        message = message_of(done.stderr, {}, done.returncode)
        raise error_of(done.returncode, message.replace(f"{rows}: ", ""))


def _call(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
