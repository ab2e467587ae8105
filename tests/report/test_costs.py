"""What results cost: bytes and examples per second, in records from before and from now."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from olbench import load_results, make_algorithm
from olbench.algorithms import get_definition
from olbench.learners.start import count_state_bytes, start
from tests.report import made

CONFIG = """\
permutations: 2
datasets: [breast-cancer]
algorithms: [perceptron, {id: arow, params: {r: 1}}, {id: arow, name: dual, kernel: linear, params: {r: 1}}]
"""


def test_a_record_has_the_bytes_and_the_speed_of_its_learner(here, config, own_folder):
    here.out("run", config(CONFIG), "--out", "out", "--quiet")
    results, rows = load_results("out"), json.loads(here.out("report", "out", "--format", "json"))["rows"]
    sizes = {label: set(own["state_bytes"]) for label, own in results.to_frame().groupby("label")}
    assert sizes["perceptron"] == {8 * (30 + 2)}
    assert sizes["arow"] == {count_state_bytes(make_algorithm("arow"), 30)}
    assert len(sizes["dual"]) == 2  # every order has support examples of its own
    costs = {row["label"]: row["costs"] for row in rows}
    assert costs["perceptron"]["state_bytes"] == 256
    assert costs["dual"]["state_bytes"] == round(sum(sizes["dual"]) / 2)
    assert {each["state_from"] for each in costs.values()} == {"recorded"}
    seconds = results.entries[0].columns["seconds"]
    assert costs["perceptron"]["examples_per_second"] == pytest.approx(2 * 569 / seconds.sum())
    assert {row["timing"] for row in rows} == {"shared"}
    # The learner, the weights that it returns, and one number per row for the order.
    assert costs["perceptron"]["peak_bytes"] == 256 + 8 * 30 + 8 * 569


def test_records_from_before_have_the_bytes_of_their_form():
    results = load_results("scw")
    costs = results.costs(results.entries_of("mnist-1-vs-2", "arow")[0])
    assert costs.state_from == "derived"
    assert costs.state_bytes == start(make_algorithm("arow"), 784).state_bytes
    for name in ("shards", "advice"):
        found = load_results(name)
        for entry in found.entries:
            known = found.costs(entry)
            definition = get_definition(entry.algorithm)
            # The form does not determine the size of rules and batch learners.
            assert (known.state_bytes is None) == bool(definition.takes or not definition.online), entry
            assert known.examples_per_second > 0


def test_an_algorithm_that_nobody_knows_any_more_has_no_bytes():
    own = made.entry("splice", "arow", [0.2, 0.3])
    gone = made.results([replace(own, algorithm="mine", label="mine", options={})])
    costs = gone.costs(gone.entries[0])
    assert (costs.state_bytes, costs.peak_bytes) == (None, None)


MEASURE = """
import numpy as np, scipy.sparse as sp
from pathlib import Path
from olbench import make_algorithm
from olbench.learners.examples import as_examples
from olbench.learners.passes import online_pass
from olbench.learners.start import count_memory_bytes

def resident(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

n, d = 200_000, 1_000_000
rng = np.random.default_rng(0)
X = sp.csr_matrix((np.ones(n), rng.integers(0, d, n), np.arange(n + 1)), (n, d))
examples, y = as_examples(X), np.where(rng.random(n) < 0.5, 1.0, -1.0)
algorithm = make_algorithm("arow", covariance="diag")
online_pass(algorithm, examples, y, np.arange(10))
Path("/proc/self/clear_refs").write_text("5")
before = resident("VmRSS")
weights = online_pass(algorithm, examples, y, rng.permutation(n)).weights
print(resident("VmHWM") - before, count_memory_bytes(algorithm, d) + 8 * n)
"""


@pytest.mark.alone
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux shows the peak of memory")
def test_the_counted_memory_of_a_trial_is_what_it_takes():
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    measured, counted = map(int, done.stdout.split())
    assert counted == 8 * (2 * 1_000_000 + 3) + 8 * 1_000_000 + 8 * 200_000
    # The pass also makes small arrays, and the check of an order one byte per row.
    assert 0.95 * counted < measured < 1.15 * counted + 2**21
