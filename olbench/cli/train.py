"""olbench train: keep the learner of a run as a model."""

from pathlib import Path

import click

from olbench.cli.output import program, say


@click.command("train")
@click.argument("what", metavar="CONFIG|DIR|NAME", type=click.Path(path_type=Path))
@click.option("--dataset", metavar="NAME", help="The data set to learn from.")
@click.option("--algorithm", metavar="ID", help="The algorithm: its id, title, or label in reports.")
@click.option(
    "--permutation", "--number", "number", type=click.IntRange(0), default=0, show_default=True,
    help="The order in which the rows are learnt.",
)  # fmt: skip
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), required=True,
    help="The file of the model, such as model.npz.",
)  # fmt: skip
def command(what: Path, dataset: str | None, algorithm: str | None, number: int, output: Path) -> None:
    """Learn once more as one trial of a run did, and keep the learner as a model.

    The run must be there: its tuning has chosen the parameters. The model is one .npz file of plain arrays,
    with what `olbench predict` needs to read new rows as the old ones were read.

    \b
    Examples:
      olbench run quick
      olbench train quick --dataset synthetic --algorithm scw1 -o model.npz
      olbench train my.yaml --algorithm arow -o model.npz
    """
    from olbench import api
    from olbench.cli.rerun import find_trial
    from olbench.shipped import find_run
    from olbench.trials import ledger

    folder = find_run(Path("results") / what.stem if what.suffix in (".yaml", ".yml") else what)
    recorded = ledger.current(folder)
    record = recorded[find_trial(folder, recorded, dataset, algorithm, number)]
    model = api.train(folder, record, say)
    model.save(output)
    say(f"{output}: {record['algorithm']} on {record['dataset']}, {output.stat().st_size:,} bytes")
    click.echo(f"next: {program()} predict {output} DATA")
