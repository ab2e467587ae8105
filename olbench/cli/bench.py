"""olbench bench: throughput against peers, in one run on one thread."""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from olbench.bench.cases import Case, Timing

CASES = ("dense-54", "dense-784", "sparse-300", "text", "reader")


@click.command("bench")
@click.option(
    "--case", "names", multiple=True, type=click.Choice(CASES), help="Run only this case (repeatable)."
)
@click.option(
    "--repeats", default=5, show_default=True, type=click.IntRange(1), help="Turns; the best counts."
)
@click.option(
    "--scale", default=1.0, show_default=True, type=click.FloatRange(0.001, 10), help="Factor on n."
)
@click.option(
    "--output", default="bench.json", show_default=True, type=click.Path(dir_okay=False), help="JSON."
)
@click.option("--parallel", is_flag=True, help="Instead: what several jobs gain over one.")
@click.option("--jobs", "-j", default=2, show_default=True, type=click.IntRange(2), help="For --parallel.")
def command(
    names: tuple[str, ...], repeats: int, scale: float, output: str, parallel: bool, jobs: int
) -> None:
    """Measure the kernels against a plain NumPy loop, BLAS, scikit-learn, River and Vowpal Wabbit.

    Every contestant sees the same examples on the same single thread; they take turns and the best time of
    each counts. A ratio is its time over ours: above one, we are faster. "BLAS floor" is what dsymv and dsyr
    alone need for the rounds that changed the state.

    \b
    Examples:
      olbench bench
      olbench bench --case text --repeats 3
      olbench bench --parallel --jobs 2
      pip install "olbench[peers]"      adds River and Vowpal Wabbit
    """
    if parallel:
        show_parallel(jobs, scale, repeats)
        return
    from pathlib import Path

    from threadpoolctl import threadpool_limits

    from olbench.bench.cases import CASES as ALL
    from olbench.bench.cases import measure
    from olbench.errors import UserError

    if not Path(output).absolute().parent.is_dir():
        raise UserError(f"--output {output}: there is no folder {Path(output).parent}")
    timings: list[Timing] = []
    with threadpool_limits(1):
        for case in ALL:
            if names and case.name not in names:
                continue
            n = max(10, int(scale * case.n))
            timings += measure(case, n, repeats)
            show(case, n, [timing for timing in timings if timing.case == case.name])
    write(output, timings)
    click.echo(f"written to {output}")


def show(case: "Case", n: int, timings: "list[Timing]") -> None:
    """Print the table of one case."""
    from rich.console import Console
    from rich.table import Table

    title = f"{case.name}: n = {n:,}, d = {case.d:,}, {case.text}"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("contestant")
    table.add_column("µs an example", justify="right")
    table.add_column("its time / ours", justify="right")
    for timing in timings:
        if timing.microseconds is None:
            table.add_row(timing.contestant, "not installed", "")
        else:
            ratio = "" if ":" not in timing.contestant else f"{timing.ratio:.1f}"
            table.add_row(timing.contestant, f"{timing.microseconds:.3g}", ratio)
    Console(highlight=False).print(table, "")


def show_parallel(jobs: int, scale: float, repeats: int) -> None:
    """Run equal long trials with one job and with several, in turns, and print speed-up and memory."""
    from olbench.bench.parallel import long_cell, measure

    n, d = max(10, int(scale * 40_000)), 150
    cell = long_cell(n, d, 12 * jobs)
    data, state = cell.source.open().bytes / 2**20, 8 * d * (d + 8) / 2**20
    measure(cell, jobs)  # the first run also pays for what stays: compiled code, arenas of memory
    turns = [(measure(cell, 1), measure(cell, jobs)) for _ in range(repeats)]
    one, several = (min(found, key=lambda turn: turn.seconds) for found in zip(*turns, strict=True))
    for found in (one, several):
        click.echo(
            f"{found.trials} trials, jobs = {found.jobs}: {found.seconds:.2f} s, "
            f"{found.added_bytes / 2**20:.1f} MiB added"
        )
    click.echo(
        f"speed-up {one.seconds / several.seconds:.2f}; the data has {data:.1f} MiB, a learner {state:.1f}"
    )


def write(path: str, timings: "list[Timing]") -> None:
    """Write the timings and what they were measured on."""
    import json
    from dataclasses import asdict
    from pathlib import Path

    record = {"machine": machine(), "timings": [asdict(timing) for timing in timings]}
    Path(path).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """Return what the numbers depend on."""
    import platform
    from importlib.metadata import version

    packages = {name: version(name) for name in ("numpy", "scipy", "numba", "scikit-learn")}
    return {
        "processor": platform.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
        **packages,
    }
