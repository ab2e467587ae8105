"""The tables of docs/correctness.md, written from the record of a campaign."""

import json
import lzma
from itertools import groupby
from pathlib import Path

from olbench.data.catalog import catalog

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/tables/correctness.md"
PACKED = ROOT / "results/correctness/passes.jsonl.xz"
#: A larger relative error of the weights is a difference, even if all counts are equal.
CLOSE = 1e-6
#: Reasons of a difference.
TIE, OUR_TIE, RANGE, ROUNDING, DUAL, OURS = "tie", "our tie", "range", "rounding", "dual", "ours"

REASONS = {
    OURS: "**Only ours.** Plain loops in doubles agree with the reference, and we do not.",
    OUR_TIE: """**Ties that plain loops decide as the reference does.** The score is zero up to rounding,
        and our rounding has the other sign. sop with a diagonal Σ keeps Σ, where the reference sums its
        inverse, which is exact for binary features.""",
    TIE: """**Ties.** In the round where we diverge, the score is zero up to rounding: its terms cancel
        to 12 digits, and the sign of the remainder decides the prediction. In {agreeing} of these passes
        plain loops in doubles decide as the reference does.""",
    RANGE: """**The range of doubles.** Σ vanishes. Plain loops in doubles diverge from the reference
        as well, and our pass reports breakdowns. In {broken} of these passes the reference does, too.""",
    ROUNDING: """**The precision of doubles.** Plain loops in doubles diverge from the reference as well, or
        their weights have an error above the limit, and nothing breaks down.""",
    DUAL: """**The form of the kernel learner.** With `kernel=linear` the variance is a K(x, x) − u.u, a
        difference that cancels as cw shrinks Σ. A variance within rounding of zero is reported as a
        breakdown. The primal forms do not have these differences: prefer them to a linear kernel.""",
}


def find_reason(line):
    parted = line["parted"]
    if line["tie"]:
        plain_agrees = any(other == 0 and error <= CLOSE for other, error in line["plain"])
        return OUR_TIE if plain_agrees else TIE
    limited = any(
        (other > 0 and (parted == 0 or other <= 2 * parted)) or not error <= CLOSE
        for other, error in line["plain"]
    )
    if limited:
        return RANGE if line["ours"][2] else ROUNDING
    return DUAL if line["option"] == "kernel=linear" and line["algorithm"] in ("cw", "cw-var") else OURS


def summarise(lines):
    outcomes = [line["outcome"] for line in lines]
    return ", ".join(f"{outcomes.count(name):,} {name}" for name in ("equal", "unstable", "differs"))


def publish(head, lines):
    covered = {line["dataset"] for line in lines}
    content = [{**head, "missing": [name for name in catalog() if name not in covered]}, *lines]
    PACKED.write_bytes(lzma.compress("".join(json.dumps(line) + "\n" for line in content).encode()))
    PAGE.write_text(render(*read()), encoding="utf-8")


def read():
    head, *lines = map(json.loads, lzma.decompress(PACKED.read_bytes()).decode().splitlines())
    return head, lines


def render(head, lines):
    differing = [line for line in lines if line["outcome"] == "differs"]
    unstable = [line for line in lines if line["outcome"] == "unstable"]
    rounds = sum(line["rounds"] for line in lines)
    datasets = len({line["dataset"] for line in lines})
    parts = [
        f"{len(lines):,} passes on {datasets} data sets, {rounds / 1e9:.2f} billion rounds, on an "
        f"{head['processor']}: {summarise(lines)}. The error is the largest of the passes that are equal.",
        tabulate_algorithms(lines),
        "### Differences\n\nIn brackets: the round in which each order diverges from the reference, or the "
        "error of the weights if no count differs.",
    ]
    for reason, words in REASONS.items():
        chosen = [line for line in differing if find_reason(line) == reason]
        if chosen:
            broken = sum(line["reference"][2] > 0 for line in chosen)
            agreeing = sum(not any(parted for parted, _ in line["plain"]) for line in chosen)
            said = " ".join(words.format(broken=broken, agreeing=agreeing).split())
            parts += [f"{said} {len(chosen):,} passes in all.", tabulate_differences(chosen, show_difference)]
    parts.append("### Unstable\n\nIn brackets: the round from which the two references differ.")
    parts.append(tabulate_differences(unstable, lambda line: f"{line['unstable_from']:,}"))
    parts += ["### Data sets", tabulate_datasets(lines)]
    if head["missing"]:
        parts.append(f"Without a pass in the record: {', '.join(head['missing'])}.")
    return "\n\n".join(parts) + "\n"


def tabulate_algorithms(lines):
    rows = [["algorithm", "setting", "option", "data sets", "passes", "equal", "unstable", "differ", "error"]]
    for (id, params, option), group in collect(lines, "algorithm", "params", "option"):
        counts = [sum(line["outcome"] == name for line in group) for name in ("equal", "unstable", "differs")]
        error = max((line["error"] for line in group if line["outcome"] == "equal"), default=None)
        sets = len({line["dataset"] for line in group})
        numbers = [f"{number:,}" if number else "" for number in (sets, len(group), *counts)]
        rows.append([id, params, option, *numbers, "" if error is None else f"{error:.0e}"])
    return tabulate(rows)


def tabulate_differences(lines, show):
    rows = [["algorithm", "setting", "option", "data sets"]]
    for (id, params, option), group in collect(lines, "algorithm", "params", "option"):
        sets = [f"{name} ({', '.join(map(show, own))})" for (name,), own in collect(group, "dataset")]
        rows.append([id, params, option, ", ".join(sets)])
    return tabulate(rows)


def show_difference(line):
    return f"{line['parted']:,}" if line["parted"] else f"error {line['error']:.0e}"


def tabulate_datasets(lines):
    headings = "data set|rounds|features|passes|orders|orders, full Σ|equal|unstable|differ"
    rows = [headings.split("|")]
    for (name,), group in collect(lines, "dataset"):
        counts = [sum(line["outcome"] == each for line in group) for each in ("equal", "unstable", "differs")]
        full = [line for line in group if line["option"].startswith("form")]
        orders = [
            len({line["order"] for line in some}) for some in ([x for x in group if x not in full], full)
        ]
        numbers = group[0]["rounds"], group[0]["features"], len(group), *orders, *counts
        rows.append([name, *(f"{number:,}" if number else "" for number in numbers)])
    return tabulate(rows)


def collect(lines, *names):
    """Return groups of the lines with the same values of these keys, in the order of their first lines."""
    keys = [tuple(line[name] for name in names) for line in lines]
    first = {key: place for place, key in reversed([*enumerate(keys)])}
    ordered = sorted(zip(keys, lines, strict=True), key=lambda pair: first[pair[0]])
    return [(key, [line for _, line in group]) for key, group in groupby(ordered, lambda pair: pair[0])]


def tabulate(rows):
    head, *body = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *body])
