"""Measure how `olbench` takes text of any size: python tests/measure_stream.py GIGABYTES stream|cache|reader.

LIBSVM text is made on the fly from a pool of generated documents with up to 10^7 features, drawn at random.
They go through a pipe to `olbench run -` (stream) or `olbench run /dev/stdin` (cache). The anonymous memory
of that process is sampled while it runs. With `cut` as a third word the stream ends within a line.
`reader` compares the conversion in blocks with reading a file into memory and storing it then, both into an
empty cache, by turns, in megabytes of text per second of CPU time.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

POOL, FEATURES, WORDS = 30_000, 10_000_000, 150


def anonymous_memory(process):
    """Return the anonymous memory of a process in bytes; 0 when it is gone."""
    try:
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
        return int(fields["RssAnon"].split()[0]) * 1024
    except (OSError, KeyError):
        return 0


def document(random):
    """Return a line of LIBSVM text: counts of words whose frequencies follow Zipf's law."""
    words = random.zipf(1.05, 1 + random.poisson(WORDS - 1)) % FEATURES + 1
    columns, counts = np.unique(words, return_counts=True)
    entries = " ".join(f"{c}:{k}" for c, k in zip(columns.tolist(), counts.tolist(), strict=True))
    return f"{random.choice([-1, 1]):+d} {entries}\n".encode()


def pieces(size):
    """Yield LIBSVM text of at least `size` bytes, a few megabytes at a time."""
    random, made = np.random.default_rng(0), 0
    pool = [document(random) for _ in range(POOL)]
    while made < size:
        text = b"".join([pool[k] for k in random.integers(0, POOL, 2000)])
        made += len(text)
        yield text


def measure(size, words, cut=False):
    """Write `size` bytes to the command; return its exit code, peak memory, times, bytes and output."""
    command = [sys.executable, "-m", "olbench", "run", *words]
    started, peak, written = time.perf_counter(), 0, 0
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for text in pieces(size):
        written += process.stdin.write(text)
        peak = max(peak, anonymous_memory(process.pid))
    if cut:
        written += process.stdin.write(b"+1 3:1 17:")
    process.stdin.close()
    while process.poll() is None:
        peak = max(peak, anonymous_memory(process.pid))
        time.sleep(0.01)
    out, err = (pipe.read().decode() for pipe in (process.stdout, process.stderr))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    times = {"seconds": time.perf_counter() - started, "cpu_seconds": used.ru_utime + used.ru_stime}
    return process.returncode, peak, times, written, out + err


def compare_readers(size, rounds=3):
    """Print the speed of the two ways from a file to the cache."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text")
        with open(path, "wb") as file:
            file.writelines(pieces(size))
        speeds = {"blocks": [], "memory": []}
        for _ in range(rounds):
            for way, found in speeds.items():
                command = [sys.executable, "-c", WAYS[way], str(path)]
                environment = {**os.environ, "OLBENCH_CACHE": f"{folder}/cache"}
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                found.append(path.stat().st_size / 1e6 / float(done.stdout))
                shutil.rmtree(f"{folder}/cache")
    print(json.dumps({way: sorted(map(round, found)) for way, found in speeds.items()}))


WARM = """
import sys, time
from pathlib import Path
from olbench import load_dataset
from olbench.data import cache, entries
Path(sys.argv[1] + ".warm").write_text("+1 1:1\\n-1 2:1\\n")
"""
TIMED = """
load_dataset(sys.argv[1] + ".warm")
started = time.process_time()
load_dataset(sys.argv[1])
print(time.process_time() - started)
"""
IN_MEMORY = """
def read_and_keep(entry, paths, where, key):
    return cache.keep(key, entries.read_examples(entry, paths, where))
entries._convert = read_and_keep
"""
WAYS = {"blocks": WARM + TIMED, "memory": WARM + IN_MEMORY + TIMED}


if __name__ == "__main__":
    gigabytes, kind, *cut = sys.argv[1:]
    if kind == "reader":
        compare_readers(float(gigabytes) * 1e9)
        sys.exit()
    target = (
        ["-", "--json", "-q"] if kind == "stream" else ["/dev/stdin", "-j", "1", "--set", "permutations=1"]
    )
    words = [*target, "--algorithms", "arow", "--covariance", "diag"]
    code, peak, times, written, out = measure(float(gigabytes) * 1e9, words, bool(cut))
    print(out)
    facts = {"exit": code, "bytes": written, "peak_anonymous_MB": round(peak / 1e6)}
    print(json.dumps({**facts, **{name: round(value, 1) for name, value in times.items()}}))
