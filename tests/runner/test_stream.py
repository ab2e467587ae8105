"""olbench run -: one pass over a pipe whose size nobody knows, with the counts of a pass over a file."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from olbench import UserError, load_dataset, make_algorithm, online_pass
from olbench.config.specs import AlgorithmSpec, Config, DatasetSpec
from olbench.engine.stream import LineStream, enter
from olbench.memory import limit_memory

RNG = np.random.default_rng(7)


def text(n=2000, d=400, labels=(-1, 1), first=1):
    """Return LIBSVM text whose new features come late, with zeros, comments and empty rows."""
    truth = RNG.standard_normal(d)
    lines = []
    for k in range(n):
        columns = np.unique(RNG.integers(0, 1 + d * (k + 1) // n, 6))
        values = RNG.standard_normal(columns.size).round(2) * (RNG.random(columns.size) < 0.9)
        label = labels[int(values @ truth[columns] > 0)]
        lines.append(
            f"{label} " + " ".join(f"{j + first}:{v:g}" for j, v in zip(columns, values, strict=True))
        )
        if k % 50 == 0:
            lines += ["# a comment", "", f"{labels[k % 2]}"]
    return "\n".join(lines) + "\n"


def entrants(*specs):
    config = Config((DatasetSpec("stdin", "-"),), tuple(AlgorithmSpec(id, options=o) for id, o in specs))
    return enter(config)


DIAGONAL = {"covariance": "diag"}
ALL = [
    ("perceptron", {}), ("pa1", {}), ("averaged-perceptron", {}), ("sgd", {}), ("arow", DIAGONAL),
    ("cw", {**DIAGONAL, "projection": "exact"}), ("scw1", {**DIAGONAL, "projection": "l2", "a": 2.0}),
]  # fmt: skip


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("labels", [(-1, 1), (0, 1), (1, 2)])
def test_the_counts_are_those_of_a_pass_over_a_file(monkeypatch, first, labels):
    monkeypatch.setattr("olbench.data.readers.libsvm.BLOCK", 700)
    content = text(labels=labels, first=first)
    Path("file").write_text(content)
    data = load_dataset("file")
    stream = LineStream(entrants(*ALL), every=500)
    reports = list(stream.run(io.BytesIO(content.encode()), "stdin"))
    assert [report.examples for report in reports] == [500, 1000, 1500, 2000]
    assert (stream.examples, stream.features) == data.X.shape
    for k, (entrant, (id, options)) in enumerate(zip(stream.entrants, ALL, strict=True)):
        expected = online_pass(make_algorithm(id, **options), data.X, data.y, curve=data.y.size)
        learner = entrant.learner
        counts = (learner.mistakes, learner.updates, learner.effective_updates, learner.breakdowns)
        assert counts == (
            expected.mistakes, expected.updates, expected.effective_updates, expected.breakdowns,
        )  # fmt: skip
        np.testing.assert_array_equal(learner.weights[first : first + data.X.shape[1]], expected.weights)
        assert [each.mistakes[k] for each in reports] == expected.curve.mistakes[
            [499, 999, 1499, 1999]
        ].tolist()


def pipe(content, *words):
    """Run the command on a pipe; return exit code, output and errors."""
    command = [sys.executable, "-W", "error", "-m", "olbench", "run", *words]
    done = subprocess.run(command, input=content.encode(), capture_output=True)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_line_of_running_mistakes_comes_whenever_the_examples_double():
    words = ("-", "--algorithms", "arow,averaged-perceptron", "--covariance", "diag")
    code, out, err = pipe(text(1000), *words)
    assert (code, err) == (0, "")
    head, *lines = out.splitlines()
    assert head.split() == ["examples", "arow", "rate", "recent", "averaged-perceptron", "rate", "recent"]
    assert len(head) == len(lines[0])
    assert [line.split()[0] for line in lines[:-2]] == ["100", "200", "400", "800"]
    assert lines[-2].startswith("arow: ")
    assert " mistakes in 1,020 examples (0." in lines[-2]
    assert lines[-1].startswith("averaged-perceptron: ")
    assert not Path("results").exists()


def test_json_is_one_object_and_all_that_standard_output_has():
    words = ("-", "--algorithms", "arow", "--covariance", "diag", "--json", "--every", "300")
    content = text(1000)
    code, out, err = pipe(content, *words)
    found = json.loads(out)
    features = max(int(index) for index in re.findall(r"(\d+):", content))
    assert code == 0
    assert [line.split()[0] for line in err.splitlines()] == ["examples", "300", "600", "900"]
    assert (found["examples"], found["features"], found["stopped"]) == (1020, features, False)
    [row] = found["rows"]
    assert row["algorithm"] == "arow"
    assert row["mistake_rate"] == row["mistakes"] / 1020


def test_compressed_streams_are_recognised():
    import gzip

    command = [sys.executable, "-m", "olbench", "run", "-", "--algorithms", "perceptron", "-q"]
    plain = text(200)
    done = [subprocess.run(command, input=raw, capture_output=True).stdout
            for raw in (plain.encode(), gzip.compress(plain.encode()))]  # fmt: skip
    assert done[0] == done[1] != b""


def learn(content, *specs, **settings):
    stream = LineStream(entrants(*(specs or [("perceptron", {})])), **settings)
    return list(stream.run(io.BytesIO(content.encode()), "stdin"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("+1 1:1\n-1 2:1\n+1 3:", "stdin:3:4: '3:' has no value after its colon"),
        ("+1 1:1\n\n# note\n-1 2:x\n", "stdin:4:4: value 'x' of feature 2 is not a number"),
        ("", "stdin contains no examples"),
        ("# nothing\n", "stdin contains no examples"),
        ("1 1:1\n1 2:1\n", "stdin: every example has the label 1; two distinct labels are needed"),
        ("+1 1:1\n-1 1:2\n\n# note\n5 3:1\n", "stdin:5: label 5 is one more than 2 labels; say which labels"),
        ("5 1:1\n" * 3, "stdin:1: the stream begins with the label 5 alone; say which labels are positive"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(content, message):
    with pytest.raises(UserError) as error:
        learn(content)
    assert str(error.value).startswith(message)


def test_a_later_block_that_contradicts_the_signs_so_far_is_refused(monkeypatch):
    monkeypatch.setattr("olbench.data.readers.libsvm.BLOCK", 40)
    with pytest.raises(UserError, match=r"stdin:31: label 2 comes after 1 alone; say which"):
        learn("1 1:1\n" * 30 + "2 1:1\n")
    # 1 was taken for positive, which the other label confirms.
    for other in (0, -1):
        learn("1 1:1\n" * 30 + f"{other} 1:1\n")
        learn(f"{other} 1:1\n" * 30 + "1 1:1\n")


def test_any_labels_can_be_chosen(monkeypatch):
    monkeypatch.setattr("olbench.data.readers.libsvm.BLOCK", 40)
    content = "".join(f"{k % 5} {k % 7 + 1}:1\n" for k in range(300))
    Path("file").write_text(content)
    data = load_dataset("file", positive=[1, 3])
    [report] = learn(content, positive=[1, 3], every=300)
    assert report.mistakes == (online_pass(make_algorithm("perceptron"), data.X, data.y).mistakes,)


def test_an_index_that_memory_has_no_room_for_is_refused_with_its_line():
    content = "+1 1:1\n-1 2:1\n\n+1 3:1 2147483646:1\n"
    with limit_memory(1 << 30), pytest.raises(UserError) as error:
        learn(content, ("arow", DIAGONAL))
    assert str(error.value).startswith(
        "stdin:4: index 2147483646 needs 48.0 GiB for the learners, and 1.0 GiB"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--algorithms", "arow"], "arow must know the number of features before the first example, which a "
         "stream does not tell; use covariance='diag'"),
        (["--algorithms", "perceptron", "--set", "tuning.search=grid"], "a stream passes only once"),
        (["--algorithms", "perceptron", "--out", "x"], "--timing do not go with -"),
    ],
)  # fmt: skip
def test_what_a_stream_cannot_do_is_refused(here, words, message):
    code, out, err = here("run", "-", *words)
    assert (code, out) == (2, "")
    assert message in err


def test_a_config_cannot_name_standard_input(here, config):
    code, _, err = here("run", config("datasets: ['-']\nalgorithms: [perceptron]\n"))
    assert code == 2
    assert "a config cannot read standard input, which passes only once" in err


def test_the_options_of_a_stream_go_with_a_stream_only(here):
    code, _, err = here("run", "breast-cancer", "--algorithms", "perceptron", "--json")
    assert (code, "--every and --json go with -" in err) == (2, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_with_the_counts_so_far(number):
    command = [sys.executable, "-m", "olbench", "run", "-", "--algorithms", "perceptron", "--json"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdin.write(text(400))
    process.stdin.flush()
    while "400" not in process.stderr.readline():
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "olbench: stopped after 408 examples\n"
    assert json.loads(out)["stopped"] is True
    assert json.loads(out)["rows"][0]["examples"] == 408


def start_stream(*words):
    command = [sys.executable, "-m", "olbench", "run", "-", "--json", "--algorithms", *words]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    # Tests in the background of a shell ignore Ctrl-C, and so would the command.
    hear = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(command, text=True, preexec_fn=hear, **pipes)


def test_ctrl_c_stops_a_rule_that_loops_for_ever():
    Path("mine.py").write_text(
        "from olbench import first_order\n@first_order('endless')\n"
        "def endless(m, s, mistake, q, t, k, p):\n    while t > 250:\n        q += 1.0\n"
        "    return 1.0 - m, 1.0, 0.1\n"
    )
    with start_stream("endless", "--plugin", "mine.py") as process:
        process.stdin.write("1 1:1\n-1 2:1\n" * 100)
        process.stdin.flush()
        while "200" not in process.stderr.readline():
            time.sleep(0.01)
        process.stdin.write("1 1:1\n-1 2:1\n" * 100)
        process.stdin.flush()
        time.sleep(1)  # it reaches the loop
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 130
    assert err.startswith("olbench: stopped after 2")
    assert json.loads(out)["stopped"] is True


def test_ctrl_c_stops_a_stream_that_has_not_begun():
    with start_stream("perceptron") as process:
        time.sleep(4)  # it loads or compiles the kernel; nothing says when it is done
        try:
            for _ in range(20):  # as long as the pipe is open; an import may swallow the first
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=2)
                    break
            assert process.returncode == 130
        finally:
            process.kill()
        assert process.stderr.read().strip().startswith("olbench: stopped")


def test_a_pipe_is_read_into_the_cache_and_runs_like_a_file(olbench, records, cache_entries):
    content = text(500)
    Path("file.libsvm").write_text(content)
    words = ("--algorithms", "arow", "--covariance", "diag", "--set", "permutations=2")
    code, out, err = pipe(content, "/dev/stdin", *words)
    assert code == 0, err
    assert "2 trials run, 0 reused; the record is in results/stdin" in out
    assert len(cache_entries()) == 1
    # The same content is the same entry, as a pipe and as a file.
    assert "nothing to do" in pipe(content, "/dev/stdin", *words)[1]
    assert olbench("run", "file.libsvm", *words).returncode == 0
    assert len(cache_entries()) == 1
    assert records("results/stdin")[0]["fingerprint"] == records("results/file.libsvm")[0]["fingerprint"]
    assert olbench("report", "results/stdin").returncode == 0


@pytest.fixture
def cache_entries():
    """Return a function that lists the entries of the cache."""
    return lambda: list(Path(os.environ["OLBENCH_CACHE"]).glob("parsed/*"))


SHOP = "size,colour,sold\n1,red,no\n2,blue,yes\n3,red,no\n5,red,yes\n"


def test_a_table_on_standard_input_runs_like_its_file(olbench, records, monkeypatch):
    Path("shop.csv").write_text(SHOP)
    words = ("--algorithms", "perceptron", "--categorical", "onehot", "--set", "permutations=2")
    assert olbench("run", "shop.csv", *words).returncode == 0
    code, out, err = pipe(SHOP, "-", *words)
    assert code == 0, err
    assert "the record is in results/stdin" in out
    assert records("results/stdin")[0]["fingerprint"] == records("results/shop.csv")[0]["fingerprint"]
    # Also with its options after the fact, as a file of this name, and again from the record.
    assert "nothing to do" in pipe(SHOP, "/dev/stdin", *words)[1]
    key = records("results/stdin")[0]["key"]
    assert olbench("verify", "results/stdin", "--trial", key).returncode == 0
    code, _, err = pipe(SHOP, "-", "--algorithms", "perceptron")
    assert code == 2
    assert "stdin:2: column 'colour' has the text 'red', where a number is expected" in err
    code, _, err = pipe("+1 1:1\n", "-", "--algorithms", "perceptron", "--scale", "unit")
    assert (code, "write a file for --scale" in err) == (2, True)
    monkeypatch.setenv("OLBENCH_CACHE", "/proc/none")
    code, _, err = pipe(SHOP, "-", *words)
    assert (code, "set OLBENCH_CACHE to a writable folder" in err) == (2, True)


def test_info_and_python_read_a_table_from_a_pipe():
    command = [sys.executable, "-m", "olbench", "data", "info", "-", "--categorical", "onehot"]
    done = subprocess.run(command, input=SHOP, capture_output=True, text=True)
    assert "4 rows, 2 features\nlabels: column 'sold'" in done.stdout
    assert "read as 4 x 3" in done.stdout
    os.mkfifo("pipe")
    writer = Thread(target=lambda: Path("pipe").write_text(SHOP))
    writer.start()
    data = load_dataset("pipe", label="size", positive=5, categorical="drop", columns={"sold": "onehot"})
    writer.join()
    assert data.about.features == ("sold=no", "sold=yes")
    assert data.y.tolist() == [-1, -1, -1, 1]


def test_a_pipe_that_is_cut_leaves_nothing_behind(cache_entries):
    code, _, err = pipe("+1 1:1\n-1 2:1\n+1 3", "/dev/stdin", "--algorithms", "perceptron")
    assert (code, err) == (2, "olbench: stdin:3:4: '3' is not an index:value pair\n")
    assert cache_entries() == []


def test_python_reads_a_pipe_and_the_folder_of_an_entry():
    os.mkfifo("pipe")
    content = text(300)
    Path("file").write_text(content)
    writer = subprocess.Popen(["cp", "file", "pipe"])
    data = load_dataset("pipe")
    assert writer.wait() == 0
    assert (data.name, data.fingerprint) == ("pipe", load_dataset("file").fingerprint)
    (folder,) = Path(os.environ["OLBENCH_CACHE"]).glob("parsed/*")
    assert load_dataset(folder).fingerprint == data.fingerprint
    with pytest.raises(UserError, match="its labels were chosen when it was read"):
        load_dataset(folder, positive=1)
