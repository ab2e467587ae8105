"""What `olbench.load_results` returns: results that notebooks show as a table."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from olbench.analysis import results
from olbench.analysis.results import Results
from olbench.errors import count
from olbench.report.model import Report
from olbench.report.tables.results import means_matrix


class ShownResults(Results):
    def _repr_html_(self) -> str:
        report, missing = Report(self, None), len(self.missing)
        table = means_matrix(report, report.headline)
        about = f"{self.name}: {report.size}, protocol {self.config.protocol}"
        gap = f" {count(missing, 'row is', 'rows are')} incomplete." if missing else ""
        return replace(table, caption=f"{about}. {table.caption}", note=f"{table.note}{gap}")._repr_html_()


def load_results(folder: str | Path, measures: Sequence[str] = (), *, trust_plugins: bool = False) -> Results:
    """Return the results of a folder or a bundle, finished or not; a run that ships has a name ("scw").

    `measures` are shown in place of those of the config, as far as the records have them; the first ranks.
    Python code in a bundle is not run unless you trust it; few bundles need that to be read.
    """
    return results.load_results(folder, measures, trust_plugins=trust_plugins, kind=ShownResults)
