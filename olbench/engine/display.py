"""What a terminal can show."""

import os
import re
import sys
import textwrap
from contextlib import suppress
from typing import Any

BAR_WIDTH = 24
FEWEST_COLUMNS = 20


def can_redraw(stream: Any = None) -> bool:
    stream = sys.stderr if stream is None else stream
    return bool(stream.isatty()) and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def wrap(text: str, stream: Any, indent: int = 0) -> str:
    """On a terminal, break long lines between words; a command in backticks stays whole if it fits."""
    if not stream.isatty():
        return text
    width = 80
    with suppress(OSError, ValueError):
        width = int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(stream.fileno()).columns or 80

    def fill(paragraph: str) -> str:
        if all(len(line) <= width for line in paragraph.split("\n")):
            return paragraph
        whole = re.sub(r"`[^`]*`", lambda command: command[0].replace(" ", "\0"), paragraph)
        lines = textwrap.wrap(
            whole.replace("\n", " "),
            max(width, indent + FEWEST_COLUMNS),
            subsequent_indent=" " * indent,
            replace_whitespace=False,
            expand_tabs=False,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return "\n".join(lines).replace("\0", " ")

    return "\n\n".join(map(fill, text.split("\n\n")))


def make_bar() -> Any:
    """Return a column of rich's progress display: a bar that can be read without colours."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class BarColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            if task.total is None:
                return Text("")
            done = round(BAR_WIDTH * min(1.0, task.completed / task.total)) if task.total else 0
            return Text(f"[{'#' * done}{'.' * (BAR_WIDTH - done)}]", no_wrap=True)

    return BarColumn()
