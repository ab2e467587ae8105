"""The perceptron and the perceptron with margin."""

from typing import Any

from olbench.algorithms.definition import Parameter, Traits, average, first_order

OWN = "olbench, by the definitions of scw2012"


@first_order(
    "perceptron",
    title="Perceptron",
    source="Rosenblatt, Psychological Review 65 (1958)",
    traits=Traits(False, False, True, False, source=OWN),
    passive_above=lambda: 0.0,
    allocated=True,
)
def perceptron(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Add y x on every mistake."""
    if mistake:
        return 1.0, 1.0, 1.0
    return 0.0, 1.0, 0.0


@first_order(
    "margin-perceptron",
    title="Perceptron with margin",
    source="Krauth & Mézard, J. Phys. A 20 (1987)",
    parameters=(
        Parameter("margin", 1.0, "update whenever the signed margin is at most this", closed="left"),
    ),
    traits=Traits(True, False, True, False, source=OWN),
    passive_above=lambda margin: margin,
)
def margin_perceptron(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Add y x whenever m <= margin."""
    margin = p[0]
    if m <= margin:
        return 1.0, 1.0, 1.0
    return 0.0, 1.0, 0.0


average(perceptron, "Averaged perceptron", "the perceptron")
