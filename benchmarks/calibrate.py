"""Compare the synthetic sets with their rows in Table 3 of scw2012, for any unstated parameters.

    python -m benchmarks.calibrate
    python -m benchmarks.calibrate --long-axis 2 --short-axis 0.5 --other-deviation 1.4142 --permutations 5

Every algorithm is tuned on its whole grid (for SCW: C and eta jointly) with one pass in an order that is not
used again, and then measured over random permutations. The script prints the mistake rate and the updates,
ours and the paper's.
"""

import argparse
from itertools import product

import numpy as np

from olbench import make_algorithm, online_pass
from olbench.algorithms import get_definition
from olbench.data.synthetic import RotatedGaussian

#: Table 3 of scw2012: mistake rate and updates, without and with noise.
PAPER = {
    "cw": ((0.017, 262.9), (0.293, 2811.1)),
    "nherd": ((0.120, 3202.9), (0.208, 4114.6)),
    "arow": ((0.026, 2128.0), (0.133, 4122.8)),
    "narow": ((0.101, 3302.0), (0.236, 4242.8)),
    "scw1": ((0.018, 317.9), (0.135, 1373.1)),
    "scw2": ((0.020, 326.0), (0.145, 2138.9)),
}


def tune(id, X, y, order):
    """Return the setting of the grid with the fewest mistakes in one order."""
    grid = get_definition(id).grid
    choices = [
        make_algorithm(id, **dict(zip(grid, values, strict=True))) for values in product(*grid.values())
    ]
    return min(choices, key=lambda choice: online_pass(choice, X, y, order=order, curve=1).mistakes)


def measure(algorithm, X, y, orders):
    """Return the mean mistake rate and number of updates over the orders."""
    passes = [online_pass(algorithm, X, y, order=order, curve=1) for order in orders]
    return np.mean([p.mistake_rate for p in passes]), np.mean([p.updates for p in passes])


def main():
    """Print one line per algorithm and set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    defaults = RotatedGaussian()
    for name in ("long_axis", "short_axis", "other_deviation", "seed"):
        default = getattr(defaults, name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    parser.add_argument("--permutations", type=int, default=20)
    options = vars(parser.parse_args())
    count = options.pop("permutations")
    print(f"{options}, {count} permutations")
    for noisy, flips in enumerate((0.0, 0.1)):
        X, y = RotatedGaussian(flips=flips, **options).draw()
        tuning, *orders = (np.random.default_rng([7, p]).permutation(y.size) for p in range(count + 1))
        for id, rows in PAPER.items():
            best = tune(id, X, y, tuning)
            rate, updates = measure(best, X, y, orders)
            chosen = ", ".join(
                f"{key}={value:g}" for key, value in best.params.items() if key in ("C", "r", "b", "eta")
            )
            print(
                f"flips {flips:3.1f}  {id:6} {rate:.3f} {updates:7.1f}   paper {rows[noisy][0]:.3f} "
                f"{rows[noisy][1]:7.1f}   {chosen}",
                flush=True,
            )


if __name__ == "__main__":
    main()
