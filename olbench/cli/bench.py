"""olbench bench: throughput against peers, in one run on one thread."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.output import say
from olbench.errors import UserError, count
from olbench.files import write_text

if TYPE_CHECKING:
    from olbench.bench.cases import Case, Timing

CASES = (
    *("dense-8", "dense-22", "dense-54", "dense-128", "dense-256", "dense-784", "sparse-300"),
    *("diagonal-300", "text", "classes-3", "classes-10", "classes-30", "classes-10-wide", "reader"),
)
#: What a pass cannot be faster than (olbench.bench.floors).
FLOORS = ("arithmetic", "memory", "chain")


@click.command("bench")
@click.option(
    "--case", "names", multiple=True, type=click.Choice(CASES), metavar="NAME",
    help=f"Run this case only (repeatable): {', '.join(CASES)}.",
)  # fmt: skip
@click.option("--data", metavar="NAME", help="Run on this data set or file instead, in a random order.")
@click.option("--peer", default="", metavar="TEXT", help="Run only the peers whose name contains TEXT.")
@click.option(
    "--repeats", default=5, show_default=True, type=click.IntRange(1),
    help="Turns per contestant; the best time counts.",
)  # fmt: skip
@click.option(
    "--scale", default=1.0, show_default=True, type=click.FloatRange(0.001, 10),
    help="Factor on the number of examples.",
)  # fmt: skip
@click.option(
    "--output", "-o", default="bench.json", show_default=True, type=click.Path(dir_okay=False),
    help="JSON file for the timings.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the timings as JSON instead of tables.")
@click.option("--parallel", is_flag=True, help="Measure the speed-up from several jobs instead.")
@click.option(
    "--jobs", "-j", default=2, show_default=True, type=click.IntRange(2),
    help="Jobs for --parallel and --cluster.",
)  # fmt: skip
@click.option(
    "--cluster", is_flag=False, flag_value="", metavar="[ADDRESS|local:N|FILE]",
    help="Measure the throughput of a cluster [default: local:N, N the number of jobs] against jobs instead.",
)  # fmt: skip
def command(
    names: tuple[str, ...], data: str | None, peer: str, repeats: int, scale: float, output: str,
    as_json: bool, parallel: bool, jobs: int, cluster: str | None,
) -> None:  # fmt: skip
    """Measure the kernels against plain C, NumPy loops, BLAS, scikit-learn, River and Vowpal Wabbit.

    Every contestant runs on the same examples and on one thread. They take turns, and the best processor time
    of each counts. The ratio is its time divided by ours: above 1, ours is faster. "plain C" is the textbook
    loop, compiled for this machine if it has a C compiler; the last table compares it with ours for every d.
    "BLAS floor" is the time that dsymv and dsyr alone need for the rounds that change the state. The other
    floors are what no pass can be faster than on this machine: its arithmetic, its memory, its chain of sums.
    With --case reader, --data is the file to read.

    \b
    Examples:
      olbench bench
      olbench bench --peer "plain C"
      olbench bench --peer floor
      olbench bench --data ijcnn1
      olbench bench --case text --repeats 3 --json
      olbench bench --case reader --data examples.libsvm
      olbench bench --parallel --jobs 2
      olbench bench --cluster
      pip install "olbench[peers]"      adds River and Vowpal Wabbit
    """
    if parallel:
        show_parallel(jobs, scale, repeats)
        return
    if cluster is not None:
        show_cluster(cluster or f"local:{jobs}", jobs, scale, repeats)
        return
    from threadpoolctl import threadpool_limits

    from olbench.bench.cases import CASES as ALL
    from olbench.bench.cases import measure, reading_file, real_data

    if not Path(output).absolute().parent.is_dir():
        raise UserError(f"--output {output}: there is no folder {Path(output).parent}")
    if data is not None and names not in ((), ("reader",)):
        raise UserError("give --case or --data, not both; only the case reader takes a file")
    timings: list[Timing] = []
    with threadpool_limits(1):
        for case in ALL if data is None else [reading_file(data) if names else real_data(data)]:
            if names and case.name not in names:
                continue
            n = max(10, int(scale * case.n)) if data is None else case.n
            measured = measure(case, n, repeats, peer)
            timings += measured
            if not as_json:
                show(case, n, measured)
    write(output, timings)
    if as_json:
        click.echo(Path(output).read_text(encoding="utf-8"), nl=False)
        return
    show_plain_c(timings)
    show_floors(timings)
    say(f"the timings are in {output}")


def show(case: "Case", n: int, timings: "list[Timing]") -> None:
    """Print the table of one case."""
    click.secho(f"{case.name}: n = {n:,}, d = {case.d:,}, {case.text}", bold=True)
    rows = []
    for timing in timings:
        if timing.microseconds is None:
            rows.append((timing.contestant, "not available", ""))
        else:
            ratio = "" if ":" not in timing.contestant else f"{timing.ratio:.2f}"
            rows.append((timing.contestant, f"{timing.microseconds:.3g}", ratio))
    show_table(("contestant", "µs per example", "its time / ours"), rows)


def show_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table of a name and numbers per row."""
    from rich.console import Console
    from rich.table import Table

    table = Table(headings[0], box=None, pad_edge=False)
    for heading in headings[1:]:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False).print(table, "")


def show_plain_c(timings: "list[Timing]") -> None:
    """Print the time of plain C divided by ours, one row per case and one column per algorithm."""
    from olbench.bench.cases import PLAIN_C

    compared = [timing for timing in timings if timing.contestant.endswith(PLAIN_C)]
    if compared and not any(timing.ratio for timing in compared):
        say("plain C is left out: no C compiler (cc, gcc, clang or $CC) works here")
        return
    show_matrix(
        "plain C / ours", {_cell(timing): f"{timing.ratio:.2f}" for timing in compared if timing.ratio}
    )


def show_floors(timings: "list[Timing]") -> None:
    """Print our time in nanoseconds with the share that the largest of its floors has of it."""
    ours = {_cell(timing): timing.microseconds for timing in timings if ":" not in timing.contestant}
    shares: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for timing in timings:
        kind = timing.contestant.partition(": ")[2].removesuffix(" floor")
        if kind in FLOORS and timing.ratio and timing.case != "reader":
            shares.setdefault(_cell(timing), []).append((timing.ratio, kind[0]))
    largest = {cell: "{:.2f} {}".format(*max(found)) for cell, found in shares.items()}
    cells = {cell: f"{1000 * (ours[cell] or 0):,.0f} ({share})" for cell, share in largest.items()}
    show_matrix("ns (floor / ours)", cells)
    if cells:
        say("the largest floor: " + ", ".join(f"{kind[0]} = {kind}" for kind in FLOORS))


def _cell(timing: "Timing") -> tuple[str, str]:
    return timing.case, timing.contestant.split(":")[0]


def show_matrix(heading: str, cells: Mapping[tuple[str, str], str]) -> None:
    """Print a table with a row per case and a column per algorithm."""
    ids = list(dict.fromkeys(id for _, id in cells))
    rows = [
        (case, *(cells.get((case, id), "") for id in ids))
        for case in dict.fromkeys(case for case, _ in cells)
    ]
    if rows:
        show_table((heading, *ids), rows)


def show_parallel(jobs: int, scale: float, repeats: int) -> None:
    """Run equal long trials with one job and with several, in turns, and print speed-up and memory."""
    from olbench.bench.throughput import long_cell, measure_jobs

    n, d = max(10, int(scale * 40_000)), 150
    cell = long_cell(n, d, 12 * jobs)
    data, state = cell.source.bytes / 2**20, 8 * d * (d + 8) / 2**20
    measure_jobs(cell, jobs)  # the first run also pays one-off costs: compilation, memory arenas
    turns = [(measure_jobs(cell, 1), measure_jobs(cell, jobs)) for _ in range(repeats)]
    one, several = (min(runs, key=lambda run: run.seconds) for runs in zip(*turns, strict=True))
    for best in (one, several):
        say(
            f"{count(best.trials, 'trial')}, jobs = {best.jobs}: {best.seconds:.2f} s, "
            f"{best.added_bytes / 2**20:.1f} MiB added"
        )
    speedup = one.seconds / several.seconds
    say(f"speed-up {speedup:.2f}; the data takes {data:.1f} MiB, a learner {state:.1f} MiB")


def show_cluster(where: str, jobs: int, scale: float, repeats: int) -> None:
    """Run equal trials with jobs and on a cluster, in turns, and print throughput and the cost of a task."""
    from olbench.bench.throughput import measure_cluster

    cost = measure_cluster(where, jobs, scale, repeats)
    say(
        f"{count(cost.trials, 'trial')} with {cost.seconds:.3f} s of a processor each, medians of "
        f"{count(repeats, 'turn')}:"
    )
    click.echo(f"  jobs = {jobs}: {cost.local:.2f} trials/s")
    click.echo(f"  {where}: {cost.cluster:.2f} trials/s, {cost.ratio:.2f} of the jobs in the same turn")
    say(f"a task costs {1000 * cost.task:.1f} ms: the time per trial where trials do next to nothing")


def write(path: str, timings: "list[Timing]") -> None:
    """Write the timings, with the machine and the versions."""
    from olbench.trials import provenance

    facts, versions = provenance.machine(), provenance.versions()
    machine = {name: facts[name] for name in ("processor", "system")}
    machine |= {name: versions[name] for name in ("python", "numpy", "scipy", "numba", "scikit-learn")}
    record = {"machine": machine, "timings": [asdict(timing) for timing in timings]}
    write_text(Path(path), json.dumps(record, indent=2) + "\n")
