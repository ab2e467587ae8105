"""The catalogue: data sets by name, read from YAML; every error names the line."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from olbench import structs
from olbench.data.formats import FORMATS
from olbench.data.spec import DEFAULT, Reading
from olbench.errors import UserError, count, expand_home, suggest
from olbench.plugins import Registry, folder_of
from olbench.structs import text, whole

STEP_NAMES = ("divide-by-255", "unit-range", "normgrey", "pixel-products", "drop-duplicates")
_NAME = re.compile(r"(?=.*[a-z])[a-z0-9][a-z0-9.-]*")
Count = Annotated[int, whole(1)]
Line = Annotated[str, structs.line]
Lines = Annotated[tuple[str, ...], structs.one_or_many(structs.line, 0)]
Labels = Annotated[tuple[float | str, ...] | None, structs.one_or_many(structs.number)]

ADDRESS = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[^/?#\[\]])", re.IGNORECASE)
NOT_STATED = "not stated by the publisher"
#: The entry points of packages with data sets name a module; this file is in its folder.
FILE = "catalog.yaml"


def read_format(node: structs.Node, name: str) -> str:
    FORMATS.load()
    return structs.choice(*FORMATS)(node, name)


def read_members(node: structs.Node, name: str) -> dict[str, int | None]:
    """Return patterns of files with their labels: a mapping where files have labels, else a list."""
    if not isinstance(node.value, dict):
        return dict.fromkeys(structs.one_or_many(structs.line)(node, name))
    members = {pattern: label.value for pattern, label in node.value.items()}
    are_whole = all(isinstance(label, int) and not isinstance(label, bool) for label in members.values())
    if not are_whole or len(set(members.values())) < 2:
        raise node.fail(f"{name} must give patterns whole numbers as labels, at least two different ones")
    return members


@dataclass(frozen=True)
class TextRecipe:
    headers: tuple[str, ...] | None = None
    lower: bool = False
    #: 1: words; 2: words and pairs of neighbouring words.
    ngrams: Annotated[int, whole(1, 2)] = 1
    values: Annotated[str, structs.choice("binary", "counts")] = "counts"


@dataclass(frozen=True)
class CatalogEntry:
    name: str
    title: Line
    format: Annotated[str, read_format]
    rows: Count
    features: Count
    #: The number of examples labelled -1 and +1; empty if it is unknown and not checked.
    labels: Annotated[dict[int, int], structs.signs(whole(1))]
    source: Line
    fingerprint: Line = ""
    #: File names, all in one format, read one after the other; for IDX, images and labels alternate.
    files: Lines = ()
    upstream: Lines = ()
    page: Line = ""
    licence: Line = ""
    version: Line = ""
    by_hand: Line = ""
    sha256: dict[str, str] = field(default_factory=dict)
    #: The number of the first feature in LIBSVM text.
    first_index: Annotated[int, whole(0, 1)] = 1
    positive: Labels = None
    negative: Labels = None
    #: Whether every label is a class; y then holds class numbers.
    multiclass: bool = False
    label_column: Line = "last"
    preprocess: Annotated[tuple[str, ...], structs.one_or_many(structs.choice(*STEP_NAMES), 0)] = ()
    #: The name of the data set in scikit-learn, or the parameters of a synthetic one.
    bundled: Line = ""
    generator: Annotated[dict[str, float], structs.mapping(structs.anything)] = field(default_factory=dict)
    #: Patterns of files in an archive, each with the label of its documents, or None if the files have it.
    members: Annotated[dict[str, int | None], read_members] = field(default_factory=dict)
    text: TextRecipe = TextRecipe()
    #: The rows at which the concept of a stream drifts, if they are known.
    drifts: Annotated[tuple[int, ...], structs.one_or_many(whole(1), 0)] = ()
    #: "given" if the last file, or the last rows of a synthetic set, are for testing.
    split: Annotated[str, structs.choice("given")] = ""
    test_rows: Count = 0
    #: "per-run" if every run draws a new sample of a synthetic set; the entry describes that of run 0.
    sample: Annotated[str, structs.choice("fixed", "per-run")] = "fixed"
    citation: Line = ""
    note: Line = ""
    variant_of: Line = ""
    #: The names of features in rules, where stem(1-43) means stem1 to stem43, and of the classes by sign.
    feature_names: Lines = ()
    class_names: Annotated[dict[int, str], structs.signs(structs.line)] = field(default_factory=dict)
    missing_zeros: Lines = ()
    folder: str = ""
    is_own: bool = False
    reading: Reading = DEFAULT

    @property
    def is_generated(self) -> bool:
        """Whether olbench draws all examples itself, so that there is no other place to get them."""
        return not self.files and not self.bundled

    @property
    def origin(self) -> dict[str, str]:
        none = {"licence": NOT_STATED, "citation": NOT_STATED, "version": NOT_STATED, "page": NOT_STATED}
        if self.is_generated:
            none |= {
                "licence": "BSD-3-Clause, as olbench, which generates it",
                "version": "that of olbench, which generates it; a change changes the fingerprint",
                "page": "none: generated by olbench",
            }
        return {name: getattr(self, name) or text for name, text in none.items()}

    def check_base(self, first: int) -> tuple[str, ...]:
        """Describe where the indices of a user's file start, or check the first index that is stated."""
        if self.is_own:
            return (f"indices start at {first}",)
        if first != self.first_index:
            remedy = f"add `first_index: {first}` to its entry"
            raise UserError(f"{self.name}: its indices start at {first}; {remedy}")
        return ()

    def plain(self) -> dict[str, Any]:
        return {"name": self.name, **{key.name: getattr(self, key.name) for key in KEYS}, **self.origin} | {
            "text": asdict(self.text) if self.members else None
        }

    def recipe(self) -> dict[str, Any]:
        keys = "format positive negative multiclass label_column preprocess bundled generator"
        facts = "features rows split drifts"
        return {key: getattr(self, key) for key in f"{keys} {facts}".split()} | {
            "members": list(self.members.items()),
            "text": asdict(self.text),
            "reading": self.reading.plain(),
        }


#: The keys of an entry; the other fields are not for the catalogue.
KEYS = structs.keys_of(CatalogEntry, "name", "multiclass", "folder", "is_own", "reading")
#: What a variant does not inherit.
OWN_KEYS = ("name", "fingerprint", "variant_of", "preprocess", "note")


def parse_catalog(
    text: str, name: str, loader: Any = structs.LOADER, beside: Path | None = None
) -> dict[str, CatalogEntry]:
    """Parse a catalogue. In a package, `beside` is its folder; the key `folder` is the place of its files."""
    root = structs.parse_yaml(text, name, loader=loader)
    datasets = root.value.get("datasets") if isinstance(root.value, dict) else None
    if datasets is None or not isinstance(datasets.value, dict):
        raise root.fail("a catalogue is a mapping with the key 'datasets'")
    folder = ""
    if beside is not None and "folder" in root.value:
        folder = str(beside / structs.line(root.value["folder"], "folder"))
        if not Path(folder).is_dir():
            raise root.value["folder"].fail(f"there is no folder {folder}")
    entries: dict[str, CatalogEntry] = {}
    for key, node in datasets.value.items():
        # A mistake without a key is reported at the name.
        named = structs.Node(node.value, datasets.keys[key], node.keys)
        entries[key] = _read_entry(key, named, entries, folder)
    return entries


def _read_entry(name: str, node: structs.Node, others: dict[str, CatalogEntry], folder: str) -> CatalogEntry:
    """Return an entry; a variant inherits the keys that it does not set."""
    if not _NAME.fullmatch(name):
        raise node.fail(f"data set '{name}': a name consists of lower-case letters, digits, dots and hyphens")
    content = node.mapping(f"the data set '{name}'")
    base = text(content["variant_of"], "variant_of") if "variant_of" in content else ""
    if base and base not in others:
        raise content["variant_of"].fail(f"data set '{name}': no data set '{base}' is defined above it")
    keys = [replace(key, default=None) for key in KEYS] if base else KEYS
    given = structs.read_keys(keys, node, f"the data set '{name}'")
    inherited = {f.name: getattr(others[base], f.name) for f in fields(CatalogEntry) if base}
    kept = {key: value for key, value in inherited.items() if key not in OWN_KEYS}
    entry = CatalogEntry(**{**kept, **given, "name": name, "folder": folder})
    for key, reason in _find_faults(entry):
        raise UserError(f"{node.keys.get(key, node.place)}: data set '{name}': {reason}")
    return entry


def _find_faults(entry: CatalogEntry) -> Iterator[tuple[str, str]]:
    format, files = entry.format, entry.files
    if set(entry.labels) != {-1, 1}:
        yield "labels", "'labels' must give the number of examples for -1 and for 1"
    if (total := sum(entry.labels.values())) != entry.rows:
        yield "labels", f"the labels add up to {total}, not to {count(entry.rows, 'row')}"
    if bool(files) != bool(FORMATS[format].files):
        yield "files", f"the format '{format}' {'needs no' if files else 'needs'} 'files'"
    if files and not entry.upstream and not entry.page and not entry.folder:
        yield "files", "its files need an 'upstream' or a 'page'"
    if FORMATS[format].files == 2 and len(files) % 2:
        yield "files", f"{format.upper()} files come in pairs: images, labels"
    for key, addresses in (("upstream", entry.upstream), ("page", (entry.page,) if entry.page else ())):
        for address in addresses:
            if not ADDRESS.match(address):
                yield key, f"'{address}' is not an http(s) address"
    if bool(entry.split) != bool(entry.test_rows):
        yield "split", "'split' and 'test_rows' need each other"
    if entry.split and len(files) < 2 * FORMATS[format].files:
        yield "split", "a given split needs a file for training and another for testing"
    if entry.test_rows >= entry.rows:
        rows = count(entry.rows, "row")
        yield "test_rows", f"{entry.test_rows} of {rows} for testing leave none for training"
    if entry.sample == "per-run" and format != "synthetic":
        yield "sample", "only a synthetic set can draw a sample per run"


def catalog_path() -> Path:
    package = Path(__file__).resolve().parents[1]
    for path in (package / "datasets" / "catalog.yaml", package.parent / "datasets" / "catalog.yaml"):
        if path.is_file():
            return path
    raise UserError(f"the catalogue of data sets is missing from {package}; install olbench again")


def _take_package(name: str, module: Any) -> None:
    add_datasets(folder_of(module) / FILE, module.__name__)


DATASETS: Registry[CatalogEntry] = Registry(
    "the data sets", part="datasets", group="olbench.datasets", take=_take_package
)


@cache
def _add_shipped() -> None:
    path = catalog_path()
    entries = parse_catalog(path.read_text(encoding="utf-8"), path.name, structs.SHIPPED_LOADER)
    for name, entry in entries.items():
        DATASETS.add(name, entry, __name__)


def catalog() -> Mapping[str, CatalogEntry]:
    FORMATS.load()  # what papers add comes after what ships
    _add_shipped()
    DATASETS.load()
    return DATASETS


def add_datasets(path: Path, module: str) -> None:
    """Add the data sets of a catalogue file; `module`, as in `__name__`, is the plugin that it belongs to."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    loader = structs.SHIPPED_LOADER if module.startswith("olbench.") else structs.LOADER
    entries = parse_catalog(text, str(path), loader, path.parent)
    _add_shipped()
    for name in entries:
        if DATASETS.homes.get(name, module) != module:
            raise UserError(f"there is a data set '{name}' already")
    for name, entry in entries.items():
        DATASETS.add(name, entry, module)


def find(name: str) -> CatalogEntry:
    entries = catalog()
    if name not in entries:
        raise UserError(
            f"there is no data set '{name}'{suggest(name, list(entries))}; `olbench data list` shows all, "
            "and a path to a LIBSVM file or a table works as well"
        )
    return entries[name]


def resolve(name_or_path: str | Path) -> CatalogEntry | Path:
    """Return the catalogue entry, or the path of a file; a name takes precedence."""
    text = str(name_or_path)
    if isinstance(name_or_path, str) and _NAME.fullmatch(text) and text in catalog():
        return catalog()[text]
    path = expand_home(name_or_path)
    if path.is_file():
        return path
    if path.is_dir():
        raise UserError(f"{text} is a folder; a data set is a file or a name from `olbench data list`")
    raise UserError(
        f"there is neither a file nor a data set '{text}'{suggest(text, list(catalog()))}; "
        "`olbench data list` shows the names"
    )
