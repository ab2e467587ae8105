"""Generated documents: heavy-tailed, learnable, the same whatever their number, and cached on the way."""

import numpy as np
import pytest

from olbench import load_dataset
from olbench.data.catalog import find
from olbench.data.dataset import join_blocks
from olbench.data.entries import load_entry
from olbench.papers.cw2012.corpus import Corpus

pytestmark = pytest.mark.usefixtures("cache_folder")

SMALL = Corpus(words=60_000, length=40, seed=3)


@pytest.fixture(scope="module")
def drawn():
    return join_blocks(SMALL.blocks(6000))


def test_the_first_documents_do_not_depend_on_how_many_follow(drawn):
    X, y = drawn
    for rows in (1, 100, 4096, 5000):
        fewer, labels = join_blocks(SMALL.blocks(rows))
        fewer.resize(rows, X.shape[1])
        assert (fewer != X[:rows]).nnz == 0
        assert (labels == y[:rows]).all()


def test_words_follow_the_law_of_zipf_and_mandelbrot():
    """One topic takes no token here, so each frequency is that of the common vocabulary."""
    corpus = Corpus(words=400, topics=1, topical=0.0, length=50, offset=2.0, exponent=1.3, seed=1)
    X, _ = join_blocks(corpus.blocks(20_000))
    counts = np.sort(np.asarray(X.sum(axis=0)).ravel())[::-1]
    expected = (np.arange(1, corpus.common_words + 1) + 2.0) ** -1.3
    expected *= counts.sum() / expected.sum()
    np.testing.assert_allclose(counts[:50], expected[:50], rtol=0.05)
    assert counts.size == corpus.common_words


def test_a_corpus_of_the_catalogue_is_as_described_and_cached(cache_folder, monkeypatch):
    entry = find("corpus-frequent")
    data = load_dataset("corpus-frequent")
    assert data.fingerprint == entry.fingerprint
    assert data.X.shape == (entry.rows, entry.features)
    assert entry.features / entry.rows == pytest.approx(0.36, abs=0.005)
    assert [path.name for path in cache_folder.iterdir()] == ["parsed"]
    monkeypatch.setattr(Corpus, "blocks", None)
    assert load_entry(entry, []).fingerprint == entry.fingerprint


def test_the_catalogue_has_the_two_ratios_of_the_paper_at_two_sizes():
    """cw2012, section 7.9: 13.3 and 0.36 features per document."""
    for name, ratio in (("corpus-rare", 13.3), ("corpus-frequent", 0.36)):
        for size, rows in (("", 100_000), ("-million", 1_000_000)):
            entry = find(name + size)
            assert entry.rows == rows
            assert entry.features / entry.rows == pytest.approx(ratio, rel=0.01)
