"""Options that algorithms take besides their parameters: of covariances, of several classes, their own."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from olbench.algorithms.definition import KERNEL, NATIVE, RESERVED, Definition, Parameter
from olbench.algorithms.native import ALLOCATIONS, COVARIANCES, default_covariance, read_native
from olbench.errors import UserError, shorten

Covariance = Literal["full", "diag", "block", "shared"]
Projection = Literal["kl", "l2", "exact"]
Form = Literal["covariance", "root"]
KernelName = Literal["linear", "rbf", "poly"]

#: The largest number that a double holds; a whole number may be larger, and is compared as it is.
LARGEST = float(np.finfo(np.float64).max)
_CHOICES = {"covariance": ("full", "diag"), "form": get_args(Form), "kernel": get_args(KernelName)}
KERNEL_PARAMETERS = (
    Parameter("gamma", 1.0, "factor of the squared distance (rbf) or of the inner product (poly)"),
    Parameter("degree", 3.0, "exponent (poly), a whole number", low=1.0, closed="left"),
    Parameter("coef0", 0.0, "constant added to the inner product (poly)", closed="left"),
)


FORGETTING = Parameter(
    "forgetting", 1.0, "by its inverse variances grow between examples", high=1.0, closed="right"
)
PLAIN = ("covariance", "projection", "form", "a", "forgetting")


@dataclass(frozen=True)
class Kernel:
    """A Mercer kernel: x.z, exp(-gamma ||x - z||^2) or (gamma x.z + coef0)^degree."""

    name: KernelName
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0


def split_options(definition: Definition, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options among the settings of an algorithm, checked, and the rest: its parameters.

    An option that is None is one that was not given.
    """
    own = {parameter.name for parameter in definition.parameters}
    # A contestant may have a parameter of such a name, and a rule one that kernels have too.
    names, reserved = NATIVE - own, RESERVED - own
    several = read_native(definition, {name: settings[name] for name in settings if name in reserved | names})
    taken = {name: settings[name] for name in definition.takes if settings.get(name) is not None}
    extras = {"extras": taken} if taken else {}
    settings = {name: value for name, value in settings.items() if name not in names.union(definition.takes)}
    if definition.order != "second":
        return several | extras, settings
    given = {name: value for name, value in settings.items() if name in reserved and value is not None}
    rest = {name: value for name, value in settings.items() if name not in reserved}
    if "kernel" in given and (both := sorted(KERNEL & own)):
        raise UserError(
            f"{definition.place}{definition.id} has a parameter named {', '.join(both)}, and so have "
            "kernels; rename the parameter to run it with a kernel"
        )
    _check_choices(definition, {**given, **several})
    forgets = given.get("forgetting", 1.0) < 1.0
    options: dict[str, Any] = {"form": "root" if forgets else definition.form, **several}
    if several:
        options["covariance"] = default_covariance(definition)
    options |= extras | {name: given[name] for name in PLAIN if name in given}
    if "kernel" in given:
        options["kernel"] = _read_kernel(definition.id, given)
    return options, rest


def list_ways(definition: Definition) -> list[dict[str, tuple[str, ...]]]:
    """Return the ways to run an algorithm by a rule: options that go together, each with its values.

    The default comes first: the full covariance in the form that the definition names. A value that the
    checks of options refuse is left out.
    """
    forms = sorted(_CHOICES["form"], key=lambda form: form != definition.form)
    matrices = sorted({*COVARIANCES} - {"diag"}, key=(default_covariance(definition), *COVARIANCES).index)
    native = {"multiclass": "native"}
    ways: list[tuple[dict[str, str], str, Iterable[str]]] = [
        ({"covariance": "full"}, "form", forms),
        ({"covariance": "full"}, "kernel", _CHOICES["kernel"]),
        ({"covariance": "diag"}, "projection", definition.projections),
        (native, "covariance", matrices),
        ({**native, "covariance": "diag"}, "projection", definition.projections),
    ]
    if definition.allocated:
        ways = [(native, "allocation", ALLOCATIONS)]
    elif definition.order == "first":
        ways = [({}, "multiclass", ("native",))]
    found = []
    for fixed, name, values in ways:
        allowed = tuple(value for value in values if _is_allowed(definition, {**fixed, name: value}))
        if allowed:
            found.append({**{key: (value,) for key, value in fixed.items()}, name: allowed})
    return found


def _is_allowed(definition: Definition, settings: dict[str, Any]) -> bool:
    try:
        options, rest = split_options(definition, settings)
    except UserError:
        return False
    return bool(options) and not rest


def _check_choices(definition: Definition, given: dict[str, Any]) -> None:
    id = definition.id
    native = {"covariance": COVARIANCES} if "multiclass" in given else {}
    for name, allowed in {**_CHOICES, **native}.items():
        if given.get(name, allowed[0]) not in allowed:
            raise UserError(f"{id}: {name} must be {_list_words(allowed)}, not {given[name]!r}")
    a = given.get("a", 1.0)
    if isinstance(a, bool) or not isinstance(a, int | float | np.number) or not 0.0 < a <= LARGEST:
        raise UserError(f"{id}: the initial variance a must be above zero, not {shorten(repr(a))}")
    diagonal = given.get("covariance", "full") == "diag"
    if diagonal and "form" in given:
        raise UserError(
            f"{id}: form says how a full covariance is stored, and this one is diagonal; leave it out"
        )
    if diagonal and not definition.diagonal:
        raise UserError(f"{id} has no diagonal form: {definition.no_diagonal}; use covariance='full'")
    if "forgetting" in given:
        _check_forgetting(definition, given)
    if "projection" in given:
        _check_projection(definition, given["projection"], diagonal)
    _check_kernel(id, given, diagonal)


def _check_forgetting(definition: Definition, given: dict[str, Any]) -> None:
    id, factor = definition.id, FORGETTING.check(given["forgetting"], definition.id)
    if factor == 1.0:
        return
    if not definition.is_gaussian:
        raise UserError(f"{id} cannot forget: its matrix is not the covariance of a Gaussian over weights")
    if "kernel" in given:
        raise UserError(f"{id}: forgetting lets the variances of features grow, which a kernel does not keep")
    if given.get("form") == "covariance":
        raise UserError(f"{id}: with forgetting, a full covariance is stored as a root; leave form out")


def _check_projection(definition: Definition, projection: Any, diagonal: bool) -> None:
    id, allowed = definition.id, definition.projections or ("kl", "l2")
    if projection == "exact" and "exact" not in allowed:
        raise UserError(
            f"{id} has no exact diagonal step, only cw and cw-var have one; "
            f"use projection={_list_words([repr(name) for name in allowed])}"
        )
    if projection not in allowed:
        raise UserError(f"{id}: projection must be {_list_words(allowed)}, not {projection!r}")
    if projection == "exact" and not diagonal:
        raise UserError(f"{id}: projection='exact' is a diagonal step; add covariance='diag'")


def _check_kernel(id: str, given: dict[str, Any], diagonal: bool) -> None:
    if "kernel" not in given:
        for parameter in KERNEL_PARAMETERS:
            if parameter.name in given:
                raise UserError(f"{id}: {parameter.name} needs kernel='rbf' or kernel='poly'")
    elif diagonal:
        raise UserError(f"{id}: a kernel has no diagonal covariance; use covariance='full'")
    elif "form" in given:
        raise UserError(
            f"{id}: form says how a full covariance is stored, and a kernel stores none; leave it out"
        )


def _read_kernel(id: str, given: dict[str, Any]) -> Kernel:
    gamma, degree, coef0 = (
        float(parameter.check(given.get(parameter.name, parameter.default), id))
        for parameter in KERNEL_PARAMETERS
    )
    if not degree.is_integer():
        raise UserError(f"{id}: degree must be a whole number, not {given['degree']!r}")
    return Kernel(given["kernel"], gamma, int(degree), coef0)


def _list_words(words: Any) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else str(last)
