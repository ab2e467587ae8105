"""The command line answers at once, exits with the agreed codes and says what is wrong."""

import itertools
import json
import os
import re
import subprocess
import sys

import click
import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from olbench import UserError, make_algorithm, online_pass
from olbench.algorithms import definitions, get_definition
from olbench.algorithms.options import list_ways
from olbench.bench import cases, peers
from olbench.bench.plain_c import IDS, find_compiler, plain_c
from olbench.cli import cli

HEAVY = ("numba", "pandas", "matplotlib", "sklearn", "scipy", "rich")


def olbench(*words, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "olbench", *words],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=cwd,
        env={**os.environ, "COLUMNS": "100", **environment},
    )  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        "import olbench",
        "import olbench.cli; olbench.cli.cli(['--help'], standalone_mode=False)",
        "import olbench.cli; olbench.cli.cli(['bench', '--help'], standalone_mode=False)",
        "import olbench.cli; olbench.cli.cli(['algorithms', '--help'], standalone_mode=False)",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code):
    code += f"\nimport sys\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_public_names_are_all_there():
    import olbench

    for name in olbench.__all__:
        assert getattr(olbench, name) is not None
        assert name in dir(olbench)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = olbench.nothing


def test_help_lists_the_commands_with_examples():
    done = olbench("--help")
    assert done.returncode == 0
    for word in ("algorithms", "Examples:", "Everyday:"):
        assert word in done.stdout


def walk_commands(command, words=()):
    """Yield every command and command of a group, by its words."""
    yield words
    context = click.Context(command)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        yield from walk_commands(command.get_command(context, name), (*words, name))


def test_no_line_of_any_help_is_wider_than_a_terminal():
    pages = {
        words: CliRunner().invoke(cli, [*words, "--help"], terminal_width=80) for words in walk_commands(cli)
    }
    assert {("run",), ("data", "fetch")} <= pages.keys()
    wide = [line for page in pages.values() for line in page.output.splitlines() if len(line) > 80]
    assert wide == []


def test_the_version_is_printed():
    from olbench import __version__

    assert olbench("--version").stdout == f"olbench, version {__version__}\n"


def test_the_table_of_algorithms_has_ids_parameters_traits_and_papers():
    done = olbench("algorithms", COLUMNS="160")
    assert done.returncode == 0
    [line] = [line for line in done.stdout.splitlines() if line.startswith("scw1 ")]
    assert line.split() == ["scw1", "SCW-I", "second", "C=1,", "eta=0.75", "LCNA", "native",
                            "scw2012,", "eq.", "(4)", "and", "Proposition", "1"]  # fmt: skip
    assert sum(" second " in line or " first " in line for line in done.stdout.splitlines()) == 31


def test_a_narrow_table_of_algorithms_keeps_ids_and_parameters_and_says_what_it_lacks():
    lines = olbench("algorithms", COLUMNS="60").stdout.splitlines()
    assert max(map(len, lines)) <= 60
    assert any(line.split() == ["scw1", "C=1,", "eta=0.75"] for line in lines)
    assert "Not shown in this width: name, order, traits, classes, source." in " ".join(lines)


def test_every_output_flag_has_a_short_form():
    from olbench.cli import VERBS, cli

    flags = {}
    for verb in VERBS:
        commands = [cli.get_command(None, verb)]
        for command in commands:
            commands.extend(getattr(command, "commands", {}).values())
            outputs = [each.opts for each in command.params if "--output" in each.opts]
            flags.update(((verb, command.name), opts) for opts in outputs)
            names = [name for each in command.params for name in each.opts]
            assert len(set(names)) == len(names), command.name
    assert len(flags) > 10
    assert [verb for verb, opts in flags.items() if "-o" not in opts] == []


def test_options_without_a_choice_have_no_default():
    done = olbench("algorithms", "arow-libol")
    assert "runs with   multiclass: native; covariance: shared\n" in done.stdout
    assert "the first is the default" not in done.stdout


def test_one_algorithm_in_detail():
    done = olbench("algorithms", "arow")
    assert done.returncode == 0
    assert "parameter   r = 1, in (0, inf)" in done.stdout
    assert "searched over 0.0625, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16" in done.stdout
    assert "large margin, confidence, non-separable" in done.stdout
    assert "runs with   covariance: full; form: covariance, root (the first is the default)" in done.stdout
    assert "            covariance: full; kernel: linear, rbf, poly" in done.stdout
    assert "            covariance: diag; projection: kl, l2" in done.stdout
    assert "            multiclass: native; covariance: block, shared" in done.stdout
    assert "            multiclass: native; covariance: diag; projection: kl, l2" in done.stdout


@pytest.mark.parametrize("id", [each.id for each in definitions() if each.order == "second"])
def test_an_algorithm_runs_in_every_way_that_is_listed_and_in_no_other(id):
    X, y = np.array([[1.0, 2.0], [2.0, -1.0], [-1.0, 0.5]]), np.array([1.0, -1.0, 1.0])
    listed = {
        frozenset({"covariance": way["covariance"][0], name: value}.items())
        for way in list_ways(get_definition(id))
        for name in way
        for value in way[name]
        if name != "covariance"
    }
    every = {"form": ["covariance", "root"], "kernel": ["linear", "rbf", "poly"]}
    every |= {"projection": ["kl", "l2", "exact"]}
    for covariance, (name, values) in itertools.product(("full", "diag"), every.items()):
        for value in values if (covariance, name) != ("full", "projection") else ():
            options = {"covariance": covariance, name: value}
            if frozenset(options.items()) in listed:
                assert online_pass(make_algorithm(id, **options), X, y).n == 3
            else:
                with pytest.raises(UserError):
                    make_algorithm(id, **options)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["algorithms", "scw3"], "olbench: unknown algorithm 'scw3' (did you mean 'scw"),
        (["algoritms"], "olbench: there is no command 'algoritms' (did you mean 'algorithms'?)"),
        (["algorithms", "--plugin", "none.py"], "olbench: there is no plugin file none.py"),
    ],
)
def test_mistakes_get_one_sentence_and_exit_code_2(words, message):
    done = olbench(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run"], "CONFIG|DATA"),
        (["run", "quick", "--job", "2"], "--jobs"),
        (["run", "quick", "--timing", "share"], "'exclusive'"),
        (["run", "quick", "--jobs", "0"], "0 is not in the range"),
        (["run", "quick", "--jobs"], "'--jobs' requires an argument"),
        (["list", "more"], "unexpected extra argument (more)"),
    ],
)
def test_a_wrong_command_line_is_refused_in_the_words_of_click(words, message):
    done = olbench(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_debug_shows_where_an_error_comes_from():
    assert "Traceback" in olbench("--debug", "algorithms", "scw3").stderr


def test_bench_writes_ratios(tmp_path):
    done = olbench(
        "bench", "--case", "dense-54", "--scale", "0.01", "--repeats", "1", "--output", "b.json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "b.json").read_text())
    names = [timing["contestant"] for timing in record["timings"]]
    assert names[:2] == ["arow", "arow: plain NumPy loop"]
    assert all(timing["ratio"] > 0 for timing in record["timings"])
    assert record["machine"]["numba"]
    assert "its time / ours" in done.stdout


def test_bench_peers_of_several_classes_count_the_same_mistakes():
    passes = cases.several_classes(4)(300, 8)
    assert {"arow", "arow: one-vs-rest", "arow: NumPy loop", "pa1: NumPy loop"} <= set(passes)
    for id in ("arow", "pa1"):
        assert passes[id]().mistakes == passes[f"{id}: NumPy loop"]()
        assert passes[f"{id}: one-vs-rest"]().mistakes > 0


def test_bench_peers_count_the_same_mistakes():
    X, y = cases.dense(400, 10)
    for id in ("arow", "scw1"):
        counted = {
            run()
            for run in (peers.kernel(id, X, y), peers.numpy_loop(id, X, y), peers.tuned_numpy_loop(id, X, y))
        }
        assert len(counted) == 1


@pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")
@pytest.mark.parametrize("id", IDS)
def test_plain_c_counts_the_same_mistakes(id):
    """In every storage and in another order, up to roundings that a sum in any order may change."""
    X, y = cases.dense(2000, 30, density=0.2)
    sparse, order = sp.csr_matrix(X), np.random.default_rng(0).permutation(len(y))
    pairs = [(peers.kernel(id, each, y, order), plain_c(id, each, y, order)) for each in (X, sparse)]
    if id in ("arow", "scw1"):
        diagonal = peers.kernel(id, sparse, y, covariance="diag")
        pairs.append((diagonal, plain_c(id, sparse, y, diagonal=True)))
    for ours, peer in pairs:
        assert abs(ours() - peer()) <= 1


def test_bench_says_that_there_is_no_compiler(tmp_path):
    done = olbench(
        "bench", "--case", "dense-8", "--peer", "plain c", "--scale", "0.001", "--repeats", "1",
        cwd=tmp_path, PATH=str(tmp_path), CC="",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "not available" in done.stdout
    assert "no C compiler" in done.stdout


def test_bench_runs_on_real_data_and_prints_json(tmp_path):
    done = olbench("bench", "--data", "breast-cancer", "--repeats", "1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = [timing["contestant"] for timing in json.loads(done.stdout)["timings"]]
    assert names[:2] == ["arow", "arow: natural order"]


def test_bench_shows_where_the_time_of_a_diagonal_pass_goes(tmp_path, here):
    out = tmp_path / "b.json"
    words = ("--case", "diagonal-300", "--peer", "part", "--scale", 0.001, "--repeats", 1, "--output", out)
    assert here("bench", *words)[0] == 0
    names = [timing["contestant"] for timing in json.loads(out.read_text())["timings"]]
    parts = ("rows", "state", "margin and variance", "rule")
    assert names[:5] == ["arow", *(f"arow: part up to {part}" for part in parts)]


def test_the_memory_floor_reads_every_line_of_every_row():
    """Dense and sparse, in any order: the rows have as many entries as fill two lines and a bit."""
    from olbench.bench.parts import touch_rows
    from olbench.learn.examples import as_examples

    X, y = np.ones((30, 17)), np.ones(30)
    order = np.random.default_rng(0).permutation(30)
    # Per row: the label, the norm, one entry for each line that begins in the row, and the last one.
    for storage, columns in ((np.asarray, 0), (sp.csr_matrix, 16 + 16)):
        total = touch_rows(as_examples(storage(X)).rows(), y, order)
        assert total == 30 * (1 + 17 + 3 + 1 + columns)


def test_the_floors_do_the_work_that_they_stand_for():
    """A tile sums one product per step; a chain ends with the margin of as many steps."""
    from olbench.bench.floors import DEPTH, follow_chain, multiply_tiles
    from olbench.kernels.blocked import ROWS_PER_SWEEP
    from olbench.kernels.vectors import WIDEST

    left, right = np.ones((DEPTH, ROWS_PER_SWEEP)), np.full((DEPTH, WIDEST), 2.0)
    target = np.zeros((ROWS_PER_SWEEP, WIDEST))
    multiply_tiles(left, right, target, 3)
    assert (target == 2.0 * DEPTH).all()
    x, columns = np.full(9, 1.0 / 3.0), np.arange(9, dtype=np.uint32)
    # Each step leaves 1 - 1/1000 of what is missing; the last margin is of the state before its own step.
    assert follow_chain(columns, x, np.zeros(9), 500) == pytest.approx(1.0 - 0.999**499)
    X, y = cases.dense(300, 8)
    kinds = ("arithmetic", "memory", "chain")
    for settings in ({}, {"covariance": "diag"}):
        floors = cases.floors("arow", X, y, **settings)
        assert list(floors) == [f"arow: {kind} floor" for kind in kinds]
        changes = online_pass(make_algorithm("arow", **settings), X, y).effective_updates
        last = floors["arow: chain floor"]()
        assert last == pytest.approx(1.0 - 0.999 ** (changes - 1))


def test_bench_shows_the_largest_floor_of_each_pass(tmp_path, here):
    words = ("--case", "dense-8", "--peer", "floor", "--scale", "0.02", "--repeats", "1")
    code, out, err = here("bench", *words, "--output", tmp_path / "bench.json")
    assert code == 0, err
    timings = json.loads((tmp_path / "bench.json").read_text())["timings"]
    largest = max(t["ratio"] for t in timings if t["contestant"].startswith("pa1: "))
    [row] = [line for line in out.splitlines() if line.startswith("dense-8 ")]
    assert re.fullmatch(r"dense-8( +[\d,]+ \(\d+\.\d\d [amc]\)){4}", row), row
    assert f"({largest:.2f} " in row.rsplit("  ", 1)[1]
    assert "the largest floor: a = arithmetic, m = memory, c = chain" in out


def test_the_peers_of_a_bench_run_on_one_thread():
    """In a process of its own: here, other tests have loaded every library already."""
    code = (
        "from threadpoolctl import threadpool_info, threadpool_limits\n"
        "from olbench.bench import peers\n"
        "with threadpool_limits(1):\n"
        "    peers.blas_floor(9, 1)()\n"
        "    print(*[each['num_threads'] for each in threadpool_info()])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"1"}


def test_bench_reads_a_file_of_ones_own(tmp_path, here):
    path, out = tmp_path / "own.libsvm", tmp_path / "b.json"
    path.write_text("+1 1:1 3:0.5\n-1 2:2\n" * 500)
    code, shown, _ = here("bench", "--case", "reader", "--data", path, "--repeats", 1, "--output", out)
    assert code == 0
    assert "reader: n = 1,000, d = 3, own.libsvm" in shown
    timings = json.loads(out.read_text())["timings"]
    assert [timing["contestant"] for timing in timings] == [
        *("read", "read: scikit-learn", "read: memory floor")
    ]
    assert here("bench", "--case", "text", "--data", path)[0] == 2


def test_the_shell_completes_verbs():
    asked = {"_OLBENCH_COMPLETE": "bash_complete", "COMP_WORDS": "olbench rep", "COMP_CWORD": "1"}
    code = "import sys; sys.argv = ['olbench']; import olbench.cli; olbench.cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | asked
    )
    assert done.stdout == "plain,report\n"


def test_plain_c_leaves_the_arithmetic_of_the_process_alone():
    """A library that is linked with -ffast-math turns off subnormal numbers for everybody."""
    from olbench.bench.plain_c import load_library

    load_library()
    smallest = np.nextafter(0.0, 1.0)
    assert smallest > 0.0
    assert np.array([smallest])[0] * 1.0 == smallest
    assert smallest / 2.0 == 0.0


def test_the_reader_is_not_measured_on_a_compressed_file(here, tmp_path):
    import gzip

    path = tmp_path / "small.gz"
    path.write_bytes(gzip.compress(b"+1 1:1\n-1 2:1\n"))
    code, _, err = here("bench", "--case", "reader", "--data", path, "--output", tmp_path / "bench.json")
    assert (code, err) == (
        2, f"olbench: {path} is compressed; unpack it, so that only the reader is measured\n"
    )  # fmt: skip
