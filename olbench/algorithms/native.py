"""Which algorithms learn several classes natively, with which covariances, and why others do not.

A first-order rule sees the margin between the true class and its rival, and 2 ||x||^2. So does a second-order
rule, with the variance of that margin; but where each class has a covariance of its own, its step is right
only if the precision that it adds does not depend on the variance. Other rules need a `pair`.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from olbench.algorithms.definition import Definition
from olbench.errors import UserError

Multiclass = Literal["one-vs-rest", "native"]
Allocation = Literal["max", "uniform", "prop"]
MULTICLASS, ALLOCATIONS = get_args(Multiclass), get_args(Allocation)
COVARIANCES = ("block", "shared", "diag")


def read_native(definition: Definition, given: Mapping[str, Any]) -> dict[str, Any]:
    id, default = definition.id, "native" if definition.only_native else "one-vs-rest"
    multiclass, allocation = given.get("multiclass") or default, given.get("allocation")
    if multiclass not in MULTICLASS:
        raise UserError(f"{id}: multiclass must be {' or '.join(MULTICLASS)}, not {multiclass!r}")
    if allocation not in (None, "max") and (multiclass != "native" or not definition.allocated):
        raise UserError(f"{id}: allocation is for a perceptron with multiclass='native'; leave it out")
    if allocation not in (None, *ALLOCATIONS):
        raise UserError(f"{id}: allocation must be one of {', '.join(ALLOCATIONS)}, not {allocation!r}")
    if multiclass == "one-vs-rest":
        if definition.only_native:
            raise UserError(f"{id} learns several classes natively or not at all; leave multiclass out")
        return {}
    if reason := refuse_native(definition, given):
        remedy = "leave its options out" if definition.only_native else "use multiclass: one-vs-rest"
        raise UserError(f"{id} has no native form for several classes: {reason}; {remedy}")
    shared = {"allocation": allocation} if definition.allocated and allocation else {}
    return {"multiclass": "native", **shared}


def refuse_native(definition: Definition, given: Mapping[str, Any]) -> str:
    if definition.order not in ("first", "second"):
        return "it is not a rule for one margin"
    if definition.averaged:
        return "the mean of the weights over the rounds is kept for two classes only"
    if definition.order == "first":
        return ""
    covariance = given.get("covariance") or default_covariance(definition)
    if given.get("kernel") is not None or given.get("forgetting") not in (None, 1.0):
        return "a kernel and forgetting are for two classes"
    if not definition.is_gaussian:
        return "its matrix is not the covariance of a Gaussian over weights"
    if definition.only_native:
        return "" if covariance == "shared" else f"the toolbox has covariance: shared, not {covariance}"
    if covariance == "diag" and given.get("projection") == "exact":
        return ""
    if definition.pair is None and not definition.has_constant_gain:
        return (
            "the precision c that its rule adds depends on the variance v, so its step is not the optimum "
            f"for the covariances of two classes ({covariance})"
        )
    return ""


def default_covariance(definition: Definition) -> str:
    return "shared" if definition.only_native else COVARIANCES[0]
