"""How verbs end: deliver a text to the terminal or a file, and report on a run."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.engine.display import can_redraw, wrap
from olbench.errors import UserError, count, escape_controls, suggest
from olbench.files import write_text

if TYPE_CHECKING:
    from olbench.api import Plan
    from olbench.engine.runner import Run
    from olbench.report.document import Document
    from olbench.report.table import Part

#: The columns and lines of a pipe; files have as many columns.
SCREEN = (100, 40)
#: The most lines of one kind, such as failed trials.
MAX_LINES = 20


def screen_size() -> tuple[int, int]:
    """Return the columns and lines to fill: COLUMNS and LINES, or those of the terminal, or SCREEN."""
    size = shutil.get_terminal_size(SCREEN)
    return size.columns, size.lines


def find_screen(output: Path | None) -> tuple[int, bool]:
    """Return the columns of a file or of the terminal, and whether it shows colours."""
    return (SCREEN[0], False) if output else (screen_size()[0], can_redraw(sys.stdout))


def suggest_file(name: str | Path) -> str:
    path = Path(name)
    return suggest(path.name, [each.name for each in path.parent.glob("*") if each.is_file()])


def say(text: str, err: bool = False, indent: int = 0) -> None:
    click.echo(wrap(text, sys.stderr if err else sys.stdout, indent), err=err)


def say_skipped(plan: "Plan") -> None:
    if plan.skipped:
        say(f"skipped: {', '.join(plan.skipped)} not downloaded; see `olbench data fetch`", err=True)


def render_parts(parts: "Iterable[Part]", output: Path | None = None) -> str:
    from olbench.report.text import write_text

    return write_text(parts, *find_screen(output))


def show_parts(*parts: "Part") -> None:
    click.echo(render_parts(parts), nl=False)


def render(document: "Document", form: str, output: Path | None) -> str:
    from olbench.report import formats

    return formats.render(document, form, *find_screen(output))


def deliver(content: str, output: Path | None, what: str | None = "report") -> None:
    if output is None:
        click.echo(content, nl=False)
        return
    refuse_overwriting(output)
    write_text(output, content)
    if what:
        say(f"the {what} is in {output}", err=True)


def refuse_overwriting(output: Path | None, *inputs: str | Path) -> None:
    """Refuse an output that is a file of a run, or one of the files that are read."""
    if output is None or not output.is_file():
        return
    from olbench.records import container, ledger, run_file

    place = output.resolve()
    is_own = place.name == ledger.NAME or container.MEMBERS.fullmatch(place.name)
    if is_own and (place.parent / run_file.NAME).is_file():
        raise UserError(f"{output} is part of the run in {output.parent}; choose another file for the output")
    if any(Path(each).exists() and place.samefile(each) for each in inputs):
        raise UserError(f"{output} is read by this command; choose another file for the output")


def choose_run(name: Path) -> Path:
    from olbench.records.shipped import REFERENCE, find_run, is_hidden

    folder = find_run(name)
    if is_hidden(name):
        shipped = f"the one that ships is {name}/{REFERENCE}"
        say(f"{name} is your own run in {folder}; {shipped}", err=True)
    return folder


def load_code(plugins: Iterable[str], trusted: Iterable[Path]) -> None:
    """Load the user's files of Python code, and trust the code in bundles."""
    from olbench.algorithms import load_plugin
    from olbench.records.container import trust
    from olbench.records.shipped import find_run

    for path in plugins:
        load_plugin(path)
    for folder in trusted:
        trust(find_run(folder))


@contextmanager
def ignore_closed_output() -> Iterator[None]:
    """Continue when the reader of standard output is gone, as in `olbench run ... | head -1`."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Otherwise Python complains at exit about the rest of the buffer.
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
