"""Text as examples, from tar archives: posts, one per file, and reviews, one per line, in any encoding."""

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from olbench.data.catalog import TextRecipe
from olbench.data.labels import quote_bytes
from olbench.data.tar import read_members
from olbench.errors import UserError

_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_WHOLE_NUMBER = re.compile(rb"[+-]?[0-9]{1,15}")
_COUNT = re.compile(rb"0*[1-9][0-9]{0,14}")
_LABELS = {b"#label#:negative": -1.0, b"#label#:positive": 1.0}
_LABEL_TOKENS = "#label#:negative or #label#:positive"


def count_terms(documents: Iterable[Sequence[bytes]], recipe: TextRecipe, counts: Any = None) -> Any:
    """Columns are in the byte order of the terms, then of pairs, whatever the order of the documents."""
    numbers: dict[bytes, int] = {}
    terms, lengths = array("q"), array("q")
    for document in documents:
        terms.extend([numbers.setdefault(term, len(numbers)) for term in document])
        lengths.append(len(document))
    ranks = np.empty(len(numbers), dtype=np.int64)
    ranks[[numbers[term] for term in sorted(numbers)]] = np.arange(ranks.size)
    rows, columns = np.repeat(np.arange(len(lengths)), lengths), ranks[np.frombuffer(terms, dtype=np.int64)]
    width = ranks.size
    if recipe.ngrams == 2:
        inside = rows[1:] == rows[:-1]
        pairs, places = np.unique(columns[:-1][inside] * width + columns[1:][inside], return_inverse=True)
        rows = np.concatenate([rows, rows[1:][inside]])
        columns = np.concatenate([columns, width + places])
        width += pairs.size
    values = np.ones(columns.size) if counts is None else np.asarray(counts)
    # A matrix has at least one column, even if no document has a term.
    X = sp.csr_matrix((values, (rows, columns)), shape=(len(lengths), max(1, width)))
    if recipe.values == "binary":
        X.data[:] = 1.0
    return X


def read_posts(
    path: str | Path, labels: Mapping[str, int | None], recipe: TextRecipe, limit: int | None = None
) -> tuple[Any, Any]:
    members = read_members(path, list(labels), limit)
    posts = [
        member.content if recipe.headers is None else keep_headers(member.content, recipe.headers)
        for member in members
    ]
    X = count_terms((split_words(post, recipe) for post in posts), recipe)
    return X, np.array([labels[member.pattern] for member in members], dtype=np.float64)


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
    labels = array("d")

    def documents() -> Iterator[list[bytes]]:
        for place, line in _read_lines(path, patterns, limit):
            label, tab, text = line.partition(b"\t")
            if not tab:
                raise UserError(f"{place}: there is no tab after the label")
            if not _WHOLE_NUMBER.fullmatch(label):
                raise UserError(f"{place}: label {quote_bytes(label)} is not a whole number")
            labels.append(float(label))
            yield split_words(text, recipe)

    return count_terms(documents(), recipe), np.frombuffer(labels)


def read_feature_counts(
    path: str | Path, patterns: Sequence[str], recipe: TextRecipe, limit: int | None = None
) -> tuple[Any, Any]:
    """Return (X, labels) of an archive of files with lines `feature:count ... #label#:positive`."""
    labels, counts = array("d"), array("d")

    def documents() -> Iterator[list[bytes]]:
        for place, line in _read_lines(path, patterns, limit):
            *entries, label = line.split()
            if label not in _LABELS:
                raise UserError(
                    f"{place}: the line ends with {quote_bytes(label)} instead of {_LABEL_TOKENS}"
                )
            labels.append(_LABELS[label])
            features = _parse_counts(place, entries)
            counts.extend(features.values())
            yield list(features)

    return count_terms(documents(), recipe, counts), np.frombuffer(labels)


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
    for member in read_members(path, patterns, limit):
        empty = True
        for number, line in enumerate(member.content.split(b"\n"), start=1):
            if line.strip():
                yield f"{path}: {member.name}:{number}", line
                empty = False
        if empty:
            raise UserError(f"{path}: {member.name} contains no examples")


def split_words(text: bytes, recipe: TextRecipe) -> list[bytes]:
    return (text.lower() if recipe.lower else text).split()
