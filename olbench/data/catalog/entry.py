"""One data set of the catalogue, as plain values."""

from dataclasses import asdict, dataclass, field
from typing import Any

from olbench.config.specs import USUAL, Reading

#: Increase it whenever a table is read, encoded or scaled otherwise: the cache depends on it.
TABLES_VERSION = 2


@dataclass(frozen=True)
class TextRecipe:
    """How documents become features."""

    #: The headers of a post that are kept; None keeps all.
    headers: tuple[str, ...] | None = None
    #: Whether ASCII letters become lower case.
    lower: bool = False
    #: 1: words; 2: words and pairs of neighbouring words.
    ngrams: int = 1
    #: "counts", or "binary" for whether a word occurs.
    values: str = "counts"


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
    positive: tuple[float | str, ...] | None = None
    negative: tuple[float | str, ...] | None = None
    #: Whether every label is a class of its own; y then holds the numbers of the classes.
    multiclass: bool = False
    label_column: str = "last"
    preprocess: tuple[str, ...] = ()
    #: The name of the data set in scikit-learn, or the parameters of a synthetic one.
    bundled: str = ""
    generator: dict[str, float] = field(default_factory=dict)
    #: Patterns of the files inside an archive, each with the label of its documents, or None if it is in the
    #: file.
    members: dict[str, int | None] = field(default_factory=dict)
    text: TextRecipe = TextRecipe()
    #: "given" if the last file, or the last rows of a synthetic set, are for testing.
    split: str = ""
    #: The number of rows for testing, if the split is given.
    test_rows: int = 0
    #: "per-run" if every run draws a new sample of a synthetic set; the entry describes that of run 0.
    sample: str = "fixed"
    citation: str = ""
    note: str = ""
    variant_of: str = ""
    #: What rules call the features, where stem(1-43) stands for stem1 to stem43, and the classes by sign.
    feature_names: tuple[str, ...] = ()
    class_names: dict[int, str] = field(default_factory=dict)
    #: Features in which a zero stands for a missing value.
    missing_zeros: tuple[str, ...] = ()
    #: Whether it is a user's own file, and how that is read.
    is_own: bool = False
    reading: Reading = USUAL

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
        recipe = {key: getattr(self, key) for key in keys}
        # Left out where they have no meaning, so that the names of older cache entries stay valid.
        if self.members:
            recipe |= {"members": list(self.members.items()), "text": asdict(self.text)}
        if self.multiclass:
            recipe["multiclass"] = True
        if self.split:
            recipe["split"] = self.split
        if self.format == "corpus":
            recipe["rows"] = self.rows
        if self.is_own and (self.format != "libsvm" or self.reading != USUAL):
            recipe |= {"table": TABLES_VERSION, "reading": self.reading.plain()}
        return recipe
