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


def find_guesses(results: Results) -> Iterator[Guess]:
    """Yield the rows that are no better than guessing, in the order of the results."""
    headline = results.protocol.headline
    for dataset in results.datasets:
        share = majority_share(results, dataset)
        guess = None if share is None else headline.guess(share)
        if guess is not None:
            for entry in results.of(dataset):
                if not headline.is_better(mean := entry.mean(headline), guess):
                    yield Guess(dataset, entry.label, mean, guess, headline)


def describe_guesses(found: Sequence[Guess], most: int = 6) -> str:
    """Return a sentence that lists results no better than guessing, by data set, or an empty text."""
    if not found:
        return ""
    quantity, by_dataset = found[0].quantity, dict[str, list[Guess]]()
    for each in found:
        by_dataset.setdefault(each.dataset, []).append(each)
    listed = [
        f"{list_some([each.label for each in rows], most)} on {dataset} ({quantity.text(rows[0].guess)})"
        for dataset, rows in by_dataset.items()
    ]
    lead = f"No better than always predicting the more frequent class ({quantity.title} in brackets)"
    more = f"; and on {len(listed) - most} more data sets" if len(listed) > most + 1 else ""
    return f"{lead}: {'; '.join(listed[:most] if more else listed)}{more}."
