"""The one error that users see."""


class UserError(ValueError):
    """The user's input is wrong; the message says what, where, and what to do about it.

    The command line prints it without a traceback and exits with code 2. It is a ValueError because that is
    what scikit-learn and NumPy users catch for a bad argument.
    """

    #: The exit code of the command line.
    exit_code = 2


def suggest(word: str, known: list[str]) -> str:
    """Return ' (did you mean ...?)' when one of the known words is close to this one, else nothing."""
    from difflib import get_close_matches

    close = get_close_matches(word.lower(), known, n=1, cutoff=0.5)
    return f" (did you mean '{close[0]}'?)" if close else ""
