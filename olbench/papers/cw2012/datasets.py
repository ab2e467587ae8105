"""The documents of section 7, in tar archives, and generated ones in place of the corpora of section 7.9."""

import io
import re
import tarfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from olbench.data.catalog import CatalogEntry, TextRecipe, add_datasets
from olbench.data.compressed import read_content
from olbench.data.formats import reader
from olbench.errors import UserError, show_name

_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_WHOLE_NUMBER = re.compile(rb"[+-]?[0-9]{1,15}")
_COUNT = re.compile(rb"0*[1-9][0-9]{0,14}")
_LABELS = {b"#label#:negative": -1.0, b"#label#:positive": 1.0}
#: (place, line, recipe) -> its label and its terms, or the count of each.
Parse = Callable[[str, bytes, TextRecipe], tuple[float, Sequence[bytes] | Mapping[bytes, float]]]


def _show(token: bytes) -> str:
    return show_name(token.decode("utf-8", "backslashreplace"))


@reader("corpus", files=0, version=1)
def read_corpus(entry: CatalogEntry) -> Iterator[Any]:
    from olbench.papers.cw2012.corpus import Corpus

    yield from Corpus(**entry.generator).blocks(entry.rows)  # type: ignore[arg-type]


@reader("posts", version=1)
def read_posts(path: Path, entry: CatalogEntry) -> Any:
    """Read posts; the pattern that matches the name of a file gives its label."""
    members, recipe = read_members(path, entry), entry.text
    documents = (split_words(keep_headers(member.content, recipe.headers), recipe) for member in members)
    labels = [entry.members[member.pattern] for member in members]
    return count_terms(documents, recipe), np.array(labels, dtype=np.float64)


@reader("reviews", version=1)
def read_reviews(path: Path, entry: CatalogEntry) -> Any:
    """Read files with one review per line: label, tab, text."""
    return _read_lines(path, entry, _parse_review)


@reader("feature-counts", version=1)
def read_feature_counts(path: Path, entry: CatalogEntry) -> Any:
    """Read files with lines `feature:count ... #label#:positive`."""
    return _read_lines(path, entry, _parse_counts)


@dataclass(frozen=True)
class Member:
    pattern: str
    name: str
    content: bytes


def read_members(path: str | Path, entry: CatalogEntry) -> list[Member]:
    """Read files into memory, ordered by pattern and then by name; hidden files never match."""
    patterns, members = list(entry.members), []
    content = io.BytesIO(read_content(path))
    try:
        with tarfile.open(fileobj=content, mode="r:") as archive:
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


def count_terms(
    documents: Iterable[Sequence[bytes]], recipe: TextRecipe, counts: Sequence[float] = ()
) -> Any:
    """Count terms, then pairs of terms, in columns in their byte order."""
    import scipy.sparse as sp

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
    values = np.asarray(counts) if counts else np.ones(columns.size)
    # A matrix has at least one column, even if no document has a term.
    X = sp.csr_matrix((values, (rows, columns)), shape=(len(lengths), max(1, width)))
    if recipe.values == "binary":
        X.data[:] = 1.0
    return X


def keep_headers(post: bytes, names: Sequence[str] | None) -> bytes:
    r"""Return a post with only the named headers, or all, including their continuation lines.

    >>> keep_headers(b"From: a\nLines: 3\nSubject: b\n c\n\nText", ["Subject"])
    b'Subject: b\n c\n\nText'
    """
    if names is None:
        return post
    head, *body = _BLANK_LINE.split(post, maxsplit=1)
    wanted = {name.lower().encode() for name in names}
    lines, keep = [], False
    for line in head.split(b"\n"):
        if not line.startswith((b" ", b"\t")):
            keep = line.partition(b":")[0].strip().lower() in wanted
        if keep:
            lines.append(line)
    return b"\n".join([*lines, b"", *body])


def split_words(text: bytes, recipe: TextRecipe) -> list[bytes]:
    return (text.lower() if recipe.lower else text).split()


def _read_lines(path: Path, entry: CatalogEntry, parse: Parse) -> Any:
    labels, counts = array("d"), array("d")

    def documents() -> Iterator[list[bytes]]:
        for member in read_members(path, entry):
            lines = [each for each in enumerate(member.content.split(b"\n"), start=1) if each[1].strip()]
            if not lines:
                raise UserError(f"{path}: {member.name} contains no examples")
            for number, line in lines:
                label, terms = parse(f"{path}: {member.name}:{number}", line, entry.text)
                labels.append(label)
                if isinstance(terms, Mapping):
                    counts.extend(terms.values())
                yield list(terms)

    return count_terms(documents(), entry.text, counts), np.frombuffer(labels)


def _parse_review(place: str, line: bytes, recipe: TextRecipe) -> tuple[float, list[bytes]]:
    label, tab, text = line.partition(b"\t")
    if not tab:
        raise UserError(f"{place}: there is no tab after the label")
    if not _WHOLE_NUMBER.fullmatch(label):
        raise UserError(f"{place}: label {_show(label)} is not a whole number")
    return float(label), split_words(text, recipe)


def _parse_counts(place: str, line: bytes, recipe: TextRecipe) -> tuple[float, dict[bytes, float]]:
    *entries, label = line.split()
    if label not in _LABELS:
        known = " or ".join(each.decode() for each in _LABELS)
        raise UserError(f"{place}: the line ends with {_show(label)} instead of {known}")
    features: dict[bytes, float] = {}
    for entry in entries:
        feature, colon, number = entry.rpartition(b":")
        if not colon or not feature or not _COUNT.fullmatch(number):
            raise UserError(f"{place}: {_show(entry)} is not a feature:count pair")
        if feature in features:
            raise UserError(f"{place}: {_show(entry)} gives a feature a second time")
        features[feature] = float(number)
    return _LABELS[label], features


add_datasets(Path(__file__).with_name("catalog.yaml"), __name__)
