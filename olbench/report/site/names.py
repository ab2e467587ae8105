"""Names of runs and algorithms as file names and as links."""

import re
from hashlib import sha256
from typing import NamedTuple

from markupsafe import Markup

#: Longer file names are cut.
LONGEST = 60


class Link(NamedTuple):
    """A cell that leads to another page of the site."""

    text: str
    address: str

    def __str__(self) -> str:
        return self.text

    def __html__(self) -> str:
        return Markup('<a href="{}">{}</a>').format(self.address, self.text)


def algorithm_link(id: str, label: str) -> Link:
    return Link(label, f"{file_name(f'algorithm-{id}')}.html")


def file_name(name: str) -> str:
    """Return a file name that differs from all others on any disk: letters and digits, and a digest.

    >>> file_name("arow"), file_name("AROW"), file_name("../a b")
    ('arow', 'arow-aeed36f6', 'a-b-2c2c791a')
    """
    letters = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST].strip("-")
    # A plain name that ends as one with a digest gets a digest too.
    if letters == name and not re.search(r"-[0-9a-f]{8}$", name):
        return name
    return f"{letters or 'name'}-{sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"
