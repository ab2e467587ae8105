"""The tables of a report: one function each, which returns None for runs without such a table."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from olbench.errors import UserError, suggest
from olbench.plugins import Registry
from olbench.report.model import Report
from olbench.report.table import Part, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Figures = Mapping[str, Callable[[], "Figure"]]
Made = Part | Iterable[Part] | None
Maker = TypeVar("Maker", bound=Callable[[Report], Made])
Drawer = Callable[[Report], Figures]


@dataclass(frozen=True)
class Item:
    id: str
    section: str
    order: int
    make: Callable[[Report], Made] = lambda report: None
    figures: Callable[[Report], Figures] = lambda report: {}
    data: Callable[[Report], Mapping[str, Any]] = lambda report: {}
    on_page: bool = True

    def parts(self, report: Report) -> Iterator[Part]:
        made = self.make(report)
        for part in [] if made is None else [made] if isinstance(made, Part) else made:
            if isinstance(part, str):
                yield part
            elif part.rows:
                yield replace(part, highlighted=report.results.highlighted)

    def tables(self, report: Report) -> Iterator[Table]:
        return (part for part in self.parts(report) if isinstance(part, Table))


REGISTRY: Registry[Item] = Registry("the table", room=__name__, part="tables")


def table(
    section: str,
    order: int = 205,
    *,
    data: Callable[[Report], Mapping[str, Any]] = lambda report: {},
    on_page: bool = True,
) -> Callable[[Maker], Maker]:
    """Add the table that a function returns to reports; for None, a report does not have it.

    `section` is its heading on the page, `order` its place: the tables that ship have 10 to 250. The function
    may return a paragraph instead, or several parts. `data` adds keys to the JSON report. With
    `on_page=False`, the page does not show the table. Use it in this folder, in `tables.py` of a paper, or in
    a plugin (`olbench report --plugin`):

        @table("Trials")
        def trials(report):
            rows = [(entry.label, entry.done) for entry in report.rows]
            return Table("Trials", (Column("algorithm", ALGORITHM), Column("trials", COUNT)), rows)
    """

    def register(make: Maker) -> Maker:
        item = Item(make.__name__, section, order, make, data=data, on_page=on_page)
        REGISTRY.add(item.id, item, make.__module__)
        return make

    return register


def figures(section: str, order: int, *, on_page: bool = True) -> Callable[[Drawer], Drawer]:
    """Add figures to reports: the function returns the figures of a run by file name."""

    def register(draw: Drawer) -> Drawer:
        item = Item(draw.__name__, section, order, figures=draw, on_page=on_page)
        REGISTRY.add(item.id, item, draw.__module__)
        return draw

    return register


def all_items() -> Sequence[Item]:
    return sorted(REGISTRY.listed(), key=lambda item: item.order)


def figures_of(report: Report) -> Figures:
    return {name: draw for item in all_items() for name, draw in item.figures(report).items()}


def table_names(report: Report) -> list[str]:
    return [each.id for each in all_items() if next(each.tables(report), None)]


def find_tables(report: Report, id: str) -> list[Table]:
    """Return the tables of a name: there may be one per data set or quantity."""
    found = [table for each in all_items() if each.id == id for table in each.tables(report)]
    if not found:
        known = table_names(report)
        raise UserError(f"the report has no table '{id}'{suggest(id, known)}; it has {', '.join(known)}")
    return found
