"""Results in other libraries, by the Arrow C stream."""

from pathlib import Path

import gyrator
import numpy as np
import pandas
import polars
import pyarrow
import pytest


@pytest.fixture
def result(fmus: Path) -> gyrator.Result:
    """Five rows of all types."""
    return gyrator.simulate(fmus / "AllTypes.fmu", stop_time=1.0, step_size=0.25)


def test_pyarrow_shares_the_numbers(result: gyrator.Result) -> None:
    table = pyarrow.table(result)
    assert table.column_names == result.columns
    assert np.shares_memory(table.column("time").chunk(0).to_numpy(), result.time)
    whole = table.column("integer_out").chunk(0)
    assert np.shares_memory(whole.to_numpy(), result["integer_out"])
    for name in result:
        assert table.column(name).to_pylist() == result[name].tolist(), name
    # A second stream after the first one was consumed.
    assert pyarrow.table(result).equals(table)


def test_polars_takes_the_stream(result: gyrator.Result) -> None:
    frame = polars.DataFrame(result)
    assert frame.columns == result.columns
    assert frame["boolean_parameter_out"].to_list() == result["boolean_parameter_out"].tolist()


def test_pandas_has_the_time_as_index(result: gyrator.Result) -> None:
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.index.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert frame["colour_out"].tolist() == result["colour_out"].tolist()


def test_a_plot_has_a_line_for_each_column(result: gyrator.Result) -> None:
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    assert result.plot("real_out", "integer_out", axes=axes) is axes
    assert [line.get_label() for line in axes.lines] == ["real_out", "integer_out"]
