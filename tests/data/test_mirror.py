"""The real data, where OLBENCH_MIRROR has it."""

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from olbench import load_dataset
from olbench.data.catalog import catalog, find
from olbench.data.dataset import duplicate_groups
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


#: The rows in groups of duplicates; none of the groups has two labels.
DUPLICATES = {
    "video": 534, "apparel": 67, "books": 35, "dvd": 63, "electronics": 73, "kitchen": 45, "music": 47,
}  # fmt: skip


@pytest.mark.parametrize(("domain", "count"), DUPLICATES.items())
def test_amazon_reviews_lose_their_duplicates_and_nothing_else(real_mirror, domain, count):
    raw, data = (real(f"amazon-{domain}{suffix}", real_mirror) for suffix in ("-raw", ""))
    groups = duplicate_groups(raw.X)
    firsts, sizes = np.unique(groups, return_counts=True)
    assert sizes[sizes > 1].sum() == count
    assert (raw.y == raw.y[groups]).all()
    assert (raw.X[firsts] != data.X).nnz == 0
    assert (data.y == raw.y[firsts]).all()
    assert (duplicate_groups(data.X) == np.arange(len(data.y))).all()


@pytest.mark.parametrize("domain", ["books", "dvd", "electronics", "kitchen"])
def test_both_versions_of_the_reviews_have_about_the_same_rows(real_mirror, domain):
    ours, theirs = (real(f"amazon-{domain}{suffix}", real_mirror) for suffix in ("", "-acl"))
    assert abs(ours.X.shape[0] - theirs.X.shape[0]) < 40
    assert (duplicate_groups(theirs.X) == np.arange(len(theirs.y))).all()


@pytest.mark.parametrize("name", ["news-comp", "news-sci", "news-talk"])
def test_posts_are_binary_and_have_a_sender_and_a_subject(real_mirror, name):
    X = real(name, real_mirror).X
    assert set(np.unique(X.data)) == {1.0}
    # Columns are in byte order; "from:" and "subject:" are the words that occur in every post.
    assert (np.asarray(X.sum(axis=0)).ravel() == X.shape[0]).sum() == 2


def test_spam_is_counted(real_mirror):
    data = real("spam-a", real_mirror)
    assert data.X.data.min() == 1
    assert data.X.data.max() > 10
    assert (data.X.data == np.round(data.X.data)).all()


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
