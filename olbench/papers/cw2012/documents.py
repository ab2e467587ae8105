"""Documents in tar archives: posts, reviews, and reviews with their features already counted."""

import io
import re
import tarfile
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import scipy.sparse as sp

from olbench.data.catalog import TextRecipe
from olbench.data.compressed import read_content
from olbench.data.labels import quote_bytes
from olbench.errors import UserError

_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_WHOLE_NUMBER = re.compile(rb"[+-]?[0-9]{1,15}")
_COUNT = re.compile(rb"0*[1-9][0-9]{0,14}")
_LABELS = {b"#label#:negative": -1.0, b"#label#:positive": 1.0}
_LABEL_TOKENS = "#label#:negative or #label#:positive"


@dataclass(frozen=True)
class Member:
    pattern: str
    name: str
    content: bytes


def read_members(path: str | Path, patterns: Sequence[str], limit: int | None = None) -> list[Member]:
    """Read files into memory, ordered by pattern and then by name; hidden files never match."""
    members = []
    try:
        with tarfile.open(fileobj=io.BytesIO(read_content(path, limit)), mode="r:") as archive:
            for info in archive:
                pattern = next((each for each in patterns if fnmatchcase(info.name, each)), None)
                if pattern is None or info.isdir() or PurePosixPath(info.name).name.startswith("."):
                    continue
                file = archive.extractfile(info) if info.isfile() else None
                if file is None:
                    raise UserError(f"{path}: {info.name} is a link or a device, not a file")
                members.append(Member(pattern, info.name, file.read()))
    except tarfile.TarError as error:
        raise UserError(f"{path} is not a tar archive, or it is damaged ({error})") from None
    for pattern in patterns:
        if not any(member.pattern == pattern for member in members):
            raise UserError(f"{path}: no file of the archive matches '{pattern}'")
    return sorted(members, key=lambda member: (patterns.index(member.pattern), member.name))


def count_terms(documents: Iterable[Sequence[bytes]], recipe: TextRecipe, counts: Any = None) -> Any:
    """Count terms, then pairs of terms, in columns in their byte order."""
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
        feature, colon, number = entry.rpartition(b":")
        if not colon or not feature or not _COUNT.fullmatch(number):
            raise UserError(f"{place}: {quote_bytes(entry)} is not a feature:count pair")
        if feature in features:
            raise UserError(f"{place}: {quote_bytes(entry)} gives a feature a second time")
        features[feature] = float(number)
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
