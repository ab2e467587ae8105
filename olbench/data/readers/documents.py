"""Text as examples: posts, one per file, and reviews, one per line, from tar archives.

Words are runs of bytes between ASCII white space, so a text in any encoding, or in several, can be read.
Errors name the archive, the file in it and the line.
"""

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data.catalog.entry import TextRecipe
from olbench.data.prepare.vocabulary import Bags
from olbench.data.readers.archive import read_members
from olbench.data.readers.quoting import quote_bytes
from olbench.errors import UserError

_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_WHOLE_NUMBER = re.compile(rb"[+-]?[0-9]{1,15}")
_COUNT = re.compile(rb"0*[1-9][0-9]{0,14}")
_LABELS = {b"#label#:negative": -1.0, b"#label#:positive": 1.0}
_LABEL_TOKENS = "#label#:negative or #label#:positive"


def read_posts(
    path: str | Path, labels: Mapping[str, int | None], recipe: TextRecipe, limit: int | None = None
) -> tuple[Any, Any]:
    """Return (X, labels) of an archive with one post per file; a pattern of file names gives the label."""
    members = read_members(path, list(labels), limit)
    bags = Bags()
    for member in members:
        post = member.content if recipe.headers is None else keep_headers(member.content, recipe.headers)
        bags.add(split_words(post, recipe))
    return count_words(bags, recipe), np.array(
        [labels[member.pattern] for member in members], dtype=np.float64
    )


def keep_headers(post: bytes, names: Sequence[str]) -> bytes:
    r"""Return a post with only the named headers, including their continuation lines.

    >>> keep_headers(b"From: a\nLines: 3\nSubject: b\n c\n\nText", ["Subject"])
    b'Subject: b\n c\n\nText'
    """
    head, *body = _BLANK_LINE.split(post, maxsplit=1)
    wanted = {name.lower().encode() for name in names}
    lines, keep = [], False
    for line in head.split(b"\n"):
        if not line.startswith((b" ", b"\t")):
            keep = line.partition(b":")[0].strip().lower() in wanted
        if keep:
            lines.append(line)
    return b"\n".join([*lines, b"", *body])


def read_reviews(
    path: str | Path, patterns: Sequence[str], recipe: TextRecipe, limit: int | None = None
) -> tuple[Any, Any]:
    """Return (X, labels) of an archive of files with one review per line: label, tab, text."""
    bags, labels = Bags(), array("d")
    for place, line in _read_lines(path, patterns, limit):
        label, tab, text = line.partition(b"\t")
        if not tab:
            raise UserError(f"{place}: there is no tab after the label")
        if not _WHOLE_NUMBER.fullmatch(label):
            raise UserError(f"{place}: label {quote_bytes(label)} is not a whole number")
        labels.append(float(label))
        bags.add(split_words(text, recipe))
    return count_words(bags, recipe), np.frombuffer(labels)


def read_feature_counts(
    path: str | Path, patterns: Sequence[str], recipe: TextRecipe, limit: int | None = None
) -> tuple[Any, Any]:
    """Return (X, labels) of an archive of files with lines `feature:count ... #label#:positive`."""
    bags, labels, counts = Bags(), array("d"), array("d")
    for place, line in _read_lines(path, patterns, limit):
        *entries, label = line.split()
        if label not in _LABELS:
            raise UserError(f"{place}: the line ends with {quote_bytes(label)} instead of {_LABEL_TOKENS}")
        features = _parse_counts(place, entries)
        labels.append(_LABELS[label])
        bags.add(list(features))
        counts.extend(features.values())
    X = bags.matrix(np.frombuffer(counts))
    return _as_binary(X) if recipe.values == "binary" else X, np.frombuffer(labels)


def _parse_counts(place: str, entries: Sequence[bytes]) -> dict[bytes, float]:
    features: dict[bytes, float] = {}
    for entry in entries:
        feature, colon, count = entry.rpartition(b":")
        if not colon or not feature or not _COUNT.fullmatch(count):
            raise UserError(f"{place}: {quote_bytes(entry)} is not a feature:count pair")
        if feature in features:
            raise UserError(f"{place}: {quote_bytes(entry)} gives a feature a second time")
        features[feature] = float(count)
    return features


def _read_lines(path: str | Path, patterns: Sequence[str], limit: int | None) -> Iterator[tuple[str, bytes]]:
    """Yield the lines that are not blank, each with its place."""
    for member in read_members(path, patterns, limit):
        empty = True
        for number, line in enumerate(member.content.split(b"\n"), start=1):
            if line.strip():
                yield f"{path}: {member.name}:{number}", line
                empty = False
        if empty:
            raise UserError(f"{path}: {member.name} contains no examples")


def split_words(text: bytes, recipe: TextRecipe) -> list[bytes]:
    """Return the words of a text."""
    return (text.lower() if recipe.lower else text).split()


def count_words(bags: Bags, recipe: TextRecipe) -> Any:
    """Return the matrix that a recipe makes of bags of words."""
    X = bags.matrix_with_pairs() if recipe.ngrams == 2 else bags.matrix()
    return _as_binary(X) if recipe.values == "binary" else X


def _as_binary(X: Any) -> Any:
    X.data[:] = 1.0
    return X
