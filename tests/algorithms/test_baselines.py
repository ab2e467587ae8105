"""Baselines: the last label, or the more frequent one so far."""

import numpy as np

from olbench import online_pass


def test_several_classes_have_the_same_baselines(rng):
    y = rng.choice(4, 300, p=[0.1, 0.2, 0.5, 0.2])
    X = np.zeros((300, 1))
    same = online_pass("no-change", X, y, labels="all", keep="margins").margins
    assert same[1:].tolist() == y[:-1].tolist()
    frequent = online_pass("majority-so-far", X, y, labels="all", keep="margins").margins
    assert frequent[1:].tolist() == [int(np.argmax(np.bincount(y[:t], minlength=4))) for t in range(1, 300)]
