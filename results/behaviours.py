"""Write how the algorithms of the configs that come first behave, for the first run on a machine.

    make behaviours

Any change of a rule, a kernel or a learner asks for it. In the difference, the line of an algorithm changes
if its results do; then every trial of it on record is lost, those that ship included.
"""

from pathlib import Path

from olbench.protocols.behaviour import SHIPPED, ship
from olbench.protocols.reading import read_config

CONFIGS = Path(__file__).resolve().parent.parent / "configs"


def first_algorithms():
    """Yield the algorithms, with their options, of the first run and of both regression checks."""
    for name in ("quick", "scw", "ci"):
        for algorithm in read_config(CONFIGS / f"{name}.yaml").algorithms:
            yield algorithm.id, algorithm.options


if __name__ == "__main__":
    ship(first_algorithms())
    print(SHIPPED)
