"""Text of a user's file inside an error message."""


def quote(token: str) -> str:
    """Return a token in quotes, shortened and with unprintable characters escaped.

    >>> quote("one\\x00")
    "'one\\\\x00'"
    """
    shown = token if len(token) <= 40 else token[:37] + "..."
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown) + "'"


def quote_bytes(token: bytes) -> str:
    """Return bytes as `quote` shows text; what is not UTF-8 is escaped."""
    return quote(token.decode("utf-8", "backslashreplace"))
