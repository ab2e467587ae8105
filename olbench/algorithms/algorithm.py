"""make_algorithm: an algorithm with its parameters and options, ready to start a learner."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from olbench.algorithms.definition import KERNEL, KERNELS, NATIVE, OPTIONS, Definition, Value, get_definition
from olbench.errors import UserError, shorten

#: The covariances of a native learner of several classes.
COVARIANCES = ("block", "shared", "diag")


@dataclass(frozen=True)
class Algorithm:
    """A definition with its parameters set; `make_algorithm` returns it and `online_pass` runs it."""

    definition: Definition
    params: Mapping[str, Value]
    covariance: str = "full"
    projection: str = "kl"
    form: str = "covariance"
    a: float = 1.0
    forgetting: float = 1.0
    #: A Mercer kernel: x.z, exp(-gamma ||x - z||^2) or (gamma x.z + coef0)^degree.
    kernel: str | None = None
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    #: The settings that the definition `takes`.
    extras: Mapping[str, Any] = field(default_factory=dict)
    #: How the classes are learnt with labels="all", also if there are only two; labels="two" is one learner.
    multiclass: str = "one-vs-rest"
    allocation: str = "max"

    @property
    def id(self) -> str:
        return self.definition.id

    @property
    def options(self) -> dict[str, Any]:
        """The options that mean something to it, as a record names them.

        One-vs-rest, the default, is not named: trials on record do not name it either.
        """
        named: dict[str, Any] = {}
        if self.definition.order == "second":
            detail = "projection" if self.covariance == "diag" else "form"
            named = {"covariance": self.covariance, detail: getattr(self, detail), "a": float(self.a)}
        if self.kernel is not None:
            del named["form"]
            named |= {"kernel": self.kernel, **{name: getattr(self, name) for name in KERNELS[self.kernel]}}
        if self.forgetting < 1.0:
            named["forgetting"] = float(self.forgetting)
        if self.multiclass == "native":
            named["multiclass"] = "native"
        if self.allocation != "max":
            named["allocation"] = self.allocation
        return named

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}" for name, value in {**self.params, **self.options}.items())
        return f"<Algorithm {self.id!r}{settings}>"


def make_algorithm(id: str, **settings: Any) -> Algorithm:
    """Return the algorithm `id` with these parameters.

    Second-order algorithms also take covariance ("full" or "diag"), projection ("kl" or "l2" for diag; cw and
    cw-var also have "exact"), form ("covariance" or "root" for full), the initial variance a, and forgetting
    (below 1, every variance grows by 1 / forgetting between examples, up to a). With kernel
    ("linear", "rbf" or "poly", and gamma, degree, coef0) they run in the kernel's feature space. Some
    algorithms take further settings.

    multiclass="native" learns several classes (labels="all") in one learner instead of one-vs-rest, where an
    algorithm has it. Its covariance is "block" (one per class), "shared" or "diag".
    A native perceptron takes allocation ("max", "uniform" or "prop").

    >>> make_algorithm("scw1", C=0.5).params
    {'C': 0.5, 'eta': 0.75}
    """
    definition = get_definition(id)
    # A parameter may have the name of an option that its algorithm does not have.
    own = {parameter.name for parameter in definition.parameters}
    known = (OPTIONS.keys() if definition.order == "second" else NATIVE) - own
    options: dict[str, Any] = {}
    params: dict[str, Any] = {}
    extras: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in {*known, *definition.takes}:
            params[name] = value
        elif value is not None:
            (options if name in known else extras)[name] = value
    options = {name: OPTIONS[name].check(value, definition.id) for name, value in options.items()}
    is_native = options.get("multiclass", "native" if definition.only_native else "") == "native"
    for sentence in find_conflicts(definition, options, is_native):
        raise UserError(f"{definition.id}{sentence}")
    if is_native:
        options["multiclass"] = "native"
    if definition.order == "second":
        options.setdefault("form", "root" if options.get("forgetting", 1.0) < 1.0 else definition.form)
        options.setdefault("covariance", default_covariance(definition) if is_native else "full")
    if "degree" in options:
        options["degree"] = int(options["degree"])
    return Algorithm(definition, definition.resolve(params), extras=extras, **options)


def find_algorithm(algorithm: Any, settings: Mapping[str, Any]) -> Algorithm:
    if isinstance(algorithm, str):
        return make_algorithm(algorithm, **settings)
    if not isinstance(algorithm, Algorithm):
        raise UserError(
            f"{shorten(repr(algorithm))} is not an algorithm; give its id, what make_algorithm returns, or "
            "wrap(...) around an object of another library"
        )
    if settings:
        raise UserError(
            f"{', '.join(settings)}: {algorithm.id} is made already; give its settings to make_algorithm, or "
            "its id here"
        )
    return algorithm


def find_conflicts(definition: Definition, options: Mapping[str, Any], is_native: bool) -> Iterator[str]:
    """Yield why these options, each of them valid, cannot go together."""
    shares, exact = options.get("allocation", "max") != "max", options.get("projection") == "exact"
    if shares and not (is_native and definition.allocated):
        yield ": allocation is for a perceptron with multiclass='native'; leave it out"
    if definition.only_native and not is_native:
        yield " learns several classes natively or not at all; leave multiclass out"
    if is_native and (reason := refuse_native(definition, options)):
        remedy = "leave its options out" if definition.only_native else "use multiclass: one-vs-rest"
        yield f" has no native form for several classes: {reason}; {remedy}"
    allowed = COVARIANCES if is_native else ("full", "diag")
    covariance = options.get("covariance", allowed[0])
    if covariance not in allowed:
        yield f": covariance must be one of {', '.join(allowed)}, not {covariance!r}"
    has_form, has_kernel = "form" in options, "kernel" in options
    if covariance == "diag" and has_form:
        yield ": form applies only to covariance='full'; remove it"
    if covariance == "diag" and definition.no_diagonal:
        yield f" has no diagonal form: {definition.no_diagonal}; use covariance='full'"
    if options.get("forgetting", 1.0) < 1.0:
        if not definition.is_gaussian:
            yield " cannot forget: its matrix is not the covariance of a Gaussian over weights"
        if has_kernel:
            yield ": forgetting applies to the variances of features, which a kernel does not keep"
        if options.get("form") == "covariance":
            yield ": with forgetting, a full covariance is stored as a root; leave form out"
    projections = definition.projections or ("kl", "l2")
    if exact and "exact" not in projections:
        use = " or ".join(map(repr, projections))
        yield f" has no exact diagonal step, only cw and cw-var have one; use projection={use}"
    if options.get("projection", "kl") not in projections:
        yield f": projection must be {' or '.join(projections)}, not {options['projection']!r}"
    if exact and covariance != "diag":
        yield ": projection='exact' is a diagonal step; add covariance='diag'"
    if has_kernel and covariance == "diag":
        yield ": a kernel has no diagonal covariance; use covariance='full'"
    if has_kernel and has_form:
        yield ": form does not apply to a kernel, which stores no covariance; remove it"
    for name in KERNEL:
        kernels = [kernel for kernel, settings in KERNELS.items() if name in settings]
        if name in options and options.get("kernel") not in kernels:
            yield f": {name} needs {' or '.join(f'kernel={each!r}' for each in kernels)}"
        if has_kernel and any(parameter.name == name for parameter in definition.parameters):
            yield f" cannot run with a kernel: {name} is already one of its parameters"
    if not float(options.get("degree", 3)).is_integer():
        yield f": degree must be a whole number, not {options['degree']!r}"


def refuse_native(definition: Definition, options: Mapping[str, Any]) -> str:
    """Return why an algorithm with these options has no native form for several classes, or ""."""
    if definition.order not in ("first", "second"):
        return "it is not a rule for one margin"
    if definition.averaged:
        return "the mean of the weights over the rounds is kept for two classes only"
    if definition.order == "first":
        return ""
    if "kernel" in options or options.get("forgetting", 1.0) < 1.0:
        return "a kernel and forgetting are for two classes"
    if not definition.is_gaussian:
        return "its matrix is not the covariance of a Gaussian over weights"
    covariance = options.get("covariance", default_covariance(definition))
    if definition.only_native:
        return "" if covariance == "shared" else f"the toolbox has covariance: shared, not {covariance}"
    has_exact_step = covariance == "diag" and options.get("projection") == "exact"
    if has_exact_step or definition.pair is not None or definition.has_constant_gain:
        return ""
    return (
        "the precision c that its rule adds depends on the variance v, so its step is not the optimum "
        f"for the covariances of two classes ({covariance})"
    )


def default_covariance(definition: Definition) -> str:
    """Return the covariance of a native learner unless another one is named."""
    return "shared" if definition.only_native else "block"


def list_ways(definition: Definition) -> list[dict[str, tuple[str, ...]]]:
    """Return the ways to run a rule: options that go together, each with its allowed values.

    The default comes first: the full covariance in the form that the definition names.
    """
    forms = sorted(OPTIONS["form"].choices, key=lambda form: form != definition.form)
    matrices = sorted(("block", "shared"), key=lambda each: each != default_covariance(definition))
    native = {"multiclass": "native"}
    ways: list[tuple[dict[str, str], str, Iterable[str]]] = [
        ({"covariance": "full"}, "form", forms),
        ({"covariance": "full"}, "kernel", OPTIONS["kernel"].choices),
        ({"covariance": "diag"}, "projection", definition.projections),
        (native, "covariance", matrices),
        ({**native, "covariance": "diag"}, "projection", definition.projections),
    ]
    if definition.allocated:
        ways = [(native, "allocation", OPTIONS["allocation"].choices)]
    elif definition.order == "first":
        ways = [({}, "multiclass", ("native",))]
    found = []
    for fixed, name, values in ways:
        allowed = tuple(value for value in values if _is_allowed(definition, {**fixed, name: value}))
        if allowed:
            found.append({**{key: (value,) for key, value in fixed.items()}, name: allowed})
    return found


def _is_allowed(definition: Definition, settings: dict[str, Any]) -> bool:
    with suppress(UserError):
        return bool(make_algorithm(definition.id, **settings))
    return False
