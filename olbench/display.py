"""Objects as notebooks show them, and what a terminal can show."""

import os
import sys
from collections.abc import Mapping
from html import escape
from typing import Any

#: The characters of a bar.
BAR_WIDTH = 24


def facts_html(title: str, facts: Mapping[str, str]) -> str:
    """Return a title and a small table of facts as HTML.

    >>> facts_html("a < b", {"rows": "3"})
    '<p><b>a &lt; b</b></p><table><tr><th style="text-align: left">rows</th><td>3</td></tr></table>'
    """
    rows = "".join(
        f'<tr><th style="text-align: left">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return f"<p><b>{escape(title)}</b></p><table>{rows}</table>"


def can_redraw(stream: Any = None) -> bool:
    """Return whether a stream, standard error by default, is a terminal with styles and a cursor."""
    stream = sys.stderr if stream is None else stream
    return bool(stream.isatty()) and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def make_bar() -> Any:
    """Return a column of rich's progress display: a bar that can be read without colours."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Bar(ProgressColumn):
        """A bar in brackets: hashes for what is done, dots for what is left."""

        def render(self, task: Task) -> Text:
            """Return the bar; it stays empty where the total is not known."""
            done = round(BAR_WIDTH * min(1.0, task.completed / task.total)) if task.total else 0
            return Text(f"[{'#' * done}{'.' * (BAR_WIDTH - done)}]")

    return Bar()
