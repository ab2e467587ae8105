"""Compare readings of what cw2008 and cw2012 leave open about their data with the numbers that they print.

    python -m benchmarks.readings synthetic --runs 60
    olbench data fetch news-comp && python -m benchmarks.readings news

`synthetic` prints the mean number of mistakes in one pass over 1,000 points drawn as in cw2008, section 5,
for a grid of axes and both readings of N(0, 2). Every CW method uses the confidence that is best on average.
`news` prints the ten-fold error of CW with a diagonal covariance after five epochs on the posts of cw2012,
section 7.1, for several ways to turn a post into words.
"""

import argparse
from dataclasses import replace
from itertools import product

import numpy as np
from sklearn.model_selection import StratifiedKFold

from olbench import make_algorithm, online_pass
from olbench.data.catalog import find
from olbench.data.entries import read_examples
from olbench.data.fetch import fetch, local_files
from olbench.data.synthetic import RotatedGaussian
from olbench.estimators import CW, CWVar

CONFIDENCES = (0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
LEARNERS = {
    "perceptron": ("perceptron", {}),
    "pa": ("pa", {}),
    "sop": ("sop", {}),
    "var-diag": ("cw-var", {"covariance": "diag"}),
    "stdev-diag": ("cw", {"covariance": "diag"}),
    "var-full": ("cw-var", {"covariance": "full"}),
    "stdev-full": ("cw", {"covariance": "full"}),
}
AXES = tuple(product((1.5, 2.0, 3.0, 4.0, 6.0, 10.0), (0.5, 0.7, 1.0), (2**0.5, 2.0)))
#: Error in per cent of var-KL and stdev-KL (cw2012, Table 2).
NEWS = {"news-comp": (6.69, 6.79), "news-sci": (2.44, 3.04), "news-talk": (0.86, 0.27)}
RECIPES = {
    "catalogue": {},
    "all headers": {"headers": None},
    "no headers": {"headers": ()},
    "case kept": {"lower": False},
    "counts": {"values": "counts"},
}


def count_mistakes(made, runs):
    """Return the mean mistakes of each learner at its best confidence."""
    totals = dict.fromkeys(LEARNERS, 0.0)
    for run in range(runs):
        X, y = made.draw(run)
        for name, (id, options) in LEARNERS.items():
            settings = [{"eta": eta} for eta in CONFIDENCES] if id.startswith("cw") else [{}]
            passes = [online_pass(make_algorithm(id, **options, **each), X, y, curve=1) for each in settings]
            totals[name] = totals[name] + np.array([each.mistakes for each in passes])
    return {name: float(np.min(total)) / runs for name, total in totals.items()}


def show_synthetic(runs):
    """Print one line per reading of cw2008."""
    print(
        f"cw2008: first order at least 129, all second order below 80, var / stdev 1.08 and 1.17; {runs} runs"
    )
    for long_axis, short_axis, deviation in AXES:
        made = RotatedGaussian(1000, 20, long_axis, short_axis, deviation, seed=2008)
        means = count_mistakes(made, runs)
        ratios = [means[f"var-{kind}"] / means[f"stdev-{kind}"] for kind in ("diag", "full")]
        counts = "  ".join(f"{name} {mean:5.1f}" for name, mean in means.items())
        axes = f"axes {long_axis:4.1f} {short_axis:3.1f}, others {deviation:5.3f}"
        print(f"{axes}: {counts}  var/stdev {ratios[0]:.2f} {ratios[1]:.2f}", flush=True)


def measure_error(learner, X, y):
    """Return the mean error over ten folds in per cent."""
    errors = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
        learner.fit(X[train], y[train])
        errors.append(np.mean(learner.predict(X[test]) != y[test]))
    return 100 * np.mean(errors)


def show_news(runs):
    """Print one line per data set and recipe, with the errors at several confidences."""
    for name, printed in NEWS.items():
        entry = find(name)
        paths = local_files(entry) or fetch(entry)
        print(f"{name}: cw2012 prints {printed[0]:.2f} for var and {printed[1]:.2f} for stdev")
        for words, changes in RECIPES.items():
            changed = replace(entry, text=replace(entry.text, **changes))
            data = read_examples(changed, paths, name)
            X, y = data.X, data.y
            for title, kind in (("var", CWVar), ("stdev", CW)):
                learners = [
                    kind(eta=eta, covariance="diag", epochs=5, random_state=0)
                    for eta in (0.6, 0.75, 0.9, 0.99)
                ]
                errors = "  ".join(f"{measure_error(learner, X, y):5.2f}" for learner in learners)
                print(f"  {words:12} {X.shape[1]:6} words  {title:6} {errors}", flush=True)


def main():
    """Print the comparison that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", choices=("synthetic", "news"))
    parser.add_argument("--runs", type=int, default=60)
    options = parser.parse_args()
    {"synthetic": show_synthetic, "news": show_news}[options.data](options.runs)


if __name__ == "__main__":
    main()
