"""What the papers report: one folder per paper, each number as it is printed, with its table and place.

The head of `scw2012/numbers.yaml` explains the keys. Numbers are tidy: one `Reported` per number, which says
where it is printed and what it is about.
"""

from functools import cache
from pathlib import Path

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
    "is_path",
    "load_paper",
    "paper_ids",
    "read_paper",
    "standard_error",
]

FOLDER = Path(__file__).parent
#: The file of a paper's folder with what the paper reports.
NUMBERS = "numbers.yaml"


def paper_ids() -> list[str]:
    """Return the ids of the papers that ship with olbench."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{NUMBERS}"))


def is_path(id_or_path: str) -> bool:
    """Return whether this is the path of a paper's file, and not the id of a paper."""
    return id_or_path.endswith((".yaml", ".yml"))


def load_paper(id_or_path: str) -> Paper:
    """Return a paper by its id, or from a user's own file, which ends with .yaml."""
    if is_path(id_or_path):
        return read_paper(Path(id_or_path))
    if id_or_path not in paper_ids():
        known = ", ".join(paper_ids())
        raise UserError(
            f"there are no numbers of a paper '{id_or_path}'{suggest(id_or_path, paper_ids())}; there are "
            f"{known}, and a path to a YAML file works as well"
        )
    return read_paper(FOLDER / id_or_path / NUMBERS)


def read_paper(path: Path) -> Paper:
    """Return the paper of a YAML file, also of one in a bundle; what is wrong is refused with its line."""
    if is_bundle(path.parent):
        text = read_member(path.parent, path.name).decode(errors="replace")
        return PaperFile(parse_yaml(text, str(path))).paper()
    return _read_cached(path, path.stat().st_mtime_ns if path.exists() else 0)


@cache
def _read_cached(path: Path, changed: int) -> Paper:
    ships = path.is_relative_to(FOLDER)
    return PaperFile(read_yaml(path, SHIPPED_LOADER if ships else LOADER)).paper()
