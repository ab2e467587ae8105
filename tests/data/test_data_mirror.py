"""The real data, where OLBENCH_MIRROR has it."""

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from olbench import load_dataset
from olbench.data.catalog import catalog, find
from olbench.data.fetch import fetch, local_files

LARGE = ["usps", "usps-digit1", "mnist-1-vs-2", "mitface", "ijcnn1", "covtype"]
SMALL = ["svmguide3", "splice", "mushrooms", "w1a", "w7a", "a9a", "german", "sonar", "pima", "cod-rna"]


@pytest.mark.parametrize("name", SMALL + LARGE)
def test_the_real_files_are_as_the_catalogue_says(real_mirror, name):
    entry = find(name)
    if local_files(entry, real_mirror) is None:
        pytest.skip(f"the mirror does not have {name}")
    data = load_dataset(name, mirror=real_mirror)
    assert data.X.shape == (entry.rows, entry.features)
    assert data.fingerprint == entry.fingerprint


def test_fetching_puts_the_files_into_the_cache(real_mirror, cache_folder):
    (path,) = fetch(find("svmguide3"), real_mirror)
    assert path == cache_folder / "downloads" / "svmguide3"


@pytest.mark.parametrize("name", ["svmguide3", "sonar", "german", "w1a", "mushrooms"])
def test_real_files_are_read_as_scikit_learn_reads_them(real_mirror, name):
    entry = catalog()[name]
    (path,) = local_files(entry, real_mirror)
    theirs, labels = load_svmlight_file(str(path), n_features=entry.features)
    data = load_dataset(name, mirror=real_mirror)
    mine = data.X if data.storage == "dense" else data.X.toarray()
    assert (mine == theirs.toarray()).all()
    assert (data.y == np.where(labels == labels.max(), 1, -1)).all()


def test_w7a_keeps_its_empty_rows(real_mirror):
    X = load_dataset("w7a", mirror=real_mirror).X
    assert np.count_nonzero(np.diff(X.indptr) == 0) == 2046
