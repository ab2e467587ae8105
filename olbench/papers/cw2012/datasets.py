"""Generated documents in place of the corpora of section 7.9; `corpus` is imported when they are drawn."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from olbench.data.catalog import CatalogEntry, add_datasets
from olbench.data.formats import reader


@reader("corpus", files=0, version=1)
def read_corpus(entry: CatalogEntry) -> Iterator[Any]:
    from olbench.papers.cw2012.corpus import Corpus

    yield from Corpus(**entry.generator).blocks(entry.rows)  # type: ignore[arg-type]


add_datasets(Path(__file__).with_name("catalog.yaml"), __name__)
