"""Studies: many runs of one system."""

from __future__ import annotations

import html
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import error_of, message_of
from ._gyrator import Table, read_cases, read_study
from ._options import StrPath, StudyOptions, keywords
from ._program import PROGRAM
from ._result import Columns
from ._run import arguments, read_summary, wait

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Unpack

#: Exit codes after which the journal holds rows of this study.
_WITH_ROWS = {0, 1, 5, 6, 130}


class Study(Columns):
    """The rows of a study by column (docs/study-file.md), and its summary.

    ``study["final.left.x"]`` is a numpy array: ``float64`` for numbers, with NaN where there was nothing to measure, ``int32`` for whole ones,
    ``object`` for texts. ``pandas.DataFrame``, ``pyarrow.table`` and ``polars.DataFrame`` accept it.
    """

    #: The table that was written.
    file: Path | None = None

    def to_pandas(self) -> pandas.DataFrame:
        """The columns as a data frame of pandas."""
        import pandas

        return pandas.DataFrame({name: self[name] for name in self})

    def __repr__(self) -> str:
        return f"<gyrator.Study: {self._size()}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.report or repr(self))}</pre>"


@keywords(StudyOptions)
def study(study: StrPath, **options: Unpack[StudyOptions]) -> Study:
    """Makes the runs of a study file, and returns their rows.

    The keywords are the options of ``gyrator study`` (docs/studies.md). As there, the table is written to ``output_file``, by default beside the
    study file, and a study that was interrupted goes on where it was. ``dry_run`` gives the cases, and runs none. ``live`` prints the
    address of a page with the rows on the standard error.

    Raises the subclass of :class:`Error` that belongs to the exit code of the program, with the rows that are finished as ``study``:
    :class:`CheckError` where a run diverges, unless ``accept_divergence``.
    """
    path, dry_run = Path(study), options.get("dry_run", False)
    asked_summary = options.pop("summary", None)
    output = Path(options.pop("output_file", None) or path.with_suffix(".csv"))
    with tempfile.TemporaryDirectory(prefix="gyrator-") as folder:
        facts_file = Path(folder, "summary.json")
        command = [str(PROGRAM), "study", *arguments(options), f"--summary={facts_file}"]
        command += [f"--output-file={output}", "--progress=never", "--", os.fspath(path)]
        code, report, messages = wait(command, Path(folder), None, is_live=bool(options.get("live")))
        facts = read_summary(facts_file)
        if asked_summary is not None and facts_file.exists():
            shutil.copyfile(facts_file, asked_summary)
    result = Study(_table(output, report, code, dry_run), facts, report, messages)
    result.file = output if output.exists() and not dry_run else None
    if code == 0:
        return result
    raise error_of(code, message_of(messages, facts, code), study=result)


def _table(output: Path, report: str, code: int, dry_run: bool) -> Table | None:
    if dry_run:
        return read_cases(report) if code == 0 else None
    journal = output.with_name(output.name + ".journal")
    return read_study(journal) if code in _WITH_ROWS and journal.exists() else None
