"""What click refuses on a command line, in one sentence with a remedy, like every other mistake."""

import re

import click

from olbench.errors import shorten, suggest


def describe_usage(error: click.ClickException) -> str:
    """Return what is wrong with a command line, and where the help is."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = context.command_path if context else "olbench"
    return f"{_describe(error, command)}; see `{command} --help`"


def _describe(error: click.ClickException, command: str) -> str:
    match error:
        case click.MissingParameter() if error.param is not None:
            return f"`{command}` needs {_name(error.param)}"
        case click.NoSuchOption():
            hint = f" (did you mean '{error.possibilities[0]}'?)" if error.possibilities else ""
            return f"`{command}` has no option '{shorten(error.option_name)}'{hint}"
        case click.BadParameter() if error.param is not None:
            return _describe_value(error.param, error.message)
        case click.BadOptionUsage() if "requires" in error.message:
            return f"{error.option_name} needs a value"
    if extra := re.search(r"unexpected extra arguments? \((.*)\)", error.message):
        return f"`{command}` has no use for '{shorten(extra[1])}'"
    return _as_clause(error.message)


def _describe_value(param: click.Parameter, message: str) -> str:
    """Return what a value must be, and what it is."""
    name, kind = _name(param), param.type
    value = message.partition(" is not ")[0].strip("'")
    match kind:
        case click.Choice():
            words = [str(word) for word in kind.choices]
            return f"{name} must be one of {', '.join(words)}, not '{shorten(value)}'{suggest(value, words)}"
        case click.IntRange() | click.FloatRange():
            what = "a whole number" if isinstance(kind, click.IntRange) else "a number"
            low = "" if kind.min is None else f" {'above' if kind.min_open else 'from'} {kind.min:g}"
            high = "" if kind.max is None else f" {'below' if kind.max_open else 'to'} {kind.max:g}"
            return f"{name} must be {what}{low}{high}, not '{shorten(value)}'"
        case click.types.IntParamType():
            return f"{name} must be a whole number, not '{shorten(value)}'"
        case click.types.FloatParamType():
            return f"{name} must be a number, not '{shorten(value)}'"
    return f"{name}: {_as_clause(message)}"


def _name(param: click.Parameter) -> str:
    """Return an option by its long name, and an argument as the help calls it."""
    return max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name


def _as_clause(message: str) -> str:
    """Return a sentence without its capital and its full stop."""
    return message[:1].lower() + message[1:].rstrip(".")
