"""The contestants of a benchmark do the same work."""

import numpy as np
import pytest

from benchmarks import harness, speed
from benchmarks.plain_c import IDS, find_compiler, plain_c


@pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")
@pytest.mark.parametrize("id", IDS)
def test_plain_c_counts_the_same_mistakes(id):
    """In every storage and in another order, up to roundings that a sum in any order may change."""
    X, y = speed.dense(2000, 30, density=0.2)
    dense, order = X.toarray(), np.random.default_rng(0).permutation(len(y))
    pairs = [(speed.kernel(id, each, y, order), plain_c(id, each, y, order)) for each in (dense, X)]
    if id in ("arow", "scw1"):
        pairs.append((speed.kernel(id, X, y, covariance="diag"), plain_c(id, X, y, diagonal=True)))
    for ours, peer in pairs:
        assert abs(ours() - peer()) <= 1
    # A library that is linked with -ffast-math would turn off subnormal numbers for everybody.
    assert np.array([np.nextafter(0.0, 1.0)])[0] * 1.0 > 0.0


@pytest.mark.parametrize("case", ["dense-8", "reader"])
def test_a_case_prints_ours_and_its_peers(case, capsys):
    speed.main(["--case", case, "--scale", "0.002", "--repeats", "1"])
    [_, title, _, *rows] = capsys.readouterr().out.rstrip().splitlines()
    assert title.startswith(f"{case}: n = ")
    assert any(":" not in row for row in rows)
    assert all(float(row.split()[-1]) > 0 for row in rows if ":" in row)


def test_the_cost_of_a_trial_is_measured():
    assert all(each > 0 for each in harness.measure(5))
