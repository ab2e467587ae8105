"""The formats of a report: one file per format with its FORMAT; the file's name is that of `--format`."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from olbench.report.document import Document

FIRST = ("text", "md", "latex", "csv", "json", "html")


class Screen(NamedTuple):
    width: int
    colour: bool = False


@dataclass(frozen=True)
class Format:
    file: str
    content: str
    render: "Callable[[Document[Any], Screen], str]"


def format_names() -> list[str]:
    found = sorted(each.name for each in pkgutil.iter_modules(__path__))
    return [*FIRST, *(name for name in found if name not in FIRST)]


def get_format(name: str) -> Format:
    found: Format = importlib.import_module(f"{__name__}.{name}").FORMAT
    return found
