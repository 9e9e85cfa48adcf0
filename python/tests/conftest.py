"""Fixtures: systems of the FMUs that `cargo xtask fmus` makes."""

import os
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Shells have processes in the background ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def fmus() -> Path:
    """The folder of the FMUs."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    folder = (ROOT / target / "fmus").resolve()
    assert (folder / "OscillatorForce.fmu").exists(), "make the FMUs first: cargo xtask fmus"
    return folder


@pytest.fixture
def oscillator(tmp_path: Path, fmus: Path) -> Path:
    """The double oscillator of examples/, 10 s at 1 ms."""
    text = (ROOT / "examples/double-oscillator.toml").read_text(encoding="utf-8")
    system = tmp_path / "system.toml"
    system.write_text(text.replace("../target/fmus", str(fmus)), encoding="utf-8")
    return system
