"""The command line: one file per verb or group of verbs parses options, calls `api` and prints.

In: the words of a command.
Out: text on standard output, one sentence on standard error, and an exit code.
"""

import atexit
import errno
import gc
import importlib
import os
import resource
import sys
import warnings
from contextlib import suppress
from typing import Any, NoReturn

import click

from olbench import __version__
from olbench.engine.display import wrap
from olbench.errors import InputWarning, UserError, escape_controls, suggest

GROUPS = {
    "Everyday": {
        "run": "Run an experiment, or finish one that was stopped.",
        "report": "Turn a run into tables, figures, verdicts and an HTML page.",
        "check": "Compare the counts of an experiment with a baseline, for CI.",
        "init": "Write a commented config to start from.",
        "list": "List the configs and runs that ship, and your own runs.",
        "data": "List, fetch and verify data sets.",
        "algorithms": "List the algorithms, or describe one.",
    },
    "Papers": {
        "summary": "Sum up the results for every paper on one page.",
        "audit": "Check a paper's theory numerically, as printed and as corrected.",
        "figures": "Draw the illustrations of a paper.",
        "forensics": "Find the settings that could have produced a paper's numbers.",
    },
    "Share": {
        "bundle": "Write a run as one file that others can check.",
        "verify": "Run recorded trials again, a sample or one, and compare.",
        "site": "Make a static site of many runs, with leaderboards.",
    },
    "Inspect": {
        "trace": "Show what a learner sees and does, round by round.",
        "conform": "Check whether an implementation is the algorithm of its paper.",
    },
}
VERBS = [verb for group in GROUPS.values() for verb in group]
#: The verbs that share the file of their group.
FILES = {verb: group.lower() for group in ("Papers", "Share", "Inspect") for verb in GROUPS[group]}


class Actions(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands]  # not list(...), which is the verb here once its file is imported

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        known, group = self.list_commands(ctx), f"{self.name} " if ctx.parent else ""
        if args and not args[0].startswith("-") and args[0] not in known:
            hint = suggest(args[0], known)
            raise UserError(f"there is no command '{group}{args[0]}'{hint}; see `olbench {group}--help`")
        return super().resolve_command(ctx, args)


class Verbs(Actions):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return VERBS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"olbench.cli.{FILES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name if cmd_name in FILES else "command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, verbs in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{verb:{max(map(len, VERBS))}}", text) for verb, text in verbs.items()])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "-V", "--version", prog_name="olbench")
@click.option("--debug", is_flag=True, help="Show a traceback with an error.")
def cli(debug: bool) -> None:
    """Reproduce, audit and extend papers on confidence-weighted online learning.

    \b
    Examples:
      olbench run quick           a first experiment
      olbench report              its results: who wins, and how certain that is
      olbench run my.libsvm       a first look at your own data
      olbench data list           the data sets
      olbench algorithms          the algorithms
      olbench algorithms scw1     one algorithm in detail
    """


_show_as_usual = warnings.showwarning


def show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    if issubclass(category, InputWarning):
        click.echo(wrap(f"olbench: {escape_controls(str(message))}", sys.stderr), err=True)
    else:
        _show_as_usual(message, category, *place, **more)


def main() -> None:
    """Run the command line; a UserError is printed as one sentence and gives exit code 2."""
    # At exit, Python's garbage collector would walk all objects in vain.
    atexit.register(gc.freeze)
    for name in ("stdout", "stderr"):  # None if closed, as with >&- and 2>&-
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        stream = getattr(sys, name)
        # A file name may hold bytes that no encoding can print.
        if getattr(stream, "errors", "") == "strict" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = show_warning
    try:
        code = run_verb()
        sys.stdout.flush()
        sys.exit(code)
    except BrokenPipeError:  # the reader of the output is gone; click exits with 1 then
        leave("", 1)
    except (UserError, OSError, MemoryError) as error:
        if "--debug" in sys.argv[1:]:
            raise
        leave(describe_failure(error), getattr(error, "exit_code", 2))
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # since click 8.2
            click.echo(error.message)
            leave("", 0)
        with suppress(OSError):
            error.show()
        leave("", error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        leave("stopped", 130)


def describe_failure(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; take fewer jobs or smaller data, or raise the limit"
    text = str(error)
    if isinstance(error, OSError):
        text = f"{error.strerror or error}" + (f" ({error.filename})" if error.filename else "")
    if os.strerror(errno.EMFILE) not in text:
        return text
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return f"{text}; a process may have {most} at a time, so raise the limit, as with `ulimit -n 1024`"


def run_verb() -> Any:
    try:
        # Without standalone mode, click returns the code of an Exit instead of raising it.
        return cli(standalone_mode=False) or 0
    except SystemExit as end:
        return end.code


def leave(sentence: str, code: int) -> NoReturn:
    with suppress(OSError):
        if sentence:
            click.echo(wrap(f"olbench: {escape_controls(sentence)}", sys.stderr), err=True)
    # Drop what a full disk or a closed pipe did not take; at exit, Python would fail on it again.
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)
