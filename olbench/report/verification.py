"""The statement of a verification: what was shown about which run, where and when."""

from typing import Any

from olbench import __version__
from olbench.engine.verification import VerifiedRun
from olbench.records import provenance

SCHEMA = 2


def make_statement(shown: VerifiedRun) -> dict[str, Any]:
    machine = provenance.machine()
    machine.pop("host", None)
    codes = {(record["algorithm"], record["code"]) for record in shown.drawn}
    return {
        "schema": SCHEMA,
        "run": shown.digest,
        "olbench": __version__,
        "algorithms": dict(sorted(codes)),
        "versions": provenance.versions(),
        "machine": machine,
        "when": shown.when,
        "seed": shown.seed,
        "recorded": shown.recorded,
        "population": shown.population,
        "drawn": [record["key"] for record in shown.drawn],
        "same": shown.compared - shown.different,
        "different": [
            {
                "key": each.record["key"],
                "trial": each.place,
                "quantity": each.name,
                "recorded": each.values[0],
                "found": each.values[1],
            }
            for each in shown.mismatches
        ],
        "wrong_results": list(shown.wrong_cells),
        "not_rerun": {reason: len(records) for reason, records in shown.not_rerun.items()},
        "detectable": {"share": shown.share, "probability": shown.probability},
        "sentence": shown.sentence,
    }
