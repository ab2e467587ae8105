"""Contestants that are no better than guessing, that is, than always predicting the more frequent class."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from olbench.data.catalog import catalog
from olbench.quantities import Quantity
from olbench.report.grid import list_some
from olbench.report.results import Results


@dataclass(frozen=True)
class Guess:
    """A row of the results that guessing equals or beats."""

    dataset: str
    label: str
    #: The mean of the headline quantity, and what guessing would score.
    mean: float
    guess: float
    quantity: Quantity

    @property
    def guess_text(self) -> str:
        """What guessing scores, as tables print it."""
        return self.quantity.text(self.guess)


def majority_share(results: Results, dataset: str) -> float | None:
    """Return the share of the more frequent class, from the record or the catalogue; None if unknown."""
    facts = results.run.data.get(dataset)
    if facts is None or not facts.rows:
        return None
    if facts.majority:
        return facts.majority / facts.rows
    entry = catalog().get(dataset)
    if entry is None or not entry.labels or entry.fingerprint != facts.fingerprint:
        return None
    return max(entry.labels.values()) / sum(entry.labels.values())


def find_guesses(results: Results) -> list[Guess]:
    """Return the rows that are no better than guessing, in the order of the results."""
    return list(_each(results, results.protocol.headline))


def _each(results: Results, headline: Quantity) -> Iterator[Guess]:
    for dataset in results.datasets:
        share = majority_share(results, dataset)
        guess = None if share is None else headline.guess(share)
        if guess is None:
            continue
        for entry in results.of(dataset):
            if not headline.is_better(mean := entry.mean(headline), guess):
                yield Guess(dataset, entry.label, mean, guess, headline)


def describe_guesses(found: Sequence[Guess], most: int = 6) -> str:
    """Return a sentence that lists results no better than guessing, by data set, or an empty text."""
    if not found:
        return ""
    by_dataset: dict[str, list[Guess]] = {}
    for each in found:
        by_dataset.setdefault(each.dataset, []).append(each)
    listed = [
        f"{list_some([each.label for each in rows], most)} on {dataset} ({rows[0].guess_text})"
        for dataset, rows in by_dataset.items()
    ]
    lead = f"No better than always predicting the more frequent class ({found[0].quantity.title} in brackets)"
    more = f"; and on {len(listed) - most} more data sets" if len(listed) > most + 1 else ""
    return f"{lead}: {'; '.join(listed[:most] if more else listed)}{more}."
