"""What training in shards costs: speed of a pass, of listing features and of adding models, and their bytes.

    python -m benchmarks.shards
    python -m benchmarks.shards --dataset corpus-rare-million --examples 1000000

measures one core, in CPU seconds so that other processes matter little, and carries the figures to 10^9
examples with 10^8 features on 1,000 workers by arithmetic. docs/papers/cw2012.md refers to it.
"""

import argparse
import math
import resource
import time

import numpy as np

from olbench import load_dataset, make_algorithm
from olbench.learners.examples import as_examples
from olbench.learners.start import start
from olbench.papers.cw2012.combination import Sums, count_features

#: Examples that are measured by default, shards of them, and bytes per second of the assumed network.
EXAMPLES, SHARDS, NETWORK = 50_000, 10, 125e6
#: An entry of a CSR matrix: a column and a value.
BYTES_PER_ENTRY = 12
#: What the arithmetic is about.
N, D, WORKERS = 10**9, 10**8, 1000


def measure(name: str, size: int) -> dict[str, float]:
    """Return examples per second, CPU seconds per entry and feature, and the bytes of a model."""
    data = load_dataset(name)
    X, y = data.X[:size], np.asarray(data.y[:size])
    examples = as_examples(X)
    rows, order = examples.rows(), np.random.default_rng(0).permutation(size)
    speeds = {}
    for id, settings in (("cw-var", {"phi": 0.1, "covariance": "diag"}), ("pa1", {"C": 0.01})):
        learner = start(make_algorithm(id, **settings), examples.d)
        learner.run(rows, y, order[:1])
        begin = time.thread_time()
        learner.run(rows, y, order)
        speeds[id] = size / (time.thread_time() - begin)
    learner = start(make_algorithm("cw-var", phi=0.1, covariance="diag"), examples.d)
    models, listing = [], 0.0
    for part in np.array_split(order, SHARDS):
        learner.run(rows, y, part)
        begin = time.thread_time()
        columns, _ = count_features(X[part])
        models.append(Sums.of(columns, *learner.moments_at(columns), None))
        learner.reset(columns)
        listing += time.thread_time() - begin
    begin = time.thread_time()
    total, walked = models[0], 0
    for model in models[1:]:
        walked += total.columns.size + model.columns.size
        total = total + model
    return {
        **speeds,
        "entries": X.nnz / size,
        "features": examples.d,
        "list_seconds": listing / X.nnz,
        "add_seconds": (time.thread_time() - begin) / walked,
        "model_features": float(np.mean([model.columns.size for model in models])),
        "model_bytes": float(np.mean([model.bytes for model in models])),
        "feature_bytes": total.bytes / total.columns.size,
        "dense_bytes": 16.0 * examples.d,
        "peak_bytes": 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def carry(found: dict[str, float]) -> dict[str, float]:
    """Return hours for N examples on one core and on all workers, and what travels, by arithmetic.

    The worst case: every worker touches all D features, so each of log2(WORKERS) rounds of the tree sends and
    adds D of them.
    """
    model = D * found["feature_bytes"]
    rounds = math.ceil(math.log2(WORKERS))
    pass_seconds = N / found["cw-var"]
    return {
        "single_hours": pass_seconds / 3600,
        "worker_seconds": pass_seconds / WORKERS + N / WORKERS * found["entries"] * found["list_seconds"],
        "round_seconds": model / NETWORK + 2 * D * found["add_seconds"],
        "combine_seconds": rounds * (model / NETWORK + 2 * D * found["add_seconds"]),
        "model_gigabytes": model / 1e9,
        "learner_gigabytes": 16 * D / 1e9,
    }


def break_even(found: dict[str, float], workers: int) -> tuple[float, float]:
    """Return how many examples per feature make shards faster than one core, with the data in one place.

    The second number is for data that is spread over the workers, and that one core would have to fetch. In
    the worst case again, every round of the tree sends and adds all features.
    """
    rounds = math.ceil(math.log2(workers))
    combining = rounds * (found["feature_bytes"] / NETWORK + 2 * found["add_seconds"])
    alone = 1 / found["cw-var"]
    shard = (alone + found["entries"] * found["list_seconds"]) / workers
    fetching = found["entries"] * BYTES_PER_ENTRY / NETWORK * (1 - 1 / workers)
    return (
        combining / (alone - shard) if alone > shard else math.inf,
        combining / (alone + fetching - shard),
    )


def main() -> None:
    """Print what was measured, then what follows from it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", default="corpus-rare")
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    given = parser.parse_args()
    found = measure(given.dataset, given.examples)
    print(f"measured on {given.examples:,} examples of {given.dataset}, {SHARDS} shards")
    for key, value in found.items():
        print(f"  {key:16} {value:.4g}")
    print(f"by arithmetic: {N:,} examples, {D:,} features, {WORKERS:,} workers, {NETWORK / 1e6:g} MB/s")
    for key, value in carry(found).items():
        print(f"  {key:16} {value:.4g}")
    for workers in (10, 100, 1000):
        together, apart = break_even(found, workers)
        print(f"  {workers:,} shards are faster than one core from {together:.2g} examples per feature,")
        print(f"    or from {apart:.2g} if the data is spread over the workers")


if __name__ == "__main__":
    main()
