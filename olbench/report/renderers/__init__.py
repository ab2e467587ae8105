"""The formats of a report: one file per format, whose name is that of `--format`.

A file defines FORMAT: what `--all` calls it and says about it, and the function that renders a document.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from olbench.report.document import Document

#: The formats that lists show first; the other files of this folder follow by name.
FIRST = ("text", "md", "latex", "csv", "json", "html")


class Screen(NamedTuple):
    """Columns of a terminal or text file, and whether it shows colours."""

    width: int
    colour: bool = False


@dataclass(frozen=True)
class Format:
    """A format: the file that `--all` writes, what is in it, and how a document is rendered."""

    file: str
    content: str
    render: "Callable[[Document[Any], Screen], str]"


def format_names() -> list[str]:
    """Return the names of all formats, without importing any."""
    found = sorted(each.name for each in pkgutil.iter_modules(__path__))
    return [*FIRST, *(name for name in found if name not in FIRST)]


def get_format(name: str) -> Format:
    """Return the format of a name."""
    found: Format = importlib.import_module(f"{__name__}.{name}").FORMAT
    return found
