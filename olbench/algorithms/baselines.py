"""Baselines: what labels alone predict. A learner that is no better has learnt nothing from the examples."""

from typing import Any

from olbench.algorithms.definition import baseline


@baseline(
    "no-change",
    title="no change",
    source="Bifet, de Francisci Morales, Read, Holmes & Pfahringer, KDD 2015, section 3",
)
def no_change(negatives: int, positives: int, last: float, p: Any) -> Any:
    """Predict the label that was learnt last; on a stream with runs of equal labels it is hard to beat."""
    return last


@baseline(
    "majority-so-far",
    title="majority so far",
    source="Bifet, de Francisci Morales, Read, Holmes & Pfahringer, KDD 2015, section 3",
)
def majority_so_far(negatives: int, positives: int, last: float, p: Any) -> Any:
    """Predict the more frequent label so far."""
    return (positives - negatives) / max(1, positives + negatives)
