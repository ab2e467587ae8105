"""Differences on a stream that was passed once: from blocks of its rounds, because there is one trial."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.analysis.stats import Difference
from olbench.protocols.blocks import COLUMNS, compare_counts, compare_pairs
from olbench.records.quantities import Quantity

COUNTS, PAIRS = "counts", "pairs"
TEST = "moving-block bootstrap over 20 blocks of the stream"
CONDITIONAL = "conditional on this stream: over blocks of its own rounds, not over other data"


def array_for(quantity: Quantity) -> str:
    if quantity.name == "auc":
        return PAIRS
    return COUNTS if set(quantity.fields) <= set(COLUMNS) else ""


def compare_streams(
    quantity: Quantity, values: Mapping[str, float], arrays: Mapping[str, NDArray[Any]]
) -> tuple[str, list[Difference]]:
    best = min(values, key=lambda label: (np.isnan(values[label]), quantity.loss(values[label])))
    found = []
    for label in values:
        if label == best:
            continue
        both = arrays[label], arrays[best]
        each = compare_pairs(*both) if quantity.name == "auc" else compare_counts(*both, _formula(quantity))
        signs = (each.above, each.equal, each.below)
        signs = signs if quantity.better == "higher" else signs[::-1]
        found.append(Difference(label, each.value, each.low, each.high, *signs, each.p, each.detectable))
    return best, found


def _formula(quantity: Quantity) -> Callable[..., Any]:
    def compute(*columns: Any) -> Any:
        named = dict(zip(COLUMNS, columns, strict=True))
        parts = [named[name] for name in quantity.fields]
        if quantity.formula is not None:
            return quantity.formula(*parts)
        count, total = parts
        return np.divide(count, total, out=np.full(count.shape, np.nan), where=total > 0)

    return compute
