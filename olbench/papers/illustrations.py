"""Figures that need no run of the user: ILLUSTRATIONS in `illustrations.py` of a paper's folder."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olbench.errors import UserError, suggest
from olbench.plugins import find_paper_part, paper_ids
from olbench.records import run_file
from olbench.records.shipped import runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PART = "illustrations"


def illustrations_of(paper: str) -> Mapping[str, "Callable[[], Figure]"]:
    papers = [name for name in paper_ids() if find_paper_part(name, PART)]
    if paper in papers:
        module = import_module(find_paper_part(paper, PART))
        found: Any = getattr(module, "ILLUSTRATIONS", None)
        if not isinstance(found, Mapping) or not all(map(callable, found.values())):
            raise UserError(
                f"{module.__file__} must define ILLUSTRATIONS, a dict of functions that return a matplotlib "
                "Figure, by the name of the file"
            )
        return found
    if paper not in paper_ids():
        known = ", ".join(papers)
        raise UserError(f"there are no illustrations of '{paper}'{suggest(paper, papers)}; known: {known}")
    about = [name for name, folder in runs().items() if run_file.read(folder).config.get("paper") == paper]
    named = about[0] if about else "DIR"
    raise UserError(
        f"all figures of {paper} show results; `olbench report {named} --figures FOLDER` draws them"
    )


def save_illustrations(
    paper: str, folder: Path, titles: bool = True
) -> tuple[list[Path], dict[str, UserError]]:
    """Return the files, and the errors of figures that could not be drawn, such as without a data set."""
    from olbench.report.figures.style import headings, save

    drawn, refused = {}, {}
    for name, draw in illustrations_of(paper).items():
        try:
            with headings(titles):
                drawn[name] = draw()
        except UserError as error:
            refused[name] = error
    if not drawn:
        raise next(iter(refused.values()))
    folder.mkdir(parents=True, exist_ok=True)
    return [path for name, figure in drawn.items() for path in save(figure, folder / name)], refused
