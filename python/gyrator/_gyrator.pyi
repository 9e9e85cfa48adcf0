from os import PathLike
from typing import Any, final

__all__ = ["Follower", "Memory", "Table", "read_table"]

@final
class Memory:
    """Memory that numpy reads in place, by its array interface of version 3."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

@final
class Table:
    """Columns of equal length; the first is the time, s."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    def __len__(self) -> int: ...
    def values(self, name: str) -> Memory | list[str]:
        """The memory of a column of numbers or booleans, or the list of its texts."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as a stream of Arrow."""

@final
class Follower:
    """Follows the CSV file that a run writes."""

    def __new__(cls, path: str | PathLike[str]) -> Follower: ...
    def read(self) -> None:
        """Takes the rows that are there."""

    def finish(self, types: dict[str, str]) -> Table | None:
        """Takes the last rows of the run, which has ended, and gives all of them."""

def read_table(path: str | PathLike[str], types: dict[str, str]) -> Table:
    """Reads a result file, CSV or Parquet, with types of the columns that are not of reals."""
