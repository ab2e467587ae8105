"""Contestants that are no better than guessing, that is, than always predicting the more frequent class."""

from olbench.analysis.results import Entry, Results
from olbench.data.catalog import catalog
from olbench.errors import list_some
from olbench.records.quantities import Quantity

Guesses = dict[str, tuple[float, list[Entry]]]


def majority_share(results: Results, dataset: str) -> float | None:
    facts = results.run.data.get(dataset)
    if facts is None or not facts.rows:
        return None
    if facts.majority:
        return facts.majority / facts.rows
    entry = catalog().get(dataset)
    if entry is None or not entry.labels or entry.fingerprint != facts.fingerprint:
        return None
    return max(entry.labels.values()) / sum(entry.labels.values())


def find_guesses(results: Results) -> Guesses:
    headline = results.protocol.quantities[0]
    found: Guesses = {}
    for dataset in results.datasets:
        share = majority_share(results, dataset)
        guess = None if share is None else headline.guess(share)
        if guess is not None:
            entries = [e for e in results.of(dataset) if not headline.is_better(e.mean(headline), guess)]
            found |= {dataset: (guess, entries)} if entries else {}
    return found


def describe_guesses(found: Guesses, quantity: Quantity, most: int = 6) -> str:
    listed = [
        f"{list_some([entry.label for entry in entries], most)} on {dataset} ({quantity.text(guess)})"
        for dataset, (guess, entries) in found.items()
    ]
    if not listed:
        return ""
    lead = f"No better than always predicting the more frequent class ({quantity.title} in brackets)"
    more = f"; and on {len(listed) - most} more data sets" if len(listed) > most + 1 else ""
    return f"{lead}: {'; '.join(listed[:most] if more else listed)}{more}."
