"""Names of runs, data sets and algorithms as file names, as texts and as words of a command."""

import re
import shlex
from hashlib import sha256

from olbench.errors import escape_controls

#: Longer file names are cut; a digest of the whole name follows.
LONGEST = 60
#: What a file may be called on every system, whatever its letters.
_PLAIN = re.compile(r"[a-z0-9]+(?:[-.][a-z0-9]+)*")
_TAKEN = re.compile(r".*-[0-9a-f]{8}")


def file_name(name: str) -> str:
    """Return a file name that differs from all others on any disk: letters and digits, and a digest.

    >>> file_name("arow"), file_name("AROW"), file_name("../a b")
    ('arow', 'arow-aeed36f6', 'a-b-2c2c791a')
    """
    if len(name) <= LONGEST and _PLAIN.fullmatch(name) and not _TAKEN.fullmatch(name):
        return name
    letters = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST].strip("-")
    digest = sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{letters or 'name'}-{digest}"


def quote(word: str) -> str:
    r"""Return a word for a shell; signs that a terminal would obey are escaped, so that pasting is safe.

    >>> quote("arow"), quote("var-KL [paper]"), quote("a\x1b[201~'b")
    ('arow', "'var-KL [paper]'", "$'a\\x1b[201~\\'b'")
    """
    if word.isprintable():
        return shlex.quote(word)
    return f"$'{escape_controls(word.replace(chr(92), chr(92) * 2)).replace(chr(39), chr(92) + chr(39))}'"
