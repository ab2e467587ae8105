"""Figures and tables of runs and traces for notebooks and scripts, the same as in reports.

>>> import olbench
>>> results = olbench.load_results("scw")
>>> olbench.plot.curves(results, "ijcnn1")
<Picture size 700x280 with 3 Axes>
>>> olbench.plot.table(results).to_frame().shape
(12, 29)
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olbench.errors import UserError, suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from olbench.analysis.results import Results
    from olbench.learners.tracing import Trace, TracedRound
    from olbench.protocols.definition import Series
    from olbench.report.table import Table

__all__ = ["curves", "gaussian", "pairwise", "ranks", "table"]
#: How many rounds are drawn unless they are named.
FIRST_CHANGES = 6


def curves(
    results: "Results",
    dataset: str | None = None,
    quantity: str | None = None,
    *,
    algorithms: Sequence[str] | None = None,
    highlight: Sequence[str] = (),
    band: str = "deviation",
    ax: "Axes | None" = None,
) -> Any:
    """Draw curves against the number of examples, with a band around the mean over the trials.

    The result is a matplotlib Figure, or `ax` if it is given.

    Parameters
    ----------
    results : what `run` or `load_results` returned.
    dataset : a data set, for a figure with one panel per series of the protocol. By default, the figure has
        one panel per data set.
    quantity : the series to draw for all data sets or into `ax`, such as "updates"; by default the first.
    algorithms : the algorithms to draw, by label, id or title; by default all of the run.
    highlight : algorithms to draw on top, with thick lines in special colours; if there are many others,
        these are grey.
    band : "deviation", one standard deviation over the trials: how much trials differ; or "interval", the
        95% confidence interval of the mean.
    ax : draw one series of one data set into these axes instead. For a run with one data set, `dataset` can
        be left out.

    >>> from matplotlib.figure import Figure
    >>> from olbench import load_results
    >>> results = load_results("scw")
    >>> ax = curves(results, "ijcnn1", "updates", algorithms=["arow", "scw1"], ax=Figure().add_subplot())
    >>> ax.get_title(), [line.get_label() for line in ax.get_lines()]
    ('ijcnn1: cumulative number of updates', ['AROW', 'SCW-I'])
    """
    from olbench.report.figures import run as figures

    chosen = (results if algorithms is None else results.select(algorithms)).highlight(highlight)
    series = _find_series(results, quantity)
    if ax is not None:
        return figures.draw_curves(ax, chosen, _find_dataset(results, dataset), series, band)
    if dataset is None:
        return figures.overview_figure(chosen, series, band)
    shown = None if quantity is None else (series,)
    return figures.curves_figure(chosen, _find_dataset(results, dataset), shown, band)


def _find_dataset(results: "Results", dataset: str | None) -> str:
    names = results.datasets
    if dataset is None and len(names) == 1:
        return names[0]
    if dataset is None:
        raise UserError(f"the run has {len(names)} data sets; choose one to draw: {', '.join(names)}")
    if dataset not in names:
        raise UserError(f"the run has no data set '{dataset}'{suggest(dataset, names)}")
    return dataset


def _find_series(results: "Results", quantity: str | None) -> "Series":
    known = results.protocol.series
    if not known:
        raise UserError(f"the protocol {results.protocol.id} records no curves")
    if quantity is None:
        return known[0]
    for series in known:
        if quantity in (series.name, series.quantity.name):
            return series
    names = ", ".join(series.name for series in known)
    raise UserError(f"there is no curve of '{quantity}'; the protocol {results.protocol.id} records {names}")


def ranks(results: "Results", *, ax: "Axes | None" = None) -> Any:
    """Draw average ranks over data sets; bars join algorithms that do not differ by the Nemenyi test.

    The unit of inference is the data set (Demšar, JMLR 7, 2006), so a run needs at least two of them. The
    result is a matplotlib Figure, or `ax` if it is given.

    >>> from olbench import load_results
    >>> ranks(load_results("scw"))
    <Picture size 700x260 with 1 Axes>
    """
    from olbench.report.figures import run as figures
    from olbench.report.model import Report

    report = Report(results, None)
    across = report.across
    if isinstance(across, str):
        raise UserError(f"there are no average ranks: {across}")
    if ax is not None:
        return figures.draw_ranks(ax, across, figures.find_looks(results))
    return figures.critical_difference_figure(across, figures.find_looks(results), report.headline.title)


def pairwise(results: "Results", *, ax: "Axes | None" = None) -> Any:
    """Draw the comparison of every two algorithms over data sets: difference, wins/ties/losses and p.

    A cell does not depend on which other algorithms take part (Ismail-Fawaz and others, arXiv:2305.11921).
    With `results.against("arow")`, the figure has one row: that algorithm against each of the others. The
    result is a matplotlib Figure, or `ax` if it is given.

    >>> from olbench import load_results
    >>> pairwise(load_results("scw").against("arow"))
    <Picture size 700x160 with 1 Axes>
    """
    from olbench.report.figures import run as figures
    from olbench.report.model import FEWEST_FOR_PAIRS, Report

    report = Report(results, None)
    if not report.pairwise:
        raise UserError(f"pairs are compared over at least {FEWEST_FOR_PAIRS} data sets")
    return figures.pairwise_figure(report) if ax is None else figures.draw_pairs(ax, report)


def gaussian(
    trace: "Trace",
    rounds: Sequence[int] | None = None,
    features: tuple[int, int] = (0, 1),
    *,
    ax: "Axes | None" = None,
) -> Any:
    """Draw the Gaussian over two weights before and after each round, one panel per round.

    The result is a matplotlib Figure, or `ax` if it is given.
    Weights on the shaded side of the line misclassify the example. If the rule requires a number of standard
    deviations, as CW and SCW do, the ellipses are at that number: the condition holds if the ellipse does not
    cross the line. For other rules, the ellipses are at one standard deviation, and a dotted line shows the
    margin that the rule requires of the mean. With more than two features, an ellipse is the marginal of the
    two weights, and the line has the others at their means.

    Parameters
    ----------
    trace : what `olbench.trace` returned for a second-order algorithm.
    rounds : the numbers of the rounds, from 1; by default the first six that changed the Gaussian.
    features : the two features whose weights are drawn, from 0.
    ax : draw one round into these axes instead.

    >>> import olbench
    >>> data = olbench.load_dataset("breast-cancer")
    >>> gaussian(olbench.trace("scw1", data.X, data.y, rounds=20), features=(0, 7))
    <Picture size 700x520 with 6 Axes>
    """
    from olbench.report.figures import rounds as figures

    chosen = _find_rounds(trace, rounds)
    d = trace.learner.d
    if len(set(features)) != 2 or not all(0 <= feature < d for feature in features):
        raise UserError(f"features must be two different numbers from 0 to {d - 1}, not {features}")
    if ax is None:
        return figures.rounds_figure(trace, chosen, features)
    if len(chosen) != 1:
        raise UserError(f"ax takes one round, not {len(chosen)}; choose one with rounds=")
    return figures.draw_round(ax, trace, chosen[0], features)


def _find_rounds(trace: "Trace", numbers: Sequence[int] | None) -> "list[TracedRound]":
    if not trace.algorithm.definition.is_gaussian:
        raise UserError(f"{trace.algorithm.id} has no Gaussian over weights to draw")
    if not trace.has_states:
        raise UserError("a trace without states cannot be drawn; remove states=False")
    if numbers is None:
        chosen = [each for each in trace if each.changed][:FIRST_CHANGES]
        if not chosen:
            raise UserError("no round of the trace changed the Gaussian; choose rounds to draw with rounds=")
        return chosen
    first = trace[0].t
    absent = [number for number in numbers if not first <= number < first + len(trace)]
    if absent or not len(numbers):
        raise UserError(
            f"the trace has the rounds {first} to {first + len(trace) - 1}"
            + (f", not {absent[0]}" if absent else "; name at least one")
        )
    return [trace[number - first] for number in numbers]


def table(results: "Results", name: str = "") -> "Table":
    """Return a table of the report: a notebook shows it, and it has `to_frame()` and `to_latex()`.

    Parameters
    ----------
    results : what `run` or `load_results` returned.
    name : a quantity, such as "updates", for a table of its means with one row per data set and one column
        per algorithm; by default the quantity that ranks the algorithms. Or the name of a table of the
        report, such as "results", "ranking" or "within".

    A cell is mean ± sample standard deviation. Bold: the best on each data set, and all not significantly
    worse.

    >>> from olbench import load_results
    >>> found = table(load_results("scw"))
    >>> found.columns[-1].heading, found["scw2"][-2].mean.__round__(4)
    ('scw2', 0.0702)
    """
    from olbench.protocols.definition import find_quantity
    from olbench.report.model import Report, find_paper_of
    from olbench.report.tables import REGISTRY, find_tables, table_names
    from olbench.report.tables.results import means_matrix

    report = Report(results, None)
    if not name:
        return means_matrix(report, report.headline)
    compared = Report(results, find_paper_of(results.folder, results.config))
    REGISTRY.load()
    if name in REGISTRY:
        return find_tables(compared, name)[0]
    try:
        return means_matrix(report, find_quantity(results.protocol, name))
    except UserError as error:
        raise UserError(f"{error}; its tables are {', '.join(table_names(compared))}") from None
