"""Labels: two become -1 and +1 by their order; more need to be told."""

import numpy as np
import pytest

from olbench import UserError, load_dataset
from olbench.data.prepare.labels import as_signs
from tests.cases import for_each


@for_each("labels", [("-1", "+1"), ("-1", "1"), ("0", "1"), ("1", "2"), ("-1.0", "1.0"), ("3", "7")])
def test_the_smaller_of_two_labels_is_negative(libsvm_file, labels):
    small, large = labels
    data = load_dataset(libsvm_file(f"{large} 1:1\n{small} 1:2\n{large} 1:3\n"))
    assert data.y.tolist() == [1, -1, 1]
    assert data.y.dtype == np.float64


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
    assert data.y.tolist() == y
    assert np.asarray(data.X).ravel().tolist() == kept


@for_each(
    ("positive", "negative", "message"),
    [
        (
            None,
            None,
            "FILE has 3 distinct labels (1, 2, 3); say which are positive, as in --positive 1 (the key "
            "positive in a config or in Python)",
        ),
        (9, None, "FILE: no example has the positive label 9; the file has 1, 2, 3"),
        (1, 9, "FILE: no example has the negative label 9; the file has 1, 2, 3"),
        (1, 1, "FILE: the label 1 cannot be both positive and negative"),
        ([1, 2, 3], None, "FILE: no label remains for the negative examples; the file has 1, 2, 3"),
        (None, 1, "FILE: `negative` was given without `positive`; give both"),
        ([], None, "FILE: positive names no label; the file has 1, 2, 3"),
        ("one", None, "FILE: no example has the positive label 'one'; the file has 1, 2, 3"),
        ({}, None, "positive and negative are labels or lists of labels, not {}"),
    ],
)
def test_labels_that_make_no_sense_are_refused(libsvm_file, positive, negative, message):
    path = libsvm_file(THREE)
    with pytest.raises(UserError) as refused:
        load_dataset(path, positive=positive, negative=negative)
    assert str(refused.value) == message.replace("FILE", str(path))


def test_one_label_alone_is_refused(libsvm_file):
    with pytest.raises(UserError, match="every example has the label 2; two distinct labels are needed"):
        load_dataset(libsvm_file("2 1:1\n2 1:2\n"))


def test_many_labels_are_shown_in_part():
    with pytest.raises(UserError, match=r"has 40 distinct labels \(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...\)"):
        as_signs(np.arange(40.0), None, None, "here")
