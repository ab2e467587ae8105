"""One data set of the catalogue, as plain values."""

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from olbench.config.specs import USUAL, Reading
from olbench.structs import anything, choice, line, mapping, number, one_or_many, signs, whole
from olbench.yaml_lines import Node

Count = Annotated[int, whole(1)]
Line = Annotated[str, line]
Lines = Annotated[tuple[str, ...], one_or_many(line, 0)]
Labels = Annotated[tuple[float | str, ...] | None, one_or_many(number)]

#: Increase it whenever a table is read, encoded or scaled otherwise: the cache depends on it.
TABLES_VERSION = 2


def read_members(node: Node, name: str) -> dict[str, int | None]:
    """Return patterns of files with their labels: a mapping where files have labels, else a list."""
    if not isinstance(node.value, dict):
        return dict.fromkeys(one_or_many(line)(node, name))
    members = {pattern: label.value for pattern, label in node.value.items()}
    if any(label not in (-1, 1) for label in members.values()) or len(set(members.values())) != 2:
        raise node.fail(f"{name} must give patterns the labels -1 and 1")
    return members


@dataclass(frozen=True)
class TextRecipe:
    """How documents become features."""

    #: The headers of a post that are kept; None keeps all.
    headers: tuple[str, ...] | None = None
    #: Whether ASCII letters become lower case.
    lower: bool = False
    #: 1: words; 2: words and pairs of neighbouring words.
    ngrams: Annotated[int, whole(1, 2)] = 1
    #: "counts", or "binary" for whether a word occurs.
    values: Annotated[str, choice("binary", "counts")] = "counts"


@dataclass(frozen=True)
class CatalogEntry:
    """One data set: where its files come from, how they become examples, and the facts to check."""

    name: str
    title: Line
    format: Line
    rows: Count
    features: Count
    #: The number of examples labelled -1 and +1; empty if it is unknown and not checked.
    labels: Annotated[dict[int, int], signs(whole(1))]
    source: Line
    fingerprint: Line = ""
    #: File names, all in one format, read one after the other; for IDX, images and labels alternate.
    files: Lines = ()
    #: Web addresses of folders with the files.
    upstream: Lines = ()
    #: The page where a person finds the data set.
    page: Line = ""
    #: As far as it is known; "not stated" if it is not.
    licence: Line = ""
    #: How the files are made from what the page has, if they are not there as such.
    by_hand: Line = ""
    #: SHA-256 of the uncompressed files, if known.
    sha256: dict[str, str] = field(default_factory=dict)
    #: The largest permitted size of a file, compressed or not.
    max_bytes: Count = 1 << 30
    positive: Labels = None
    negative: Labels = None
    #: Whether every label is a class of its own; y then holds the numbers of the classes.
    multiclass: bool = False
    label_column: Line = "last"
    preprocess: Lines = ()
    #: The name of the data set in scikit-learn, or the parameters of a synthetic one.
    bundled: Line = ""
    generator: Annotated[dict[str, float], mapping(anything)] = field(default_factory=dict)
    #: Patterns of the files inside an archive, each with the label of its documents, or None if it is in the
    #: file.
    members: Annotated[dict[str, int | None], read_members] = field(default_factory=dict)
    text: TextRecipe = TextRecipe()
    #: "given" if the last file, or the last rows of a synthetic set, are for testing.
    split: Annotated[str, choice("given")] = ""
    #: The number of rows for testing, if the split is given.
    test_rows: Count = 0
    #: "per-run" if every run draws a new sample of a synthetic set; the entry describes that of run 0.
    sample: Annotated[str, choice("fixed", "per-run")] = "fixed"
    citation: Line = ""
    note: Line = ""
    variant_of: Line = ""
    #: What rules call the features, where stem(1-43) stands for stem1 to stem43, and the classes by sign.
    feature_names: Lines = ()
    class_names: Annotated[dict[int, str], signs(line)] = field(default_factory=dict)
    #: Features in which a zero stands for a missing value.
    missing_zeros: Lines = ()
    #: Whether it is a user's own file, and how that is read.
    is_own: bool = False
    reading: Reading = USUAL

    @property
    def needs_files(self) -> bool:
        """Whether anything has to be fetched."""
        return bool(self.files)

    @property
    def is_generated(self) -> bool:
        """Whether olbench draws all examples itself, so that there is no other place to get them."""
        return not self.files and not self.bundled

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
