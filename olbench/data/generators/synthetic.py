"""Examples generated from a seed: the papers' synthetic sets, and streams of any size for scale tests."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from olbench.errors import UserError
from olbench.files import write_whole
from olbench.learn.examples import Floats

#: Rows drawn at once. Changing it changes the random numbers; a fixed value makes the first rows
#: independent of how many follow.
ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class RotatedGaussian:
    """The data of cw2008, section 5, as scw2012 uses it; parameters replace what the papers leave open.

    Two coordinates come from a Gaussian with standard deviations `long_axis` along one diagonal of the plane
    and `short_axis` along the other; the remaining coordinates come from N(0, 2). The label is the side of
    the long axis on which the two coordinates lie. The set is linearly separable, unless exactly a share
    `flips` of the labels is flipped.
    """

    rows: int = 5000
    features: int = 20
    long_axis: float = 1.0
    short_axis: float = 0.3
    #: Standard deviation of the other coordinates; the 2 in cw2008's N(0, 2) may be a variance or a
    #: deviation.
    other_deviation: float = 2.0
    flips: float = 0.0
    seed: int = 2012

    def __post_init__(self) -> None:
        _check_sizes(self.rows, self.features, least_features=2)
        _check_share("flips", self.flips)
        for name in ("long_axis", "short_axis", "other_deviation"):
            if not 0 < getattr(self, name) < np.inf:
                raise UserError(f"{name} must be a positive number, not {getattr(self, name)}")

    def draw(self, run: int = 0) -> tuple[Floats, Floats]:
        """Return X and y of the sample of a run, which depends only on the seed and the run's number."""
        if run < 0:
            raise UserError(f"runs are numbered from 0, so there is no run {run}")
        random = np.random.default_rng([self.seed, run])
        along = self.long_axis * random.standard_normal(self.rows)
        across = self.short_axis * random.standard_normal(self.rows)
        X = np.empty((self.rows, self.features))
        # A rotation by 45 degrees, written out because a matrix product may round differently on other
        # machines.
        X[:, 0] = (along - across) * np.sqrt(0.5)
        X[:, 1] = (along + across) * np.sqrt(0.5)
        X[:, 2:] = self.other_deviation * random.standard_normal((self.rows, self.features - 2))
        y = np.where(across > 0, 1.0, -1.0)
        flipped_rows = random.permutation(self.rows)[: round(self.flips * self.rows)]
        y[flipped_rows] *= -1.0
        return X, y


@dataclass(frozen=True)
class DenseStream:
    """Standard normal features, labelled by a random hyperplane; a share `noise` of the labels is flipped."""

    features: int = 100
    noise: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        _check_sizes(1, self.features)
        _check_share("noise", self.noise)

    def lines(self, rows: int) -> Iterator[str]:
        """Yield LIBSVM text for that many rows, a few thousand lines at a time."""
        truth = np.random.default_rng([self.seed, 0]).standard_normal(self.features)
        template = " ".join(f"{j + 1}:%.6g" for j in range(self.features))
        for random, size in _chunks(self.seed, rows):
            X = random.standard_normal((ROWS_AT_ONCE, self.features))
            y = _flip(np.where((X * truth).sum(axis=1) > 0, 1, -1), self.noise, random)
            values = zip(y[:size].tolist(), X[:size].tolist(), strict=True)
            yield "".join(f"{label:+d} {template % tuple(row)}\n" for label, row in values)


@dataclass(frozen=True)
class TextStream:
    """Documents as word counts; the k-th word has a probability proportional to 1 / k^exponent (Zipf).

    Every word has a weight. A document is positive if the weights of its words add up to more than zero; a
    share `noise` of the labels is flipped.
    """

    features: int = 50_000
    words: int = 80
    exponent: float = 1.1
    noise: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        _check_sizes(1, self.features)
        _check_share("noise", self.noise)
        if self.words < 1 or not 0 <= self.exponent < np.inf:
            raise UserError("a text stream needs at least one word per document and an exponent of 0 or more")

    def lines(self, rows: int) -> Iterator[str]:
        """Yield LIBSVM text for that many rows, a few thousand lines at a time."""
        weights = np.random.default_rng([self.seed, 0]).standard_normal(self.features)
        share = np.cumsum(np.arange(1, self.features + 1, dtype=np.float64) ** -self.exponent)
        for random, size in _chunks(self.seed, rows):
            lengths = 1 + random.poisson(self.words - 1, ROWS_AT_ONCE)
            words = np.searchsorted(share, random.random(lengths.sum()) * share[-1], side="right")
            documents = np.repeat(np.arange(ROWS_AT_ONCE), lengths)
            score = np.bincount(documents, weights[words], minlength=ROWS_AT_ONCE)
            y = _flip(np.where(score > 0, 1, -1), self.noise, random)
            yield _count_lines(y[:size], documents, words, self.features)


def _count_lines(y: Any, documents: Any, words: Any, features: int) -> str:
    """Return one line per label, with the words of its document and their counts."""
    pairs, counts = np.unique(documents.astype(np.int64) * features + words, return_counts=True)
    rows, columns = np.divmod(pairs, features)
    entries = [f"{c}:{k}" for c, k in zip((columns + 1).tolist(), counts.tolist(), strict=True)]
    ends = np.searchsorted(rows, np.arange(y.size), side="right").tolist()
    begins = [0, *ends[:-1]]
    labels = y.tolist()
    return "".join(
        f"{label:+d} {' '.join(entries[a:b])}\n" for label, a, b in zip(labels, begins, ends, strict=True)
    )


def _chunks(seed: int, rows: int) -> Iterator[tuple[np.random.Generator, int]]:
    for k, begin in enumerate(range(0, rows, ROWS_AT_ONCE)):
        yield np.random.default_rng([seed, k + 1]), min(ROWS_AT_ONCE, rows - begin)


def _flip(y: Any, share: float, random: np.random.Generator) -> Any:
    return np.where(random.random(y.size) < share, -y, y)


def write_stream(stream: DenseStream | TextStream, rows: int, path: Path) -> int:
    """Write a stream to a LIBSVM file (gzip where its name ends in .gz); return the bytes written.

    The file appears under its name only when it is complete.
    """
    opener: Any = gzip.open if path.name.endswith(".gz") else open
    with write_whole(path) as draft, opener(draft, "wb") as file:
        pipe_stream(stream, rows, file)
    return path.stat().st_size


def pipe_stream(stream: DenseStream | TextStream, rows: int, output: IO[bytes]) -> int:
    """Write a stream to an open file or pipe as it is made; return the bytes written."""
    _check_sizes(rows, 1)
    size = 0
    for text in stream.lines(rows):
        size += output.write(text.encode("ascii"))
    output.flush()
    return size


def _check_sizes(rows: int, features: int, least_features: int = 1) -> None:
    if rows < 1 or features < least_features:
        raise UserError(
            f"cannot generate {rows} rows with {features} features; the minimum is 1 row and "
            f"{least_features} features"
        )


def _check_share(name: str, share: float) -> None:
    if not 0 <= share < 1:
        raise UserError(f"{name} is a share and must be in [0, 1), not {share}")
