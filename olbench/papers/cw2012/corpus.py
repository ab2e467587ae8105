"""Heavy-tailed documents with many rare words, in place of the corpora of cw2012, section 7.9."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from olbench.learners.examples import Floats

#: Documents drawn at once. A fixed value makes the first ones independent of how many follow.
DOCUMENTS_AT_ONCE = 4096


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
    def _masses(self) -> tuple[Floats, Floats]:
        """The cumulated frequencies of the common words and of those of a topic."""
        sizes = self.common_words, self.topic_words
        common, topic = (np.cumsum((np.arange(1.0, k + 1) + self.offset) ** -self.exponent) for k in sizes)
        return common, topic

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
        numbers, known, threshold = np.full(self.words, -1, dtype=np.int32), 0, None
        for k, begin in enumerate(range(0, rows, DOCUMENTS_AT_ONCE)):
            size = min(DOCUMENTS_AT_ONCE, rows - begin)
            # The median is that of a whole block, even if fewer documents are wanted.
            drawn = size if k else DOCUMENTS_AT_ONCE
            starts, words, scores, flips = self._draw(np.random.default_rng([self.seed, k + 1]), drawn)
            threshold = np.median(scores) if threshold is None else threshold
            y = np.where((scores[:size] > threshold) != flips[:size], 1.0, -1.0)
            starts, words = starts[: size + 1], words[: starts[size]]
            new = pd.unique(words[numbers[words] < 0])
            numbers[new] = np.arange(known, known + new.size)
            known += new.size
            X = sp.csr_matrix((np.ones(words.size), numbers[words], starts), shape=(size, known))
            X.sum_duplicates()
            yield X, y

    def _draw(self, random: np.random.Generator, size: int) -> tuple[Any, ...]:
        """Return where documents start, their words, scores and flips; the first do not depend on the size.

        One number decides between the vocabularies of a token and, stretched, picks the word.
        """
        lengths = 1 + random.poisson(random.gamma(2.0, (self.length - 1) / 2, DOCUMENTS_AT_ONCE))
        topics = random.integers(0, self.topics, DOCUMENTS_AT_ONCE)
        flips = random.random(DOCUMENTS_AT_ONCE) < self.noise
        starts = np.concatenate([[0], np.cumsum(lengths[:size])])
        documents = np.repeat(np.arange(size), lengths[:size])
        u = random.random(documents.size)
        (common, topic), special = self._masses, u < self.topical
        words = np.empty(u.size, dtype=np.int64)
        words[~special] = _find(common, (u[~special] - self.topical) / (1.0 - self.topical))
        words[special] = _find(topic, u[special] / self.topical)
        words[special] += common.size + topics[documents[special]] * topic.size
        return starts, words, np.bincount(documents, self.weights[words]), flips


def _find(mass: Floats, u: Floats) -> Any:
    """Return the first words whose cumulated frequencies are above shares u of the whole."""
    return np.minimum(np.searchsorted(mass, u * mass[-1], side="right"), mass.size - 1)
