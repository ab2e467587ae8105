"""The sections of a report, one file each; a protocol lists their ids; what does not apply is skipped."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from olbench.errors import UserError
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
    REGISTRY.add(section.id, section, section.parts.__module__)
    return section


def all_sections(report: Report) -> list[Section[Report]]:
    REGISTRY.load()
    wanted = report.protocol.sections
    unknown = [id for id in wanted if id not in REGISTRY]
    if unknown:
        raise UserError(f"the protocol {report.protocol.id} names an unknown section '{unknown[0]}'")
    return [REGISTRY[id] for id in wanted]


def sections_of(report: Report) -> list[Section[Report]]:
    return [section for section in all_sections(report) if section.applies(report)]
