"""How Sphinx builds the site: pages in Markdown, and reference pages that are filled in from the code."""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import site_pages

from olbench import __version__

project = "olbench"
author = "the olbench authors"
version = release = __version__
html_title = f"olbench {__version__}"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["examples/*", "tables/*"]
nitpicky = False
# Single backquotes in docstrings name code, as they do in Markdown.
default_role = "code"
# Blocks without a language are commands and their output.
highlight_language = "none"
myst_heading_anchors = 3
# Every build executes the notebooks, in folders that it removes. A cell that fails ends the build.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 180
nb_output_stderr = "remove"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 90
toc_object_entries = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Nothing is loaded from elsewhere, and the pages are the same wherever they are built.
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_last_updated_fmt = None


def setup(app: Any) -> None:
    """Fill the marked places of a page when it is read, and write the JSON schema beside the pages."""
    app.connect("source-read", fill)
    app.connect("autodoc-process-docstring", complete_sections, priority=100)
    app.connect("autodoc-process-docstring", escape_names, priority=900)
    app.connect("build-finished", write_schema)


def fill(app: Any, name: str, source: list[str]) -> None:
    """Fill the marked places of one page."""
    source[0] = site_pages.fill(source[0], name)


def complete_sections(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Add what numpydoc expects: a heading above examples, and descriptions on lines of their own.

    An entry such as "epochs : passes over the data." has no type. Its text is a sentence, or goes on in lower
    case on the next line; a type does neither.
    """
    if "----------" not in lines:
        return
    starts = [number for number, line in enumerate(lines) if line.startswith(">>> ")]
    if "Examples" not in lines and starts:
        lines[starts[0] : starts[0]] = ["Examples", "--------"]
    for number in reversed(range(len(lines) - 1)):
        entry = re.fullmatch(r"([\w, ]+) : (.+)", lines[number])
        if entry and (entry[2].endswith(".") or lines[number + 1].strip()[:1].islower()):
            lines[number : number + 1] = [entry[1], f"    {entry[2]}"]


def escape_names(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Keep coef_ and |u| from being read as markup; docstrings are plain text, not reStructuredText."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith(("..", ":", ">>>")):
            pieces = line.split("`")
            pieces[::2] = [re.sub(r"(?<=\w)_(?!\w)|\|", r"\\\g<0>", piece) for piece in pieces[::2]]
            lines[number] = "`".join(pieces)


def write_schema(app: Any, error: Exception | None) -> None:
    """Write the schema to a file that editors can use."""
    if error is None:
        Path(app.outdir, "config.schema.json").write_text(site_pages.schema_text(), encoding="utf-8")
