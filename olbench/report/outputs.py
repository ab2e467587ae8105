"""The formats of `--format`: the file of each, and how a document becomes one."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from olbench.report.document import Document


class Output(NamedTuple):
    file: str
    content: str


OUTPUTS = {
    "text": Output("report.txt", "all tables, for a terminal"),
    "md": Output("report.md", "all tables in Markdown"),
    "latex": Output("tables.tex", "all tables in LaTeX"),
    "csv": Output("results.csv", "the results, one line per row"),
    "json": Output("report.json", "everything, for scripts"),
    "html": Output("report.html", "the page, for a browser"),
}


def render(document: "Document", form: str, width: int = 100, colour: bool = False) -> str:
    """Return a document in a format; width and colour are those of a terminal."""
    from olbench.report import formats, latex, page, text

    match form:
        case "text":
            return text.write_text(document.parts(), width, colour)
        case "md":
            return formats.write_markdown(document.parts())
        case "latex":
            return latex.write_latex(document.parts())
        case "csv":
            return formats.write_csv(document.records())
        case "json":
            return formats.write_json(document.content())
        case _:
            return page.render_page(document)
