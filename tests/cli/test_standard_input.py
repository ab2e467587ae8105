"""olbench run -: a pipe is copied to the cache, and its rows run once, in their order."""

import gzip
import os
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

from olbench import load_dataset
from olbench.data.load import keep_pipe
from olbench.data.spec import Reading
from tests.cases import for_each

pytestmark = pytest.mark.usefixtures("own_folder")

RNG = np.random.default_rng(7)


def text(n=2000, labels=(-1, 1)):
    """Return LIBSVM text whose new features come late, with zeros, comments and empty rows."""
    lines = []
    for k in range(n):
        columns = np.unique(RNG.integers(0, 1 + 400 * (k + 1) // n, 6))
        values = RNG.standard_normal(columns.size).round(2) * (RNG.random(columns.size) < 0.9)
        pairs = (f"{j + 1}:{v:g}" for j, v in zip(columns, values, strict=True))
        lines.append(f"{labels[int(values.sum() > 0)]} {' '.join(pairs)}")
        if k % 50 == 0:
            lines += ["# a comment", "", f"{labels[k % 2]}"]
    return "\n".join(lines) + "\n"


def pipe(content, *words):
    """Run the command on a pipe; return exit code, output and errors."""
    content = content if isinstance(content, bytes) else content.encode()
    command = [sys.executable, "-W", "error", "-m", "olbench", "run", *words]
    done = subprocess.run(command, input=content, capture_output=True)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def cache_entries():
    return list(Path(os.environ["OLBENCH_CACHE"]).glob("parsed/*"))


def counts_of(found):
    names = ("fingerprint", "n", "mistakes", "updates", "labels")
    return {record["algorithm"]: [record[name] for name in names] for record in found}


@pytest.mark.parametrize(
    ("labels", "pack"), [((0, 1), str.encode), ((1, 2), lambda text: gzip.compress(text.encode()))]
)
def test_standard_input_counts_as_a_stream_from_a_file_does(here, records, labels, pack):
    content = text(labels=labels)
    Path("file.libsvm").write_text(content)
    words = ("--algorithms", "perceptron,arow", "--covariance", "diag", "--delay", "3")
    assert here("run", "file.libsvm", "--stream", *words)[0] == 0
    code, out, err = pipe(pack(content), "-", *words)
    assert code == 0, err
    assert "the record is in results/stdin" in out
    found = counts_of(records("results/stdin"))
    assert found == counts_of(records("results/file.libsvm"))
    assert set(found) == {"perceptron", "arow", "no-change", "majority-so-far"}


def test_a_pipe_is_copied_piece_by_piece(monkeypatch):
    """What is in memory at a time is a piece, whatever the size of the pipe."""
    monkeypatch.setattr("olbench.data.compressed.READ_AT_ONCE", 100)
    os.mkfifo("pipe")
    content = text(300)
    writer = Thread(target=lambda: Path("pipe").write_text(content))
    writer.start()
    file = keep_pipe("pipe", Reading())
    writer.join()
    assert (file.name, file.read_text()) == ("pipe", content)
    assert not cache_entries()


@for_each(
    ("content", "words", "message"),
    [
        ("+1 1:1\n-1 2:1\n+1 3:", (), "stdin:3:4: '3:' has no value after its colon"),
        ("", (), "stdin contains no examples"),
        ("1 1:1\n1 2:1\n", (), "two distinct labels"),
        ("+1 1:1\n-1 2:1\n", ("--set", "permutations=2"), "permutations does not apply"),
        ("+1 1:1\n-1 2147483646:1\n", ("--memory", "1G"), "perceptron on stdin needs"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(content, words, message):
    code, out, err = pipe(content, "-", "--algorithms", "perceptron", "--quiet", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not Path("results").exists()
    if message.startswith("stdin:"):  # a pipe that is cut leaves nothing behind
        assert not cache_entries()


def test_a_config_cannot_name_standard_input(here, config):
    err = here.err("run", config("datasets: ['-']\nalgorithms: [perceptron]\n"))
    assert "small.yaml:1: a config cannot read standard input; name a file" in err


def test_ctrl_c_stops_the_wait_for_a_pipe():
    # Tests in the background of a shell ignore Ctrl-C, and so would the command.
    hear = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    command = [sys.executable, "-m", "olbench", "run", "-", "--algorithms", "perceptron"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hear) as process:
        time.sleep(4)  # nothing says when it reads
        try:
            for _ in range(20):  # an import may swallow the first
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=2)
                    break
            assert process.returncode == 130
        finally:
            process.kill()
    assert not list(Path(os.environ["OLBENCH_CACHE"]).glob("*/*"))


def test_a_pipe_is_read_into_the_cache_and_runs_like_a_file(here, records):
    content = text(500)
    Path("file.libsvm").write_text(content)
    words = ("--algorithms", "arow", "--covariance", "diag", "--set", "permutations=2")
    code, out, err = pipe(content, "/dev/stdin", *words)
    assert code == 0, err
    assert "2 trials run, 0 reused; the record is in results/stdin" in out
    assert len(cache_entries()) == 1
    # The same content is the same entry, as a pipe and as a file.
    assert "nothing to do" in pipe(content, "/dev/stdin", *words)[1]
    assert here("run", "file.libsvm", *words)[0] == 0
    assert len(cache_entries()) == 1
    assert records("results/stdin")[0]["fingerprint"] == records("results/file.libsvm")[0]["fingerprint"]
    assert here("report", "results/stdin")[0] == 0


SHOP = "size,colour,sold\n1,red,no\n2,blue,yes\n3,red,no\n5,red,yes\n"


def test_a_table_on_standard_input_is_a_stream(here, records, monkeypatch):
    Path("shop.csv").write_text(SHOP)
    words = ("--algorithms", "perceptron", "--categorical", "onehot")
    assert here("run", "shop.csv", "--stream", *words)[0] == 0
    code, out, err = pipe(SHOP, "-", *words)
    assert code == 0, err
    assert "the record is in results/stdin" in out
    assert counts_of(records("results/stdin")) == counts_of(records("results/shop.csv"))
    assert "nothing to do" in pipe(SHOP, "/dev/stdin", "--stream", *words)[1]
    key = records("results/stdin")[0]["key"]
    assert here("verify", "results/stdin", "--trial", key)[0] == 0
    code, _, err = pipe(SHOP, "-", "--algorithms", "perceptron")
    assert code == 2
    assert "stdin:2: column 'colour' has the text 'red', where a number is expected" in err
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
