"""The sections of a report, one file each; what does not apply to a run is skipped."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from olbench.plugins import Registry
from olbench.report.grid import Part
from olbench.report.model import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Figures = Mapping[str, Callable[[], "Figure"]]
Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Section(Generic[Subject]):
    id: str
    title: str
    #: Its place: those that ship have 10 (the summary), 20, ... 250; the usual one is before the statistics.
    order: int = 205
    #: The tables and paragraphs of text, Markdown and LaTeX, and of the page if there is no `page`.
    parts: Callable[[Subject], Iterable[Part]] = lambda subject: ()
    applies: Callable[[Subject], object] = lambda subject: True
    data: Callable[[Subject], Mapping[str, Any]] = lambda subject: {}
    #: The values for the template `page/<id>.html.j2`, if the page shows more than the tables.
    page: Callable[[Subject], Mapping[str, Any]] | None = None
    figures: Callable[[Subject], Figures] = lambda subject: {}
    #: Whether the page has it; a table that repeats what the page sorts and filters is for paper alone.
    on_page: bool = True


REGISTRY: Registry[Section[Report]] = Registry("the section", room=__name__, part="tables")


def register(section: Section[Report]) -> Section[Report]:
    """Add a section to the reports of all runs to which it applies.

    A file of this folder, `tables.py` of a paper and a user's plugin (`olbench report --plugin`) call it:

        def parts(report):
            rows = [boxes(entry.label, str(entry.done)) for entry in report.rows]
            yield Grid("Trials", (*left("algorithm"), *right("trials")), rows)

        register(Section("trials", "Trials", parts=parts, applies=lambda report: report.rows))
    """
    REGISTRY.add(section.id, section, section.parts.__module__)
    return section


def all_sections() -> list[Section[Report]]:
    return sorted(REGISTRY.listed(), key=lambda section: section.order)


def sections_of(report: Report) -> list[Section[Report]]:
    return [section for section in all_sections() if section.applies(report)]
