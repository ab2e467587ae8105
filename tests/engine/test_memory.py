"""What cannot fit in memory is refused before the first trial, with the remedy."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from olbench import UserError, make_algorithm, memory
from olbench.learners.start import start
from olbench.memory import available_memory, limit_memory, memory_limit, parse_size, show_size


@pytest.fixture
def wide():
    Path("wide.libsvm").write_text("+1 1:1 50000:2\n-1 7:1\n" * 20)
    return "wide.libsvm"


def test_a_full_covariance_of_50000_features_is_refused_with_a_remedy_that_works(here, wide):
    words = ("run", wide, "--algorithms", "arow", "--memory", "8G", "--set", "permutations=1")
    assert here.err(*words, "--jobs", "2") == (
        "olbench: arow on wide.libsvm needs 37.3 GiB of memory with 2 jobs, most of it for a full covariance "
        "of 50,000 features, and 8.0 GiB may be used; use covariance: diag, or set another limit with "
        "--memory\n"
    )
    assert not Path("results").exists()
    assert "full covariance" in here.err(*words, "--dry-run")
    assert here(*words, "--covariance", "diag")[0] == 0


def test_fewer_jobs_are_a_remedy_where_they_are_enough(here):
    Path("medium.libsvm").write_text("+1 1:1 3000:2\n-1 7:1\n" * 20)
    words = ("run", "medium.libsvm", "--algorithms", "arow", "--memory", "100M", "--jobs")
    assert "use covariance: diag, or use --jobs 1, or set" in here.err(*words, "2")
    assert here(*words, "1", "--set", "permutations=1")[0] == 0


@pytest.mark.parametrize("verb", ["run", "check"])
def test_every_verb_that_runs_trials_looks_first(here, config, monkeypatch, wide, verb):
    path = config(f"datasets: [{wide}]\nalgorithms: [arow]\npermutations: 1\n")
    monkeypatch.setattr("olbench.memory.available_memory", lambda: 10**8)
    words = ("--update", "--against", "new.json") if verb == "check" else ()
    assert here.err(verb, path, *words).count("full covariance") == 1


TWO_LINES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
words = ["run", "two.libsvm", "--algorithms", "perceptron,arow", "--covariance", "diag", "--memory", "8G"]
sys.argv = ["olbench", *words]
from olbench.cli import main
main()
"""


def test_an_index_of_two_billion_in_two_lines_does_not_take_over_the_machine():
    Path("two.libsvm").write_text("+1 1:1\n-1 2147483646:1\n")
    done = subprocess.run([sys.executable, "-c", TWO_LINES], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "perceptron on two.libsvm needs" in done.stderr
    assert "the learner of 2,147,483,646 features" in done.stderr
    assert "give features smaller numbers" in done.stderr


def test_norms_and_scores_of_sparse_rows_do_not_depend_on_the_number_of_features():
    from olbench.learners.examples import as_examples

    # 16 GiB for one array by feature: more than a machine without overcommitment would give.
    examples = as_examples(sp.csr_matrix(([1.0, 2.0], ([0, 1], [3, 2**31 - 10])), shape=(2, 2**31 - 2)))
    assert examples.norms.tolist() == [1.0, 4.0]


def test_a_full_covariance_is_made_without_a_second_copy():
    for form in ("covariance", "root"):
        learner = start(make_algorithm("arow", a=4.0, form=form), 3)
        np.testing.assert_array_equal(learner.covariance, 4.0 * np.eye(3))


def cgroup(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Return the folders of a made-up machine with 20 GB available."""
    proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
    cgroup(proc, {"meminfo": "MemTotal: 40000000 kB\nMemAvailable: 20000000 kB\n"})
    cgroup(proc / "self", {"cgroup": ""})
    monkeypatch.setattr(memory, "PROC", proc)
    monkeypatch.setattr(memory, "CGROUPS", cgroups)
    return proc, cgroups


def test_without_a_cgroup_the_machine_or_the_user_decides(system):
    assert available_memory() == 20_000_000 * 1024
    assert memory_limit() == int(0.9 * 20_000_000 * 1024)
    with limit_memory(12345):
        assert memory_limit() == 12345
    assert memory_limit() != 12345


def test_the_limit_of_a_cgroup_counts_without_its_cached_files(system):
    proc, cgroups = system
    (proc / "self" / "cgroup").write_text("0::/user/job\n")
    cgroup(cgroups / "user", {"memory.max": "max\n", "memory.current": "5\n"})
    used = {"memory.max": "4000\n", "memory.current": "3500\n", "memory.stat": "anon 500\nfile 3000\n"}
    cgroup(cgroups / "user" / "job", used)
    assert available_memory() == 3500


def test_the_tightest_of_nested_cgroups_counts(system):
    proc, cgroups = system
    (proc / "self" / "cgroup").write_text("0::/user/job\n")
    cgroup(cgroups / "user", {"memory.max": "1000\n", "memory.current": "400\n"})
    cgroup(cgroups / "user" / "job", {"memory.max": "4000\n", "memory.current": "0\n"})
    assert available_memory() == 600


def test_version_1_and_the_root_that_a_container_sees(system):
    proc, cgroups = system
    (proc / "self" / "cgroup").write_text("4:memory:/docker/abc\n3:cpu:/docker/abc\n")
    cgroup(cgroups / "memory", {
        "memory.limit_in_bytes": "9000", "memory.usage_in_bytes": "5000", "memory.stat": "total_cache 1000\n",
    })  # fmt: skip
    assert available_memory() == 5000


@pytest.fixture(scope="module")
def scope():
    """Return the beginning of a command that runs in a cgroup of its own, with a gigabyte of memory."""
    for manager in ("--user", "--system"):
        words = ["systemd-run", manager, "--scope", "--quiet", "-p", "MemoryMax=1G"]
        with contextlib.suppress(OSError):
            if subprocess.run([*words, "true"], capture_output=True).returncode == 0:
                return words
    pytest.skip("systemd-run makes no cgroup here: the limit of a real one was not tried")


def test_a_real_cgroup_limits_what_a_run_plans_with(scope):
    code = "from olbench.memory import available_memory; print(available_memory())"
    found = subprocess.run([*scope, sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(found.stdout) <= 1 << 30
    Path("wide.libsvm").write_text("1 1:1\n-1 20000:1\n" * 10)
    words = ("run", "wide.libsvm", "--algorithms", "arow")
    done = subprocess.run([*scope, sys.executable, "-m", "olbench", *words], capture_output=True, text=True)
    assert done.returncode == 2
    assert "most of it for a full covariance of 20,000 features" in done.stderr


def test_sizes_are_read_and_shown_with_their_units():
    sizes = {"8G": 8 << 30, "512m": 512 << 20, "1.5 GiB": 3 << 29, "100": 100, "2KB": 2048, "1T": 1 << 40}
    assert {text: parse_size(text) for text in sizes} == sizes
    for text in ("", "G", "-1G", "0", "8X", "nan", "1e3", "٣G", "9" * 400):
        with pytest.raises(UserError, match="is not an amount of memory; write for example 512M or 8G"):
            parse_size(text)
    assert (show_size(3 << 30), show_size(1536 << 10)) == ("3.0 GiB", "1.5 MiB")


@pytest.mark.parametrize(
    ("protocol", "key", "message"),
    [
        ("crossval", "epochs", "epochs must be at most 10,000, and 1000000000 is more"),
        ("online", "permutations", "the config asks for 1,000,000,000 trials"),
    ],
)
def test_what_no_run_can_hold_is_refused_with_the_plan(here, config, protocol, key, message):
    path = config(f"protocol: {protocol}\ndatasets: [breast-cancer]\nalgorithms: [perceptron]\n")
    assert message in here.err("run", path, "--dry-run", "--set", f"{key}=1000000000")


def test_more_folds_than_tuning_rows_are_refused(here, config):
    text = "protocol: shards\ndatasets: [breast-cancer]\nalgorithms: [perceptron]\ntest: 50\nshards: [5]\n"
    path = config(text + "tuning: {search: grid, rows: 20, folds: 1000000000}\n")
    err = here.err("run", path, "--dry-run")
    assert "20 tuning rows of breast-cancer cannot be divided into 1,000,000,000 folds" in err


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


def test_weights_of_two_billion_features_are_refused_in_python():
    for algorithm in (make_algorithm("perceptron"), make_algorithm("arow", covariance="diag")):
        with pytest.raises(UserError, match=r"needs .* GiB for 2,000,000,000,000 features"):
            start(algorithm, 2 * 10**12)


@pytest.mark.parametrize("id", ["iellip", "narow2010", "sop-libol"])
def test_the_remedy_is_one_that_the_algorithm_has(id):
    with pytest.raises(UserError, match=f"{id} has no diagonal form: use fewer features"):
        start(make_algorithm(id), 10**6)


def test_a_finished_run_needs_no_memory(here, monkeypatch):
    Path("my.libsvm").write_text("+1 1:0.5 2:1\n-1 1:-0.5 2:3\n" * 6)
    words = ("run", "my.libsvm", "--algorithms", "arow", "--set", "permutations=2")
    assert here(*words, "--quiet")[0] == 0
    monkeypatch.setattr("olbench.engine.resources.memory_limit", lambda: 1)
    assert here.out(*words) == "nothing to do: all 2 trials are in results/my.libsvm\n"
    for other in (("--set", "permutations=3"), ("--out", "empty")):
        assert "needs" in here.err(*words, *other)
