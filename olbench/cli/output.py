"""How verbs end: deliver a text to the terminal or a file, and report on a run."""

import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.errors import UserError
from olbench.report.grid import count

if TYPE_CHECKING:
    from olbench.engine.runner import Run
    from olbench.report.grid import Part

#: Columns and lines where there is no terminal to ask.
SCREEN = (160, 40)


def screen_size() -> tuple[int, int]:
    """Return the columns and lines to fill: COLUMNS and LINES, or those of the terminal, or SCREEN."""
    size = shutil.get_terminal_size(SCREEN)
    return size.columns, size.lines


def show_parts(*parts: "Part") -> None:
    """Print tables and paragraphs as wide as the terminal."""
    from olbench.report import text

    click.echo(text.render(parts, screen_size()[0], sys.stdout.isatty()), nl=False)


def deliver(content: str, output: Path | None, what: str | None = "report") -> None:
    """Print a text, or write it to a file in one piece; a message then says where `what` is."""
    if output is None:
        click.echo(content, nl=False)
        return
    draft = output.with_name(f".{output.name}.part")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(content, encoding="utf-8")
        draft.replace(output)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise UserError(f"cannot write {output}: {error.strerror or error}") from None
    if what:
        click.echo(f"the {what} is in {output}", err=True)


def exit_code(run: "Run") -> int:
    """Report whether a run was stopped or had failures; return the exit code."""
    if run.stop.is_set():
        click.echo(
            "olbench: stopped; finished trials are kept, and the same command resumes from there", err=True
        )
        return 130
    if run.failed:
        first = run.failed[0]
        click.echo(
            f"olbench: {count(len(run.failed), 'trial')} failed, the first: {first['algorithm']} on "
            f"{first['dataset']}: {first['error']}; the same command tries again",
            err=True,
        )
        return 3
    return 0
