"""The one error that users see."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

#: A longer message only repeats the user's input, such as a key of a damaged file.
LONGEST_MESSAGE = 1900
#: Signs without a width that Persian, the scripts of India and emoji need within words.
JOINERS = "\u200c\u200d"


class UserError(ValueError):
    """The user's input is wrong; the message says what, where, and what to do about it.

    A ValueError, because that is what scikit-learn and NumPy users catch for a bad argument.
    """

    exit_code = 2

    def __init__(self, reason: str = "", remedy: str = ""):
        super().__init__(f"{reason}; {remedy}" if remedy else reason)
        self.reason, self.remedy = reason, remedy

    def __str__(self) -> str:
        return shorten(escape_controls(super().__str__()), LONGEST_MESSAGE)


class InputWarning(UserWarning):
    """Something of the user's cannot be used and is left out; the command line shows only the sentence."""


def suggest(word: str, known: list[str]) -> str:
    from difflib import get_close_matches

    if len(word) > 100:  # the comparison takes time that grows with the square of the length
        return ""
    names = {name.lower(): name for name in reversed(known)}
    close = get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    return f" (did you mean '{names[close[0]]}'?)" if close else ""


def find_names(wanted: str, known: Mapping[str, Iterable[str]], what: str, where: str) -> list[str]:
    """Return the names that a user means by a word, in any case; refuse an unknown word.

    `known` has other names by name.

    >>> find_names("SCW-I", {"scw1": ["SCW-I"], "arow": ["AROW"]}, "algorithm", "the run")
    ['scw1']
    """
    word = wanted.casefold()
    found = [name for name, also in known.items() if word in {each.casefold() for each in (name, *also)}]
    if not found:
        called = dict.fromkeys(each for name, also in known.items() for each in (name, *also))
        hint = suggest(wanted, list(called)) or f"; it has {list_some(list(known), 10)}"
        raise UserError(f"{where} has no {what} {show_name(wanted)}{hint}")
    # An exact match excludes other entries: "arow" does not also select "arow (r=0.1)".
    return [wanted] if wanted in found else found


def shorten(text: str, most: int = 60) -> str:
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
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in JOINERS else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def escape_lines(text: str) -> str:
    """Return a text with its line breaks, and without other control characters."""
    return "\n".join(map(escape_controls, text.split("\n")))


def show_name(name: str) -> str:
    return f"'{escape_controls(shorten(name))}'"


def is_file(path: str | Path) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def expand_home(path: str | Path) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        user = str(path).partition("/")[0]
        raise UserError(f"{path}: there is no home folder for '{user}'; write the path out") from None


def find_line(error: BaseException, file: str) -> int:
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno or 0
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def describe_error(error: BaseException) -> str:
    """Return the class of an error and its message, if it has one; a user's class may fail to give it.

    A UserError is its message.
    """
    if isinstance(error, UserError):
        return str(error)
    try:
        message = str(error)
    except (Exception, SystemExit):
        message = "its message cannot be shown"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def plural(thing: str) -> str:
    """Return the plural of a noun.

    >>> plural("fold"), plural("pass")
    ('folds', 'passes')
    """
    return f"{thing}{'es' if thing.endswith('s') else 's'}"


def count(number: int, thing: str, things: str = "") -> str:
    """Return a number and a noun, in the plural where it belongs.

    >>> count(1, "data set"), count(12, "data set"), count(1200, "pass")
    ('1 data set', '12 data sets', '1,200 passes')
    """
    return f"{number:,} {thing if number == 1 else things or plural(thing)}"


def list_some(names: Sequence[str], most: int) -> str:
    """Return names in a row; of more than `most`, the others are counted.

    >>> list_some(["cw", "scw1"], 3), list_some(["cw", "scw1", "scw2", "arow", "pa"], 3)
    ('cw, scw1', 'cw, scw1, scw2 and 2 more')
    """
    listed = ", ".join(names[:most])
    return f"{listed} and {len(names) - most} more" if len(names) > most else listed


def list_first(names: Iterable[str], most: int = 10) -> str:
    """Return the first names in a row.

    >>> list_first(["cw", "scw1", "scw2"], 3), list_first(["cw", "scw1", "scw2"], 2)
    ('cw, scw1, scw2', 'cw, scw1, ...')
    """
    first = list(islice(names, most + 1))
    return ", ".join(first[:most]) + (", ..." if len(first) > most else "")


def show_number(value: float, digits: int, sign: str = "") -> str:
    """Return a number with thousands apart; what rounds to zero has no sign.

    >>> show_number(1234.5, 1, "+"), show_number(-0.001, 2), show_number(0.0, 2, "+")
    ('+1,234.5', '0.00', '0.00')
    """
    text = f"{value:{sign}z,.{digits}f}"
    return text if text.strip("+0.") else text.lstrip("+")


def short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
