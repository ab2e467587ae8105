"""The one error that users see."""

from pathlib import Path


class UserError(ValueError):
    """The user's input is wrong; the message says what, where, and what to do about it.

    The command line prints it without a traceback and exits with code 2. It is a ValueError because that is
    what scikit-learn and NumPy users catch for a bad argument.
    """

    #: The exit code of the command line.
    exit_code = 2

    def __str__(self) -> str:
        """Return the message in one line, whatever names it holds."""
        return escape_controls(super().__str__())


def suggest(word: str, known: list[str]) -> str:
    """Return ' (did you mean ...?)' when one of the known words is close to this one, else nothing."""
    from difflib import get_close_matches

    if len(word) > 100:  # the comparison takes time that grows with the square of the length
        return ""
    close = get_close_matches(word.lower(), known, n=1, cutoff=0.5)
    return f" (did you mean '{close[0]}'?)" if close else ""


def shorten(text: str, most: int = 60) -> str:
    """Return a text that fits into a sentence: its beginning, where it is long."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def is_unicode(name: str) -> bool:
    """Return whether a name can be written down: a file name may have bytes that are not characters."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def escape_controls(text: str) -> str:
    r"""Return a text in one line: a name may hold a line break, or control characters of a terminal.

    >>> escape_controls("no\nsuch file é")
    'no\\nsuch file é'
    """
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text
    )


def show_name(name: str) -> str:
    """Return a user's name as messages show it: in quotes, in one line, and not too long."""
    return f"'{escape_controls(shorten(name))}'"


def is_file(path: str | Path) -> bool:
    """Return whether a user's path is a file; an impossible path, such as one too long, is not."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def expand_home(path: str | Path) -> Path:
    """Return a path with ~ and ~user at its beginning replaced by a home folder."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        user = str(path).partition("/")[0]
        raise UserError(f"{path}: there is no home folder for '{user}'; write the path out") from None


def find_line(error: BaseException, file: str) -> int:
    """Return the last line of a file that an error has passed through, or zero."""
    if isinstance(error, SyntaxError):
        return error.lineno or 0
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def describe_error(error: BaseException) -> str:
    """Return the class of an error and its message, if it has one; a user's class may fail to give it."""
    try:
        message = str(error)
    except (Exception, SystemExit):
        message = "its message cannot be shown"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def count(number: int, thing: str, things: str = "") -> str:
    """Return a number and a noun, in the plural where it belongs.

    >>> count(1, "data set"), count(12, "data set"), count(1200, "pass", "passes")
    ('1 data set', '12 data sets', '1,200 passes')
    """
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"
