"""Counts of a confusion matrix along a stream of predictions, at chosen places and with fading."""

from typing import Any

from numba import float64, void

from olbench.kernels.compile import READ_1D, READ_INT64, WRITE_2D, WRITE_2D_INT64, kernel


@kernel(void(READ_1D, READ_1D, float64, READ_INT64, WRITE_2D_INT64))
def count_at(labels: Any, margins: Any, threshold: Any, places: Any, counts: Any) -> None:
    """Set counts[k] to the mistakes, positives and false alarms among the first places[k] predictions.

    A prediction is positive at a margin from the threshold on. The places ascend.
    """
    mistakes = positives = false_alarms = 0
    at = 0
    for k in range(places.size):
        for t in range(at, places[k]):
            positive = labels[t] > 0.0
            mistake = (margins[t] >= threshold) != positive
            mistakes += mistake
            positives += positive
            false_alarms += mistake and not positive
        at = max(at, places[k])
        counts[k, 0] = mistakes
        counts[k, 1] = positives
        counts[k, 2] = false_alarms


@kernel(void(READ_1D, READ_1D, float64, float64, READ_INT64, WRITE_2D))
def fade_at(labels: Any, margins: Any, threshold: Any, fading: Any, places: Any, counts: Any) -> None:
    """Set counts[k] to faded counts after places[k] predictions: all, mistakes, positives, false alarms.

    Before each prediction, all counts are multiplied by `fading`.
    """
    total = mistakes = positives = false_alarms = 0.0
    at = 0
    for k in range(places.size):
        for t in range(at, places[k]):
            positive = labels[t] > 0.0
            mistake = (margins[t] >= threshold) != positive
            total = fading * total + 1.0
            mistakes = fading * mistakes + (1.0 if mistake else 0.0)
            positives = fading * positives + (1.0 if positive else 0.0)
            false_alarms = fading * false_alarms + (1.0 if mistake and not positive else 0.0)
        at = max(at, places[k])
        counts[k, 0] = total
        counts[k, 1] = mistakes
        counts[k, 2] = positives
        counts[k, 3] = false_alarms
