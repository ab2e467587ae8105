"""Measure how `olbench` takes a stream of any size: python tests/measure_stream.py GIGABYTES [stream|cache].

LIBSVM text is made on the fly from a pool of generated documents with up to 10^7 features, drawn at random.
They go through a pipe to `olbench run -` (stream) or `olbench run /dev/stdin` (cache). The anonymous memory
of that process is sampled while it runs. With `cut` as a third word the stream ends within a line.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from olbench.data.synthetic import TextStream

POOL, FEATURES, WORDS = 30_000, 10_000_000, 150


def anonymous_memory(process):
    """Return the anonymous memory of a process in bytes; 0 when it is gone."""
    try:
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
        return int(fields["RssAnon"].split()[0]) * 1024
    except (OSError, KeyError):
        return 0


def measure(size, words, cut=False):
    """Write `size` bytes to the command; return its exit code, peak memory, times, bytes and output."""
    documents = TextStream(features=FEATURES, words=WORDS, exponent=1.05)
    pool = "".join(documents.lines(POOL)).encode().splitlines(True)
    command = [sys.executable, "-m", "olbench", "run", *words]
    started, peak, written = time.perf_counter(), 0, 0
    random = np.random.default_rng(0)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while written < size:
        text = b"".join([pool[k] for k in random.integers(0, POOL, 2000)])
        process.stdin.write(text)
        written += len(text)
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


if __name__ == "__main__":
    gigabytes, kind, *cut = sys.argv[1:]
    target = (
        ["-", "--json", "-q"] if kind == "stream" else ["/dev/stdin", "-j", "1", "--set", "permutations=1"]
    )
    words = [*target, "--algorithms", "arow", "--covariance", "diag"]
    code, peak, times, written, out = measure(float(gigabytes) * 1e9, words, bool(cut))
    print(out)
    facts = {"exit": code, "bytes": written, "peak_anonymous_MB": round(peak / 1e6)}
    print(json.dumps({**facts, **{name: round(value, 1) for name, value in times.items()}}))
