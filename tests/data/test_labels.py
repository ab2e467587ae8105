"""Labels: two become -1 and +1 by their order; more need to be told."""

import numpy as np

from olbench import load_dataset
from olbench.data.labels import as_targets
from tests.cases import for_each
from tests.refusals import find_wrong, refusal


@for_each("labels", [("-1", "+1"), ("-1", "1"), ("0", "1"), ("1", "2"), ("-1.0", "1.0"), ("3", "7")])
def test_the_smaller_of_two_labels_is_negative(libsvm_file, labels):
    small, large = labels
    data = load_dataset(libsvm_file(f"{large} 1:1\n{small} 1:2\n{large} 1:3\n"))
    assert (data.y.tolist(), data.y.dtype) == ([1, -1, 1], np.float64)


THREE = "1 1:1\n2 1:2\n3 1:3\n1 1:4\n"


@for_each(
    ("positive", "negative", "y", "kept"),
    [
        (1, None, [1, -1, -1, 1], [1, 2, 3, 4]),
        ([1, 3], None, [1, -1, 1, 1], [1, 2, 3, 4]),
        (1, 3, [1, -1, 1], [1, 3, 4]),
        ([2], [1, 3], [-1, 1, -1, -1], [1, 2, 3, 4]),
        (3, 2, [-1, 1], [2, 3]),
    ],
)
def test_positive_and_negative_labels_can_be_named(libsvm_file, positive, negative, y, kept):
    data = load_dataset(libsvm_file(THREE), positive=positive, negative=negative)
    assert (data.y.tolist(), np.asarray(data.X).ravel().tolist()) == (y, kept)


HAS = "; the file has 1, 2, 3"
REFUSED = [
    (None, None, " has 3 distinct labels (1, 2, 3); choose the positive ones, as in --positive 1 (posi"),
    (9, None, f": no example has the positive label 9{HAS}"),
    (1, 9, f": no example has the negative label 9{HAS}"),
    (1, 1, ": the label 1 cannot be both positive and negative"),
    ([1, 2, 3], None, f": no label remains for the negative examples{HAS}"),
    (None, 1, ": `negative` was given without `positive`; give both"),
    ([], None, f": positive names no label{HAS}"),
    ("one", None, f": no example has the positive label 'one'{HAS}"),
]


def test_labels_that_make_no_sense_are_refused(libsvm_file):
    path = libsvm_file(THREE)
    cases = [(positive, negative, f"{path}{words}") for positive, negative, words in REFUSED]
    assert find_wrong(cases, lambda *labels: load_dataset(path, *labels)) == []
    two = libsvm_file("2 1:1\n2 1:2\n", "two")
    assert "every example has the label 2; two distinct labels are needed" in refusal(load_dataset, two)
    many = refusal(as_targets, np.arange(40.0), None, None, "here", False)
    assert "has 40 distinct labels (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...)" in many
