"""olbench init: a commented config to start from."""

from pathlib import Path

import click

from olbench.errors import UserError

TEMPLATE = """\
# An experiment of olbench. Run it with `olbench run {name}`; see the plan first with --dry-run.
protocol: online          # one pass for each permutation, mistakes counted before learning
seed: 2012                # permutation p of a data set depends on the seed, its name and p only
permutations: 20
curve: 50                 # points on the online curve

# Names from `olbench data list`, or files of your own: {{path: my.libsvm, positive: 3}}.
# Paths start from the folder of this file. positive (and negative) pick labels where there are many.
datasets: [synthetic-noise, breast-cancer]

# Ids from `olbench algorithms`. Where nothing is said about parameters, tuning searches the papers' values.
algorithms:
  - perceptron
  - {{id: arow, params: {{r: 1.0}}}}                          # fixed
  - {{id: scw1, grid: {{C: [0.5, 1, 2], eta: [0.75, 0.9]}}}}   # searched

covariance: full          # or diag, for data with very many features

# search: grid (all combinations), coordinate (one parameter after the other, as LIBOL does),
# holdout (all combinations on a random half, the report is on the other half), or none.
tuning: {{search: grid, permutations: 1, ties: last}}

# plugins: [my_rule.py]   # algorithms of your own, see docs/own-algorithm.md
# paper: scw2012          # compare with the numbers reported there
"""


@click.command("init")
@click.argument("file", default="experiment.yaml", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def command(file: Path, force: bool) -> None:
    """Write a commented config to FILE (default: experiment.yaml).

    \b
    Example:
      olbench init my.yaml && olbench run my.yaml
    """
    if file.suffix not in (".yaml", ".yml"):
        raise UserError(f"{file}: the name of a config ends in .yaml")
    if file.exists() and not force:
        raise UserError(f"{file} is there already; choose another name, or replace it with --force")
    try:
        file.write_text(TEMPLATE.format(name=file), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror or error}") from None
    click.echo(f"{file} written; now `olbench run {file}`")
