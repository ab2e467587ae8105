"""The data sets of section 5, and their formats; `samples` is imported when they are read."""

from pathlib import Path
from typing import Any

from olbench.data.catalog import CatalogEntry, add_datasets
from olbench.data.formats import reader


@reader("clusters", files=0)
def draw_synthetic(entry: CatalogEntry) -> Any:
    from olbench.papers.adviceptron2010.samples import draw_clusters

    return draw_clusters(entry.rows, **entry.generator)  # type: ignore[arg-type]


@reader("spoligotypes", version=1)
def read_isolates(path: Path, entry: CatalogEntry) -> Any:
    from olbench.papers.adviceptron2010.samples import read_spoligotypes

    return read_spoligotypes(path, entry.max_bytes or None, miru24=entry.generator)


add_datasets(Path(__file__).with_name("catalog.yaml"), __name__)
