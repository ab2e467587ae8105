"""The real data, where OLBENCH_MIRROR has it."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from olbench import load_dataset
from olbench.data.catalog import catalog, find
from olbench.data.fetch import local_files

TEXT = [entry.name for entry in catalog().values() if any(file.startswith("text/") for file in entry.files)]
#: The printed errors of Maxent on USPS (cw2012, Table 4).
MAXENT = {
    "usps-0-vs-9": 33.02, "usps-1-vs-2": 42.86, "usps-3-vs-4": 45.36, "usps-5-vs-6": 48.48,
    "usps-7-vs-8": 53.04,
}  # fmt: skip
LARGE = ["usps", "usps-digit1", "mnist-1-vs-2", "mitface", "ijcnn1", "covtype"]
SMALL = ["svmguide3", "splice", "mushrooms", "w1a", "w7a", "a9a", "german", "sonar", "pima", "cod-rna"]


@pytest.mark.parametrize("name", [*SMALL, *LARGE, *TEXT])
def test_the_real_files_are_as_the_catalogue_says(real_mirror, name):
    compare(real(name, real_mirror), find(name))


@cache
def real(name, mirror):
    if local_files(find(name), mirror) is None:
        pytest.skip(f"the mirror does not have {name}")
    return load_dataset(name, mirror=mirror)


def compare(data, entry):
    assert data.X.shape == (entry.rows, entry.features)
    assert data.fingerprint == entry.fingerprint
    assert {int(k): int((data.y == k).sum()) for k in (-1, 1)} == entry.labels
    assert data.test_from == (entry.rows - entry.test_rows if entry.split else None)


@pytest.mark.parametrize(("name", "percent"), MAXENT.items())
def test_the_errors_of_maxent_in_cw2012_are_class_shares_of_the_test_files(real_mirror, name, percent):
    data = real(name, real_mirror)
    compare(data, find(name))
    test = data.y[data.test_from :]
    assert percent in [round(100 * float((test == side).mean()), 2) for side in (-1, 1)]


def test_the_files_of_usps_are_split_as_they_are(real_mirror):
    train, test = (
        load_svmlight_file(str(path), n_features=256)
        for path in local_files(find("usps-7-vs-8"), real_mirror)
    )
    data = real("usps-7-vs-8", real_mirror)
    parts = [X.toarray()[np.isin(labels, [8, 9])] for X, labels in (train, test)]
    assert data.test_from == len(parts[0])
    assert (data.X[:, :256] == np.concatenate(parts)).all()
    assert (data.X[:, 256] == data.X[:, 0] * data.X[:, 1]).all()
    assert (data.X[:, -1] == data.X[:, 254] * data.X[:, 255]).all()


@pytest.mark.parametrize("name", ["svmguide3", "sonar", "german", "w1a", "mushrooms"])
def test_real_files_are_read_as_scikit_learn_reads_them(real_mirror, name):
    entry = catalog()[name]
    (path,) = local_files(entry, real_mirror)
    theirs, labels = load_svmlight_file(str(path), n_features=entry.features)
    data = real(name, real_mirror)
    mine = data.X if data.storage == "dense" else data.X.toarray()
    assert (mine == theirs.toarray()).all()
    assert (data.y == np.where(labels == labels.max(), 1, -1)).all()
