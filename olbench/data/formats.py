"""The formats of data, each one function under `reader`, which imports its libraries when it is called."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import isgeneratorfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from olbench.errors import UserError
from olbench.plugins import Registry

if TYPE_CHECKING:
    from olbench.data.catalog import CatalogEntry

Read = TypeVar("Read", bound=Callable[..., Any])


@dataclass(frozen=True)
class Format:
    id: str
    read: Callable[..., Any]
    files: int
    suffixes: tuple[str, ...]
    version: int | str | None

    @property
    def comes_in_blocks(self) -> bool:
        return isgeneratorfunction(self.read)


FORMATS: Registry[Format] = Registry("the format", part="datasets", group="olbench.readers")


def reader(
    id: str, *, files: int = 1, suffixes: Sequence[str] = (), version: int | None = None
) -> Callable[[Read], Read]:
    """Register a function as the reader of a format.

    It is called with the paths of `files` files (0: it generates examples) and the catalogue entry, and
    returns a pandas frame or (X, labels). An own file whose name ends in one of `suffixes` is in this format;
    the last column of a frame is its label unless the config says otherwise. A generator yields blocks (X, y)
    of sparse rows with the labels -1 and +1, for data larger than memory.

    With a `version`, the examples are cached; raise it when the same file gives other examples.

    >>> @reader("spaced", suffixes=[".spaced"])
    ... def read_spaced(path, entry):
    ...     import pandas
    ...     return pandas.read_csv(path, sep=" ")
    >>> FORMATS["spaced"].suffixes
    ('.spaced',)
    >>> FORMATS.drop(read_spaced.__module__)
    """

    def register(read: Read) -> Read:
        module = read.__module__
        ships = module.startswith("olbench.")
        if not ships:
            FORMATS.load()
        for suffix in suffixes:
            owner = next((known.id for known in FORMATS.values() if suffix in known.suffixes), id)
            if owner != id:
                raise UserError(f"the format '{id}': files that end in {suffix} have the format '{owner}'")
        # Another plugin may use the same id.
        key = version if ships or version is None else f"{module} {version}"
        FORMATS.add(id, Format(id, read, files, tuple(suffixes), key), module)
        return read

    return register


def find_suffixes() -> dict[str, str]:
    """Return the format of users' files by the end of their name."""
    FORMATS.load()
    return {suffix: format.id for format in FORMATS.values() for suffix in format.suffixes}


def find_format(id: str) -> Format:
    FORMATS.load()
    if id not in FORMATS:
        raise UserError(f"there is no format '{id}'; a plugin that defines it must be loaded")
    return FORMATS[id]


def _limit(entry: "CatalogEntry") -> int | None:
    return entry.max_bytes or None


@reader("libsvm", version=1)
def read_text(*given: Any) -> Any:
    from olbench.data.libsvm import read_libsvm

    *paths, entry = given
    return read_libsvm(paths, _limit(entry), entry.first_index)


@reader("idx", files=2, version=1)
def read_digits(images: Path, digits: Path, entry: "CatalogEntry") -> Any:
    import numpy as np

    from olbench.data.images import read_images

    X, labels = read_images(images, digits, _limit(entry))
    # Other digits go before the pixels become doubles, which take eight times the memory.
    if entry.positive is not None and entry.negative is not None:
        mask = np.isin(labels, [*entry.positive, *entry.negative])
        X, labels = X[mask], labels[mask]
    return X.astype(np.float64), labels


@reader("csv", suffixes=(".csv", ".tsv", ".tab"), version=1)
def read_csv(path: Path, entry: "CatalogEntry") -> Any:
    from olbench.data.tables import read_table

    return read_table(path, entry.reading.delimiter, _limit(entry))


@reader("parquet", suffixes=(".parquet", ".pq"), version=1)
def read_parquet(path: Path, entry: "CatalogEntry") -> Any:
    from olbench.data import tables

    return tables.read_parquet(path)


@reader("scikit-learn", files=0)
def read_shipped(entry: "CatalogEntry") -> Any:
    from olbench.data.synthetic import read_bundled

    return read_bundled(entry.bundled)


@reader("synthetic", files=0)
def draw_gaussian(entry: "CatalogEntry") -> Any:
    from olbench.data.synthetic import RotatedGaussian

    settings: dict[str, Any] = {**entry.generator}
    run = settings.pop("run", 0)
    return RotatedGaussian(rows=entry.rows, features=entry.features, **settings).draw(run)


@reader("stream", files=0)
def draw_stream(entry: "CatalogEntry") -> Any:
    from olbench.data import synthetic
    from olbench.data.catalog import find
    from olbench.data.entries import read_examples

    settings: dict[str, Any] = {**entry.generator}
    if "parts" in settings:  # the names of data sets that need no files
        spliced = [read_examples(find(name), ()) for name in settings["parts"].split("+")]
        settings["parts"] = [(each.X, each.y) for each in spliced]
    return synthetic.draw_stream(settings.pop("kind"), entry.rows, entry.drifts, **settings)
