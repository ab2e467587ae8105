"""How verbs end: deliver a text to the terminal or a file, and report on a run."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olbench.engine.display import can_redraw, wrap
from olbench.errors import escape_controls
from olbench.files import write_text
from olbench.report.grid import count

if TYPE_CHECKING:
    from olbench.engine.runner import Run
    from olbench.report.document import Document
    from olbench.report.grid import Part

SCREEN = (160, 40)


def screen_size() -> tuple[int, int]:
    """Return the columns and lines to fill: COLUMNS and LINES, or those of the terminal, or SCREEN."""
    size = shutil.get_terminal_size(SCREEN)
    return size.columns, size.lines


def say(text: str, err: bool = False, indent: int = 0) -> None:
    click.echo(wrap(text, sys.stderr if err else sys.stdout, indent), err=err)


def show_parts(*parts: "Part") -> None:
    from olbench.report.renderers import text

    click.echo(text.render(parts, screen_size()[0], can_redraw(sys.stdout)), nl=False)


def render(document: "Document[Any]", form: str, output: Path | None, width: int | None = None) -> str:
    from olbench.report.renderers import Screen, get_format

    columns = screen_size()[0] if output is None else SCREEN[0]
    screen = Screen(width or columns, output is None and can_redraw(sys.stdout))
    return get_format(form).render(document, screen)


def deliver(content: str, output: Path | None, what: str | None = "report") -> None:
    if output is None:
        click.echo(content, nl=False)
        return
    write_text(output, content)
    if what:
        say(f"the {what} is in {output}", err=True)


def choose_run(name: Path) -> Path:
    from olbench.records.shipped import REFERENCE, find_run, is_hidden

    folder = find_run(name)
    if is_hidden(name):
        shipped = f"the one that ships is {name}/{REFERENCE}"
        say(f"{name} is your own run in {folder}; {shipped}", err=True)
    return folder


def program() -> str:
    """Return how to call the command: by its path if no olbench is on the PATH, as in a fresh checkout."""
    called = Path(sys.argv[0])
    is_path = called.name == "olbench" and len(called.parts) > 1
    return str(called) if is_path and shutil.which("olbench") is None else "olbench"


@contextmanager
def ignore_closed_output() -> Iterator[None]:
    """Continue when the reader of standard output is gone, as in `olbench run ... | head -1`."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Otherwise Python complains at exit about what is left in the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def exit_code(run: "Run") -> int:
    if run.stop.is_set():
        say("olbench: stopped; finished trials are kept, and the same command resumes from there", err=True)
        return 130
    if run.failed:
        first = run.failed[0]
        say(
            f"olbench: {count(len(run.failed), 'trial')} failed, the first: {first['algorithm']} on "
            f"{first['dataset']}: {escape_controls(first['error'])}; the same command tries again",
            err=True,
        )
        return 3
    return 0
