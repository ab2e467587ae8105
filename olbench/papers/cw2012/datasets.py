"""The documents of section 7, and generated ones in place of the corpora of section 7.9.

`documents` and `corpus` are imported when they are read.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from olbench.data.catalog import CatalogEntry, add_datasets
from olbench.data.formats import reader


@reader("corpus", files=0, version=1)
def read_corpus(entry: CatalogEntry) -> Iterator[Any]:
    from olbench.papers.cw2012.corpus import Corpus

    yield from Corpus(**entry.generator).blocks(entry.rows)  # type: ignore[arg-type]


@reader("feature-counts", version=1)
@reader("reviews", version=1)
@reader("posts", version=1)
def read_documents(path: Path, entry: CatalogEntry) -> Any:
    from olbench.papers.cw2012 import documents

    limit = entry.max_bytes or None
    if entry.format == "posts":
        return documents.read_posts(path, entry.members, entry.text, limit)
    read = documents.read_reviews if entry.format == "reviews" else documents.read_feature_counts
    return read(path, list(entry.members), entry.text, limit)


add_datasets(Path(__file__).with_name("catalog.yaml"), __name__)
