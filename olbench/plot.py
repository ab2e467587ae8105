"""Figures and tables of a run for notebooks and scripts, made as those of the report are.

>>> import olbench
>>> results = olbench.load_results("scw")
>>> olbench.plot.curves(results, "ijcnn1")
<Picture size 700x282 with 3 Axes>
>>> olbench.plot.table(results).data.shape
(14, 12)
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from olbench.errors import UserError, suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas.io.formats.style import Styler

    from olbench.protocols.definition import Series
    from olbench.report.results import Results

__all__ = ["curves", "ranks", "table"]


@overload
def curves(
    results: "Results", dataset: str | None = None, quantity: str | None = None, *,
    algorithms: Sequence[str] | None = None, ax: None = None,
) -> "Figure": ...  # fmt: skip


@overload
def curves(
    results: "Results", dataset: str | None = None, quantity: str | None = None, *,
    algorithms: Sequence[str] | None = None, ax: "Axes",
) -> "Axes": ...  # fmt: skip


def curves(
    results: "Results", dataset: str | None = None, quantity: str | None = None, *,
    algorithms: Sequence[str] | None = None, ax: "Axes | None" = None,
) -> "Figure | Axes":  # fmt: skip
    """Draw curves against the number of examples, with a band of one standard deviation over the trials.

    Parameters
    ----------
    results : what `run` or `load_results` returned.
    dataset : one data set: a figure with one panel per series of the protocol. By default, a figure with one
        panel per data set.
    quantity : the series of a figure of all data sets or of `ax`, such as "updates"; by default the first.
    algorithms : labels of the algorithms to draw; by default all of the run.
    ax : draw one series of one data set into these axes instead, and return them. A run with one data set
        does not need its name.

    >>> from matplotlib.figure import Figure
    >>> from olbench import load_results
    >>> results = load_results("scw")
    >>> ax = curves(results, "ijcnn1", "updates", algorithms=["arow", "scw1"], ax=Figure().add_subplot())
    >>> ax.get_title(), [line.get_label() for line in ax.get_lines()]
    ('ijcnn1: cumulative number of updates', ['AROW', 'SCW-I'])
    """
    from olbench.report.figures import curves as figures

    chosen = results if algorithms is None else results.select(algorithms)
    series = _find_series(results, quantity)
    if ax is not None:
        return figures.draw_curves(ax, chosen, _find_dataset(results, dataset), series, results.labels)
    if dataset is None:
        return figures.overview_figure(chosen, series, results.labels)
    shown = None if quantity is None else (series,)
    return figures.curves_figure(chosen, _find_dataset(results, dataset), shown, results.labels)


def _find_dataset(results: "Results", dataset: str | None) -> str:
    names = results.datasets
    if dataset is None and len(names) == 1:
        return names[0]
    if dataset is None:
        raise UserError(f"the run has {len(names)} data sets; say which to draw: {', '.join(names)}")
    if dataset not in names:
        raise UserError(f"the run has no data set '{dataset}'{suggest(dataset, names)}")
    return dataset


def _find_series(results: "Results", quantity: str | None) -> "Series":
    known = results.protocol.series
    if not known:
        raise UserError(f"trials of the protocol {results.protocol.id} record no curves")
    if quantity is None:
        return known[0]
    for series in known:
        if quantity in (series.name, series.quantity.name):
            return series
    names = ", ".join(series.name for series in known)
    raise UserError(f"there is no curve of '{quantity}'; the protocol {results.protocol.id} records {names}")


@overload
def ranks(results: "Results", *, ax: None = None) -> "Figure": ...


@overload
def ranks(results: "Results", *, ax: "Axes") -> "Axes": ...


def ranks(results: "Results", *, ax: "Axes | None" = None) -> "Figure | Axes":
    """Draw average ranks over the data sets, with bars over those that the Nemenyi test does not separate.

    The unit of inference is the data set (Demšar, JMLR 7, 2006), so a run needs at least two of them. With
    `ax`, draw into these axes and return them.

    >>> from olbench import load_results
    >>> ranks(load_results("scw"))
    <Picture size 700x261.2 with 1 Axes>
    """
    from olbench.report.figures import curves as figures
    from olbench.report.model import Report

    report = Report(results, None)
    across = report.across
    if isinstance(across, str):
        raise UserError(f"there are no average ranks: {across}")
    if ax is not None:
        return figures.draw_ranks(ax, across, results.labels)
    return figures.critical_difference_figure(across, results.labels, report.headline.title)


def table(results: "Results", quantity: str | None = None) -> "Styler":
    """Return the means of a quantity as a styled frame: one row per algorithm, one column per data set.

    A cell is mean ± sample standard deviation. For the quantity that ranks algorithms, which is the default,
    bold marks the best of each data set and all not significantly different from it (paired t-test over the
    shared trials, corrected for folds, 95%). The numbers behind it are those of `results.to_frame()`.

    >>> from olbench import load_results
    >>> table(load_results("scw")).data.loc["scw2", "ijcnn1"]
    '0.0702 ± 0.0016'
    """
    from olbench.report.notebook import styled_table

    return styled_table(results, results.protocol.quantity(quantity) if quantity else None)
