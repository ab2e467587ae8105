"""One data set of the catalogue, as plain values."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class CatalogEntry:
    """One data set: where its files come from, how they become examples, and the facts to check."""

    name: str
    title: str
    format: str
    rows: int
    features: int
    #: The number of examples labelled -1 and +1; empty if it is unknown and not checked.
    labels: dict[int, int]
    source: str
    fingerprint: str = ""
    #: File names, all in one format, read one after the other; for IDX, images and labels alternate.
    files: tuple[str, ...] = ()
    #: Web addresses of folders with the files.
    upstream: tuple[str, ...] = ()
    #: A page to read, if the files cannot be fetched automatically.
    page: str = ""
    #: SHA-256 of the uncompressed files, if known.
    sha256: dict[str, str] = field(default_factory=dict)
    #: The largest permitted size of a file, compressed or not.
    max_bytes: int = 1 << 30
    positive: tuple[float, ...] | None = None
    negative: tuple[float, ...] | None = None
    label_column: str = "last"
    preprocess: tuple[str, ...] = ()
    #: The name of the data set in scikit-learn, or the parameters of a synthetic one.
    bundled: str = ""
    generator: dict[str, float] = field(default_factory=dict)
    citation: str = ""
    note: str = ""
    variant_of: str = ""

    @property
    def needs_files(self) -> bool:
        """Whether anything has to be fetched."""
        return bool(self.files)

    def recipe(self) -> dict[str, Any]:
        """Return the plain values that, with the content of the files, determine the examples."""
        keys = (
            "format",
            "positive",
            "negative",
            "label_column",
            "preprocess",
            "bundled",
            "generator",
            "features",
        )
        return {key: getattr(self, key) for key in keys}
