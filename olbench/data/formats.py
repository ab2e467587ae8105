"""The formats of data, each one function under `reader`, which imports its libraries when it is called."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import isgeneratorfunction
from typing import Any, TypeVar

from olbench.errors import UserError
from olbench.plugins import Registry

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


FORMATS: Registry[Format] = Registry(
    "the format", room="olbench.data.readers", part="datasets", group="olbench.readers"
)


def reader(
    id: str, *, files: int = 1, suffixes: Sequence[str] = (), version: int | None = None
) -> Callable[[Read], Read]:
    """Register a function as the reader of a format.

    It is called with the paths of `files` files (0: it generates examples) and the catalogue entry, and
    returns a pandas frame or (X, labels). An own file whose name ends in one of `suffixes` is in this format;
    the label of a frame is the column called label or similar, else the last, unless the config says
    otherwise. A generator yields blocks (X, y) of sparse rows with the labels -1 and +1, for data larger than
    memory.

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
