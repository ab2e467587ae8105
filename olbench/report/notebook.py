"""What notebooks show of a run: its table, styled."""

from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd
from pandas.io.formats.style import Styler

from olbench.records.quantities import Quantity
from olbench.report import words
from olbench.report.figures.palette import display_name
from olbench.report.grid import count
from olbench.report.renderers.latex import escape as escape_latex

if TYPE_CHECKING:
    from olbench.analysis.results import Results

BOLD = "font-weight: bold"


class StyledTable(Styler):
    """A table of means, styled for notebooks, whose LaTeX compiles: that of pandas would be made of CSS."""

    data: pd.DataFrame

    def to_latex(self, buf: Any = None, **options: Any) -> Any:
        r"""Return a tabular for a document with \usepackage{booktabs}; pandas describes the options."""
        printed = self.data.rename_axis(index=escape_latex(str(self.data.index.name)))
        plain = Styler(printed).use(self.export() | {"table_styles": None})
        plain.format(lambda text: escape_latex(str(text))).format_index(
            lambda name: escape_latex(str(name)), axis=1
        )
        plain.format_index(lambda label: escape_latex(display_name(str(label))), axis=0)
        usual = {"hrules": True, "convert_css": True, "column_format": "l" + "r" * len(self.columns)}
        return plain.to_latex(buf, **{**usual, **options})


def styled_table(results: "Results", quantity: Quantity | None = None) -> Styler:
    shown = quantity or results.protocol.quantities[0]
    texts: dict[str, dict[str, str]] = {dataset: {} for dataset in results.datasets}
    styles: dict[str, dict[str, str]] = {dataset: {} for dataset in results.datasets}
    for entry in (entry for dataset in results.datasets for entry in results.of(dataset)):
        mean, deviation = entry.spread(shown)
        text = shown.spread(mean, deviation) if entry.done > 1 else shown.text(mean)
        bold = shown == results.protocol.quantities[0] and results.is_best(entry)
        texts[entry.dataset][entry.label], styles[entry.dataset][entry.label] = text, BOLD if bold else ""
    frame, looks = (pd.DataFrame(each, index=results.labels).fillna("") for each in (texts, styles))
    frame.index.name = shown.title
    styler = (
        StyledTable(frame)
        .apply(lambda _: looks, axis=None)
        .format_index(lambda label: display_name(str(label)), axis=0)
    )
    return styler.set_table_styles(
        [{"selector": "td", "props": "text-align: right"}, {"selector": "th", "props": "text-align: left"}]
    )


def results_html(results: "Results") -> str:
    about = (
        f"<p><b>{escape(results.name)}</b>: {count(len(results.datasets), 'data set')}, "
        f"{count(len(results.labels), 'algorithm')}, protocol {escape(results.config.protocol)}</p>"
    )
    if not any(entry.done for entry in results.entries):
        return f"{about}<p>No trial is done yet.</p>"
    missing = len(results.missing)
    gap = f" {count(missing, 'entry is', 'entries are')} incomplete." if missing else ""
    return f"{about}{styled_table(results).to_html()}<p>Bold: {escape(words.describe_best(results))}{gap}</p>"
