"""The Python programs of the documentation."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Info string and text of a block; one with ``no-run`` says why it is not run.
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def programs(page: Path) -> list[str]:
    """The blocks of a page that are run, one after the other."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [text for info, text in found if "no-run" not in info]


PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if programs(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_programs_run(page: Path, oscillator: Path, fmus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = oscillator.parent
    monkeypatch.chdir(folder)
    shutil.copy(fmus / "OscillatorForce.fmu", folder)
    check = '[[checks]]\nsignal = "right.x"\nwithin = { value = 0.0, tolerance = 6.5 }\n'
    (folder / "checks.toml").write_text(check, encoding="utf-8")
    study = 'system = "system.toml"\n[[vary]]\ngrid = { "left.m" = [1.0, 1.1], "experiment.stop_time" = 0.1 }\n'
    variants = '[variants]\nstale = {}\nexact = { "experiment.exchange" = "fresh" }\n[metrics]\nnrms = "left.x"\n'
    (folder / "study.toml").write_text(f'reference = "exact"\n{study}{variants}', encoding="utf-8")
    names: dict[str, object] = {"__name__": "page"}
    for text in programs(page):
        exec(compile(text, str(page), "exec"), names)


def test_pages_have_programs() -> None:
    assert PAGES, "docs/python.md has programs"
