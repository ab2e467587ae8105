"""olbench init: a commented config to start from."""

from pathlib import Path

import click

from olbench.errors import UserError
from olbench.files import write_text

TEMPLATE = """\
# An olbench experiment. Run it with `olbench run {name}`; --dry-run prints the plan only.
protocol: online          # one pass per permutation; a mistake is counted before learning
seed: 2012                # permutation p of a data set depends on this seed, its name and p
permutations: 20
curve: 50                 # points on the online curve

# Names from `olbench data list`, or your own files: {{path: my.libsvm, positive: 3}}. Paths are relative to
# this file. With more than two labels, positive (and negative) say which count as +1 (and -1).
datasets: [synthetic-noise, breast-cancer]

# Ids from `olbench algorithms`. Parameters that are not given are tuned over the grids of the papers.
algorithms:
  - perceptron
  - {{id: arow, params: {{r: 1.0}}}}                          # fixed
  - {{id: scw1, grid: {{C: [0.5, 1, 2], eta: [0.75, 0.9]}}}}   # searched

covariance: full          # or diag, for data with very many features

# search: grid (all combinations), coordinate (one parameter at a time, as LIBOL does), holdout (all
# combinations on a random half of the rows, results from the other half), or none.
tuning: {{search: grid, permutations: 1, ties: last}}

# plugins: [my_rule.py]   # your own algorithms or protocol, see docs/own-algorithm.md
# paper: scw2012          # compare with the numbers of this paper, or of a YAML file of your own
"""


@click.command("init")
@click.argument("file", default="experiment.yaml", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def command(file: Path, force: bool) -> None:
    """Write a commented config to FILE (default: experiment.yaml).

    \b
    Example:
      olbench init my.yaml && olbench run my.yaml
    """
    if file.suffix not in (".yaml", ".yml"):
        raise UserError(f"{file}: the name of a config must end in .yaml")
    if file.exists() and not force:
        raise UserError(f"{file} already exists; choose another name, or overwrite it with --force")
    write_text(file, TEMPLATE.format(name=file))
    click.echo(f"{file} written; now `olbench run {file}`")
