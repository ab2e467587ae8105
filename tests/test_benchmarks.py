"""What the benchmarks compare does the same work, and their floors do the work that they stand for."""

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import harness, speed
from benchmarks.floors import DEPTH, find_floors, follow_chain, multiply_tiles, touch_rows
from benchmarks.plain_c import IDS, find_compiler, load_library, plain_c
from olbench import make_algorithm
from olbench.kernels.blocked import ROWS_PER_SWEEP
from olbench.kernels.vectors import WIDEST
from olbench.learn.examples import as_examples


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


@pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")
def test_plain_c_leaves_the_arithmetic_of_the_process_alone():
    """A library that is linked with -ffast-math turns off subnormal numbers for everybody."""
    load_library()
    smallest = np.nextafter(0.0, 1.0)
    assert smallest > 0.0
    assert np.array([smallest])[0] * 1.0 == smallest


def test_the_memory_floor_reads_every_line_of_every_row():
    """Dense and sparse, in any order: the rows have as many entries as fill two lines and a bit."""
    X, y = np.ones((30, 17)), np.ones(30)
    order = np.random.default_rng(0).permutation(30)
    # Per row: the label, the norm, one entry for each line that begins in the row, and the last one.
    for storage, columns in ((np.asarray, 0), (sp.csr_matrix, 16 + 16)):
        total = touch_rows(as_examples(storage(X)).rows(), y, order)
        assert total == 30 * (1 + 17 + 3 + 1 + columns)


def test_a_tile_sums_one_product_per_step_and_a_chain_ends_with_the_margin_of_its_steps():
    left, right = np.ones((DEPTH, ROWS_PER_SWEEP)), np.full((DEPTH, WIDEST), 2.0)
    target = np.zeros((ROWS_PER_SWEEP, WIDEST))
    multiply_tiles(left, right, target, 3)
    assert (target == 2.0 * DEPTH).all()
    x, columns = np.full(9, 1.0 / 3.0), np.arange(9, dtype=np.uint32)
    # Each step leaves 1 - 1/1000 of what is missing; the last margin is of the state before its own step.
    assert follow_chain(columns, x, np.zeros(9), 500) == pytest.approx(1.0 - 0.999**499)
    X, y = speed.dense(300, 8)
    assert list(find_floors(make_algorithm("arow"), X, y, 100)) == ["arithmetic", "memory", "chain"]


@pytest.mark.parametrize("case", ["dense-8", "text", "classes-3", "reader"])
def test_a_case_prints_ours_and_its_peers(case, capsys):
    speed.main(["--case", case, "--scale", "0.002", "--repeats", "1"])
    [_, title, _, *rows] = capsys.readouterr().out.rstrip().splitlines()
    assert title.startswith(f"{case}: n = ")
    assert any(":" not in row for row in rows)
    assert all(float(row.split()[-1]) > 0 for row in rows if ":" in row)


def test_only_the_peers_that_are_asked_for_run_on_real_data(capsys):
    speed.main(["--data", "breast-cancer", "--peer", "natural", "--repeats", "1"])
    names = [line.partition("  ")[0] for line in capsys.readouterr().out.rstrip().splitlines()[3:]]
    assert names[:2] == ["arow", "arow: natural order"]
    assert not [name for name in names if "plain C" in name]


def test_the_cost_of_a_trial_is_measured():
    assert all(each > 0 for each in harness.measure(5))
