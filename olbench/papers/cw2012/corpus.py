"""Heavy-tailed documents with many rare words, in place of the corpora of cw2012, section 7.9."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import float64, int32, types

from olbench.data.dataset import csr, join_blocks, narrow
from olbench.kernels.compile import READ_1D, READ_INT64, WRITE_1D, WRITE_INT64, kernel
from olbench.kernels.helpers import helper
from olbench.learners.examples import Floats, Ints

#: Documents drawn at once. A fixed value makes the first ones independent of how many follow.
DOCUMENTS_AT_ONCE = 4096
#: Buckets of the table of places where a search in a distribution function starts.
BUCKETS = 1 << 16

READ_INT32, WRITE_INT32 = types.Array(int32, 1, "C", readonly=True), types.Array(int32, 1, "C")


@dataclass(frozen=True)
class Corpus:
    """Documents as word counts, labelled by a sparse linear model with noise.

    Half of the vocabulary is common to all documents; the other half is divided among topics. A document has
    one topic, from whose words a share `topical` of its tokens comes. In either vocabulary the k-th word has
    a probability proportional to 1 / (k + offset) ^ exponent (Zipf-Mandelbrot). A share `carriers` of all
    words carries sentiment: a weight from N(0, 1) times k ^ -decay. A document is positive if the weights of
    its tokens add up to more than the median of the first block; a share `noise` of the labels is flipped.

    Words are numbered as they first occur, so every feature occurs, and `words` is larger than the number of
    features. Lengths are Poisson around a gamma variable of shape 2: their standard deviation is
    about 0.7 of the mean.
    """

    words: int = 200_000
    topics: int = 20
    topical: float = 0.3
    length: float = 100.0
    exponent: float = 1.0
    offset: float = 2.7
    carriers: float = 0.2
    decay: float = 0.2
    noise: float = 0.03
    seed: int = 0

    @property
    def topic_words(self) -> int:
        return self.words // (2 * self.topics)

    @property
    def common_words(self) -> int:
        return self.words - self.topics * self.topic_words

    @cached_property
    def _tables(self) -> tuple[Floats, Ints, Floats, Ints]:
        common, topic = (self._distribution(size) for size in (self.common_words, self.topic_words))
        return *common, *topic

    def _distribution(self, size: int) -> tuple[Floats, Ints]:
        mass = np.cumsum((np.arange(1, size + 1, dtype=np.float64) + self.offset) ** -self.exponent)
        begins = np.searchsorted(mass, np.arange(BUCKETS + 1) / BUCKETS * mass[-1], side="right")
        return mass, np.minimum(begins, size - 1).astype(np.int64)

    @cached_property
    def weights(self) -> Floats:
        random = np.random.default_rng([self.seed, 0])
        weights: Floats = random.standard_normal(self.words)
        weights[random.random(self.words) >= self.carriers] = 0.0
        begin = 0
        for size in (self.common_words, *[self.topic_words] * self.topics):
            weights[begin : begin + size] *= np.arange(1, size + 1, dtype=np.float64) ** -self.decay
            begin += size
        return weights

    def blocks(self, rows: int) -> Iterator[tuple[Any, Floats]]:
        """Yield matrices of some thousand rows, with a column for every word that has occurred so far."""
        numbers = np.zeros(self.words, dtype=np.int32)
        known, threshold = np.zeros(1, dtype=np.int64), None
        for k, begin in enumerate(range(0, rows, DOCUMENTS_AT_ONCE)):
            random = np.random.default_rng([self.seed, k + 1])
            size = min(DOCUMENTS_AT_ONCE, rows - begin)
            scores, flips, drawn = self._draw(random, size if k else DOCUMENTS_AT_ONCE)
            threshold = float(np.median(scores)) if threshold is None else threshold
            y = np.where((scores[:size] > threshold) != flips[:size], 1.0, -1.0)
            indptr = np.zeros(size + 1, dtype=np.int64)
            starts = drawn[0][: size + 1]
            indices, data = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1])
            _count_words(starts, drawn[1], numbers, known, indptr, indices, data)
            yield csr(data[: indptr[-1]], indices[: indptr[-1]], narrow(indptr), int(known[0])), y

    def _draw(self, random: np.random.Generator, size: int) -> tuple[Floats, Any, tuple[Ints, Any]]:
        """Return scores, flips and tokens of the next documents; the first do not depend on the size."""
        lengths = 1 + random.poisson(random.gamma(2.0, (self.length - 1) / 2, DOCUMENTS_AT_ONCE))
        topics = random.integers(0, self.topics, DOCUMENTS_AT_ONCE)
        flips = random.random(DOCUMENTS_AT_ONCE) < self.noise
        starts = np.concatenate([[0], np.cumsum(lengths[:size])]).astype(np.int64)
        tokens = np.empty(starts[-1], dtype=np.int32)
        scores = np.empty(size)
        uniforms = random.random(int(starts[-1]))
        _draw_tokens(starts, topics, uniforms, self.topical, *self._tables, self.weights, tokens, scores)
        return scores, flips, (starts, tokens)

    def draw(self, rows: int) -> tuple[Any, Floats]:
        return join_blocks(self.blocks(rows))


@helper
def _find(mass, begins, u):
    """Return the first word whose distribution function is above u of the whole: a search in one bucket."""
    wanted = u * mass[-1]
    bucket = int(u * BUCKETS)
    # Rounding may put u beyond the edge of its bucket, so its neighbours are searched too.
    low, high = begins[max(bucket - 1, 0)], begins[min(bucket + 2, BUCKETS)]
    while low < high:
        middle = (low + high) // 2
        if mass[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


DRAWN_FROM = READ_INT64, READ_INT64, READ_1D, float64, READ_1D, READ_INT64, READ_1D, READ_INT64, READ_1D


@kernel(types.void(*DRAWN_FROM, WRITE_INT32, WRITE_1D))
def _draw_tokens(
    starts, topics, uniforms, topical, common, common_begins, topic, topic_begins, weights, tokens, scores
):
    """One number decides between the vocabularies and, stretched, picks the word."""
    for i in range(scores.size):
        base = common.size + topics[i] * topic.size
        score = 0.0
        for k in range(starts[i], starts[i + 1]):
            u = uniforms[k]
            if u < topical:
                word = base + _find(topic, topic_begins, u / topical)
            else:
                word = _find(common, common_begins, (u - topical) / (1.0 - topical))
            tokens[k] = word
            score += weights[word]
        scores[i] = score


@kernel(types.void(READ_INT64, READ_INT32, WRITE_INT32, WRITE_INT64, WRITE_INT64, WRITE_INT32, WRITE_1D))
def _count_words(starts, tokens, numbers, known, indptr, indices, data):
    """Number the words as they first occur, and write each document as sorted columns with their counts."""
    end = 0
    for i in range(starts.size - 1):
        size = starts[i + 1] - starts[i]
        columns = np.empty(size, np.int32)
        for k in range(size):
            word = tokens[starts[i] + k]
            if numbers[word] == 0:
                known[0] += 1
                # Zero marks a word that has not occurred, so that numbers are one more than columns.
                numbers[word] = known[0]
            columns[k] = numbers[word] - 1
        columns.sort()
        begin = end
        for k in range(size):
            if end > begin and indices[end - 1] == columns[k]:
                data[end - 1] += 1.0
            else:
                indices[end] = columns[k]
                data[end] = 1.0
                end += 1
        indptr[i + 1] = end
