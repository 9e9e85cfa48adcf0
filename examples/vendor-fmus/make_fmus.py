"""Makes two FMUs as another vendor might deliver them: Drive.fmu and Arm.fmu, whose input force is declared in N.m by mistake."""

import sys
import zipfile
from pathlib import Path

FMUS = Path(sys.argv[1] if len(sys.argv) > 1 else "../../target/fmus")
TORQUE = '<Unit name="N.m"><BaseUnit kg="1" m="2" s="-2"/></Unit></UnitDefinitions>'


def copy(source: str, target: str, changes: dict[str, str]) -> None:
    """Copies an FMU with other texts in its description; each text is there once."""
    with zipfile.ZipFile(FMUS / source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename == "modelDescription.xml":
                text = data.decode()
                for before, after in changes.items():
                    assert text.count(before) == 1, before
                    text = text.replace(before, after)
                data = text.encode()
            new.writestr(entry, data)


copy("OscillatorForce.fmu", "Drive.fmu", {})
copy("OscillatorMotion.fmu", "Arm.fmu", {'<Real unit="N" start="0.0"/>': '<Real unit="N.m" start="0.0"/>', "</UnitDefinitions>": TORQUE})
