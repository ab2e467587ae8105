"""What the papers report: one folder per paper; the head of `scw2012/numbers.yaml` explains the keys."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from olbench.discovery import folder_of, load_entry_points
from olbench.errors import UserError, suggest
from olbench.papers.definition import (
    OVERALL,
    Claim,
    MarkedTable,
    Paper,
    PrintedRanks,
    Reported,
    Requirements,
    Statement,
    standard_error,
)
from olbench.papers.reading import PaperFile
from olbench.trials.container import is_bundle, read_member
from olbench.yaml_lines import LOADER, SHIPPED_LOADER, parse_yaml, read_yaml

__all__ = [
    "OVERALL",
    "Claim",
    "MarkedTable",
    "Paper",
    "PrintedRanks",
    "Reported",
    "Requirements",
    "Statement",
    "find_paper",
    "find_part",
    "is_path",
    "load_paper",
    "paper_ids",
    "read_paper",
    "standard_error",
]

FOLDER = Path(__file__).parent
NUMBERS = "numbers.yaml"


ENTRY_POINTS = "olbench.papers"


@cache
def paper_modules() -> dict[str, tuple[str, Path]]:
    shipped = sorted(FOLDER.glob(f"*/{NUMBERS}"))
    found = {path.parent.name: (f"{__name__}.{path.parent.name}", path) for path in shipped}

    def take(id: str, module: Any) -> None:
        path = folder_of(module) / NUMBERS
        if id in found:
            raise UserError(f"there is a paper '{id}' already")
        if read_paper(path).id != id:
            raise UserError(f"{path} is about {read_paper(path).id}, and the entry point is named {id}")
        found[id] = (module.__name__, path)

    load_entry_points(ENTRY_POINTS, "the paper", take)
    return found


def paper_ids() -> list[str]:
    return sorted(paper_modules())


def find_part(id: str, part: str) -> str:
    module = paper_modules()[id][0] if id in paper_modules() else f"{__name__}.{id}"
    try:
        return f"{module}.{part}" if find_spec(f"{module}.{part}") else ""
    except ModuleNotFoundError:  # the module of a package that has no folder
        return ""


def is_path(id_or_path: str) -> bool:
    return id_or_path.endswith((".yaml", ".yml"))


def load_paper(id_or_path: str) -> Paper:
    return read_paper(find_paper(id_or_path))


def find_paper(id_or_path: str) -> Path:
    if is_path(id_or_path):
        return Path(id_or_path)
    if id_or_path not in paper_modules():
        known = ", ".join(paper_ids())
        raise UserError(
            f"there are no numbers of a paper '{id_or_path}'{suggest(id_or_path, paper_ids())}; there are "
            f"{known}, and a path to a YAML file works as well"
        )
    return paper_modules()[id_or_path][1]


def read_paper(path: Path) -> Paper:
    if is_bundle(path.parent):
        text = read_member(path.parent, path.name).decode(errors="replace")
        return PaperFile(parse_yaml(text, str(path))).paper()
    return _read_cached(path, path.stat().st_mtime_ns if path.exists() else 0)


@cache
def _read_cached(path: Path, changed: int) -> Paper:
    ships = path.is_relative_to(FOLDER)
    return PaperFile(read_yaml(path, SHIPPED_LOADER if ships else LOADER)).paper()
