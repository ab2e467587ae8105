"""Compare the SCW rows of w7a in Table 3 of scw2012 with passes that count rows of zeros as updates.

    olbench data fetch w7a && python -m benchmarks.zero_rows

A row of zeros has margin and variance zero, so CW and SCW suffer no loss and do not change. For each
algorithm the script prints the settings of the paper's grid whose mistake rate and updates come closest to
the paper's, with and without every row of zeros counted as an update, over the report's permutations.
"""

from itertools import product

import numpy as np

from olbench import load_dataset, make_algorithm, online_pass
from olbench.algorithms import get_definition
from olbench.analysis.published import load_paper
from olbench.records import seeds

ROWS = {"cw": "cw", "scw1": "scw1", "scw2": "scw2", "scw2-libol": "scw2"}
PERMUTATIONS, SHOWN = 5, 3


def measure(id, params, X, y):
    """Return the mistake rate and the updates for each permutation."""
    passes = [
        online_pass(
            make_algorithm(id, **params), X, y, order=seeds.order(2012, "w7a", "report", p, "all", len(y))
        )
        for p in range(PERMUTATIONS)
    ]
    return np.array([[each.mistake_rate, each.updates] for each in passes])


def main():
    """Print the closest settings."""
    data = load_dataset("w7a")
    zeros = int((np.diff(data.X.indptr) == 0).sum())
    negative = int((data.y[np.diff(data.X.indptr) == 0] < 0).sum())
    print(f"w7a has {zeros:,} rows of zeros, {negative:,} of them labelled -1")
    for id, row in ROWS.items():
        printed = load_paper("scw2012").of("w7a", row)
        rate, updates = printed["mistake_rate"], printed["updates"]
        theirs = np.array([rate.mean, updates.mean])
        print(f"{id}: the paper has {rate.mean:.3f} and {updates.mean:,.1f} ± {updates.deviation}")
        grid = get_definition(id).grid
        settings = []
        for values in product(*grid.values()):
            params = dict(zip(grid, values, strict=True))
            mean = measure(id, params, data.X, data.y).mean(axis=0)
            for counted in (0, zeros):
                ours = mean + np.array([0, counted])
                settings.append((np.abs(ours / theirs - 1).max(), params, *ours, counted))
        for _, params, rate, updates, counted in sorted(settings, key=lambda each: each[0])[:SHOWN]:
            how = "with rows of zeros" if counted else "without"
            print(f"  {rate:.4f} and {updates:,.1f} {how}: {params}")


if __name__ == "__main__":
    main()
