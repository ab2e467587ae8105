"""What a run takes is bounded; more than there is is refused before the first trial, with the remedy."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import scipy.sparse as sp

from olbench import UserError, make_algorithm, memory
from olbench.learners.examples import as_examples
from olbench.learners.start import start
from olbench.memory import available_memory, limit_memory, memory_limit, parse_size, show_size


@pytest.fixture
def wide():
    Path("wide.libsvm").write_text("+1 1:1 50000:2\n-1 7:1\n" * 20)
    return "wide.libsvm"


def test_a_full_covariance_of_50000_features_is_refused_with_a_remedy_that_works(here, wide):
    words = ("run", wide, "--algorithms", "arow", "--memory", "8G", "--set", "permutations=1")
    full = (*words, "--covariance", "full")
    assert here.err(*full, "--jobs", "2") == (
        "olbench: arow on wide.libsvm needs 37.3 GiB of memory with 2 jobs, most of it for a full covariance "
        "of 50,000 features, and 8.0 GiB may be used; use covariance: diag, or set another limit with "
        "--memory\n"
    )
    assert not Path("results").exists()
    assert "full covariance" in here.err(*full, "--dry-run", "--jobs", "1")
    assert here(*words)[0] == 0, "the default of wide data is diag"


def test_fewer_jobs_are_a_remedy_where_they_are_enough(here):
    Path("medium.libsvm").write_text("+1 1:1 3000:2\n-1 7:1\n" * 20)
    words = ("run", "medium.libsvm", "--algorithms", "arow", "--memory", "100M", "--set", "permutations=1")
    words += ("--covariance", "full")
    assert "use covariance: diag, or use --jobs 1, or set" in here.err(*words, "--jobs", "2")
    assert here(*words, "--jobs", "1")[0] == 0


@pytest.mark.parametrize("verb", ["run", "check"])
def test_every_verb_that_runs_trials_looks_first(here, config, monkeypatch, wide, verb):
    path = config(f"datasets: [{wide}]\nalgorithms: [arow]\npermutations: 1\n")
    monkeypatch.setattr("olbench.memory.available_memory", lambda: 10**8)
    words = ("--update", "--against", "new.json") if verb == "check" else ()
    assert here.err(verb, path, *words).count("full covariance") == 1


def test_norms_and_scores_of_sparse_rows_do_not_depend_on_the_number_of_features():
    # 16 GiB for one array by feature: more than a machine without overcommitment would give.
    examples = as_examples(sp.csr_matrix(([1.0, 2.0], ([0, 1], [3, 2**31 - 10])), shape=(2, 2**31 - 2)))
    assert examples.norms.tolist() == [1.0, 4.0]


#: Files of a made-up machine with 20 GB available, and how much of it a process may take.
MACHINES = {
    "no cgroup": ({}, 20_000_000 * 1024),
    "cached files do not count": (
        {
            "proc/self/cgroup": "0::/user/job\n", "cgroup/user/memory.max": "max\n",
            "cgroup/user/memory.current": "5\n", "cgroup/user/job/memory.max": "4000\n",
            "cgroup/user/job/memory.current": "3500\n", "cgroup/user/job/memory.stat": "file 3000\n",
        },
        3500,
    ),
    "the tightest of nested ones": (
        {
            "proc/self/cgroup": "0::/user/job\n", "cgroup/user/memory.max": "1000\n",
            "cgroup/user/memory.current": "400\n", "cgroup/user/job/memory.max": "4000\n",
            "cgroup/user/job/memory.current": "0\n",
        },
        600,
    ),
    "version 1, and the root that a container sees": (
        {
            "proc/self/cgroup": "4:memory:/docker/abc\n3:cpu:/docker/abc\n",
            "cgroup/memory/memory.limit_in_bytes": "9000", "cgroup/memory/memory.usage_in_bytes": "5000",
            "cgroup/memory/memory.stat": "total_cache 1000\n",
        },
        5000,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "available"), MACHINES.values(), ids=MACHINES)
def test_the_machine_its_cgroups_or_the_user_decide(tmp_path, monkeypatch, files, available):
    meminfo = {"proc/meminfo": "MemTotal: 40000000 kB\nMemAvailable: 20000000 kB\n", "proc/self/cgroup": ""}
    for name, text in (meminfo | files).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(memory, "PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "cgroup")
    assert available_memory() == available
    assert memory_limit() == int(0.9 * available)
    with limit_memory(12345):
        assert memory_limit() == 12345


def test_sizes_are_read_and_shown_with_their_units():
    sizes = {"8G": 8 << 30, "512m": 512 << 20, "1.5 GiB": 3 << 29, "100": 100, "2KB": 2048, "1T": 1 << 40}
    assert {text: parse_size(text) for text in sizes} == sizes
    for text in ("", "G", "-1G", "0", "8X", "nan", "1e3", "٣G", "9" * 400):
        with pytest.raises(UserError, match="is not an amount of memory; write for example 512M or 8G"):
            parse_size(text)
    assert (show_size(3 << 30), show_size(1536 << 10)) == ("3.0 GiB", "1.5 MiB")


#: All verbs, with less memory than one array with a number for each of 300 million features.
NARROW = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from olbench.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv, code = ["olbench", *words], 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    print(f"exit code {code}\\f", flush=True)
"""
RUN = ["run", "two.libsvm", "--algorithms", "perceptron", "--memory", "1G", "--scale"]
WIDE = [
    (["data", "info", "two.libsvm"], 0, "standard deviations of the features from 0.5 to 0.5"),
    (["init", "two.libsvm", "--force"], 0, "2 rows, 300,000,000 features"),
    ([*RUN, "unit"], 2, "perceptron on two.libsvm needs"),
    ([*RUN, "unit", "--covariance", "diag"], 2, "give features smaller numbers"),
    ([*RUN, "minmax"], 2, "scaling 300,000,000 features takes"),
    (["algorithms", "adviceptron", "--rules", "pima", "--data", "two.libsvm"], 2, "rules can name 1,000,000"),
]  # fmt: skip


def test_no_verb_makes_an_array_of_all_features_of_wide_data():
    Path("two.libsvm").write_text("+1 1:1\n-1 300000000:1\n")
    command = [sys.executable, "-c", NARROW, json.dumps([words for words, *_ in WIDE])]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    parts = done.stdout.split("\f\n")
    assert (len(parts), parts.pop()) == (len(WIDE) + 1, ""), done.stdout
    for part, (_, code, message) in zip(parts, WIDE, strict=True):
        assert part.endswith(f"exit code {code}"), part
        assert message in part


def test_a_finished_run_needs_no_memory(here, monkeypatch):
    Path("my.libsvm").write_text("+1 1:0.5 2:1\n-1 1:-0.5 2:3\n" * 6)
    words = ("run", "my.libsvm", "--algorithms", "arow", "--set", "permutations=2")
    assert here(*words, "--quiet")[0] == 0
    monkeypatch.setattr("olbench.engine.resources.memory_limit", lambda: 1)
    assert here.out(*words) == "nothing to do: all 2 trials are in results/my.libsvm\n"
    # A trial without a number that is asked for runs again.
    for other in (("--set", "permutations=3"), ("--out", "empty"), ("--set", "measures=[auc]")):
        assert "needs" in here.err(*words, *other)


PASS = "protocol: {}\ndatasets: [breast-cancer]\nalgorithms: [perceptron]\n"
SHARDS = (
    PASS.format("shards") + "test: 50\nshards: [5]\ntuning: {search: grid, rows: 20, folds: 1000000000}\n"
)
TOO_MANY = "the config asks for 1,000,000,000 trials, and a run can have 1,000,000; lower the number of "
TOO_LARGE = [
    (PASS.format("crossval") + "epochs: 1000000000", "epochs must be at most 10,000, and 1000000000 is more"),
    (PASS.format("online") + "permutations: 1000000000", f"{TOO_MANY}permutations, or split the config\n"),
    (SHARDS, "20 tuning rows of breast-cancer cannot be divided into 1,000,000,000 folds"),
]


def test_what_no_run_can_hold_is_refused_at_once(here, config):
    for text, message in TOO_LARGE:
        assert message in here.err("run", config(text), "--out", "out")
        assert message in here.err("run", config(text), "--dry-run")
    assert not Path("out").exists()


def test_weights_that_no_memory_holds_are_refused_in_python_with_a_remedy_that_the_algorithm_has():
    wide = r"needs .* GiB for 2,000,000,000,000 features"
    cases = [("perceptron", {}, 2 * 10**12, wide), ("arow", {"covariance": "diag"}, 2 * 10**12, wide)]
    no_form = "has no diagonal form: use fewer features"
    cases += [(id, {}, 10**6, f"{id} {no_form}") for id in ("iellip", "narow2010", "sop-libol")]
    for id, options, d, message in cases:
        with pytest.raises(UserError, match=message):
            start(make_algorithm(id, **options), d)


def test_a_curve_has_no_more_points_than_the_data_has_rows(here, config, records):
    path = config(PASS.format("online") + "permutations: 1\ncurve: 1000000000\n")
    assert here("run", path, "--out", "out", "--quiet")[0] == 0
    assert records("out")[0]["curve"]["t"] == list(range(1, 570))


def test_what_is_no_number_of_jobs_is_refused(here, config, monkeypatch):
    for jobs in ("100000", str(10**24)):
        err = here.err("run", config(), "--out", "out", "--jobs", jobs)
        assert err.startswith("olbench: --jobs must be at most ")
    for jobs in ("٣", "9" * 5000, "0", "two"):
        monkeypatch.setenv("OLBENCH_JOBS", jobs)
        err = here.err("run", config(), "--out", "out")
        assert err.startswith("olbench: OLBENCH_JOBS must be a whole number from 1, not '")


def test_a_config_that_never_ends_and_a_ledger_that_is_a_pipe_are_refused(here, config):
    Path("zero.yaml").symlink_to("/dev/zero")
    err = here.err("run", "zero.yaml")
    assert err == "olbench: zero.yaml:1: it has more than 10,000,000 characters; a YAML file has fewer\n"
    Path("out").mkdir()
    os.mkfifo("out/trials.jsonl")
    err = here.err("run", config(), "--out", "out")
    assert err == "olbench: out/trials.jsonl is not a file; remove it, or choose another folder\n"


def test_a_lack_of_memory_is_one_sentence(here, config, monkeypatch):
    def take_too_much(*_, **__):
        raise MemoryError

    monkeypatch.setattr("olbench.api.complete", take_too_much)
    err = here.err("run", config(), "--out", "out")
    assert err.startswith("olbench: there is not enough memory for this; ")
