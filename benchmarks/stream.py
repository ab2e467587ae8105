"""The memory of `olbench run -` on text of any size: `python -m benchmarks.stream GIGABYTES`.

LIBSVM text of made-up documents with up to 10^7 features goes through a pipe to the command. Its anonymous
memory, which mapped pages of the cache are not part of, is sampled while it runs.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

POOL, FEATURES, WORDS = 30_000, 10_000_000, 150
COMMAND = ["run", "-", "--algorithms", "arow", "--set", "covariance=diag", "-q"]


def make_document(rng: np.random.Generator) -> bytes:
    """Return a line of LIBSVM text: counts of words whose frequencies follow Zipf's law."""
    words = rng.zipf(1.05, 1 + rng.poisson(WORDS - 1)) % FEATURES + 1
    columns, counts = np.unique(words, return_counts=True)
    entries = " ".join(f"{c}:{k}" for c, k in zip(columns.tolist(), counts.tolist(), strict=True))
    return f"{rng.choice([-1, 1]):+d} {entries}\n".encode()


def make_text(size: float) -> Iterator[bytes]:
    """Yield at least `size` bytes, a few megabytes at a time."""
    rng, made = np.random.default_rng(0), 0
    pool = [make_document(rng) for _ in range(POOL)]
    while made < size:
        text = b"".join([pool[k] for k in rng.integers(0, POOL, 2000)])
        made += len(text)
        yield text


def anonymous_memory(process: int) -> int:
    """Return the anonymous memory of a process in bytes; 0 of one that has ended."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0)


def main(gigabytes: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "olbench", *COMMAND]
        environment = {**os.environ, "OLBENCH_CACHE": f"{folder}/cache"}
        process = subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.PIPE)
        peak = written = 0
        for text in make_text(gigabytes * 1e9):
            written += process.stdin.write(text)
            peak = max(peak, anonymous_memory(process.pid))
        process.stdin.close()
        while process.poll() is None:
            peak = max(peak, anonymous_memory(process.pid))
            time.sleep(0.01)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"exit code {process.returncode}, {written / 1e9:.2f} GB of text, peak {peak / 1e6:.0f} MB")
    print(f"{used.ru_utime + used.ru_stime:.0f} s of processor time")


if __name__ == "__main__":
    main(float(sys.argv[1]))
