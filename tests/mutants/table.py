"""Which modules are mutated, and which tests should notice."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

PASSES = (
    "tests/test_reference.py",
    "tests/test_rounds.py",
    "tests/test_conventions.py",
    "tests/test_carried.py",
)
FIRST = (
    "tests/test_reference.py::noisy.*(perceptron|pa|romma|alma|ogd|sgd)",
    *PASSES,
    "tests/test_epochs.py",
)
FULL = ("tests/test_reference.py::forms|noisy", "tests/test_kernels.py", *PASSES)
DIAGONAL = (
    "tests/test_kernels.py::exact",
    "tests/test_conventions.py::diag",
    "tests/test_exact.py",
    *PASSES,
    "tests/protocols/test_combination.py",
)
ADVICE = (
    "tests/advice/test_steps.py",
    "tests/advice/test_learner.py",
    "tests/test_reference.py::adviceptron",
    "tests/test_rounds.py::margin",
)
SHARED = ("tests/test_kernels.py", *PASSES, "tests/test_dual.py", "tests/test_multiclass.py")
DECLARED = ("tests/test_declarations.py", "tests/test_papers.py")
RULES = (*DECLARED, "tests/test_optimality.py", *PASSES)
OWN = (
    "tests/test_own_algorithm.py",
    "tests/test_richer_rules.py",
    "tests/test_small_defects.py",
    "tests/test_registries.py",
)
OPTIONS = ("tests/test_conventions.py", "tests/test_exact.py", "tests/test_dual.py", "tests/test_input.py")
VERDICTS = ("tests/report/test_verdicts.py", "tests/report/test_results.py", "tests/report/test_folds.py")
TUNING = ("olbench/protocols/tuning.py", "tests/runner/test_tuning.py", "tests/protocols/test_crossval.py")
ORDERS = (
    "tests/runner/test_run.py::orders|halves",
    "tests/runner/test_windows.py",
    "tests/trials/test_behaviour.py::seeds|part",
    "tests/runner/test_tuning.py",
)
RECORDS = (
    "tests/trials/test_records.py",
    "tests/trials/test_locks.py",
    "tests/runner/test_run.py::every_trial|touches_nothing|failing_trials",
    "tests/runner/test_safety.py::torn|damage|second_run|cannot_be_made",
)

#: Module -> its tests, those that decide most quickly first. A test file may be followed by a pattern that
#: the names of tests have to match. A module not named here has the tests of its folder.
TESTS: dict[str, tuple[str, ...]] = {
    "kernels": SHARED,
    "kernels.advice": ADVICE,
    "kernels.advice_sets": ADVICE,
    "kernels.averaged": ("tests/test_epochs.py", *FIRST),
    "kernels.blocked": FULL,
    "kernels.cone": ADVICE,
    "kernels.covariance": FULL,
    "kernels.diagonal": DIAGONAL,
    "kernels.dual": ("tests/test_dual.py", "tests/test_conventions.py"),
    "kernels.exact": DIAGONAL,
    "kernels.first_order": FIRST,
    "kernels.follow": ("tests/advice/test_curve.py", "tests/protocols/test_advice.py"),
    "kernels.labelled": ("tests/test_richer_rules.py",),
    "kernels.losses": (*RULES, "tests/advice/test_steps.py"),
    "kernels.product": ("tests/test_reference.py::diagonal_sop", *DIAGONAL),
    "kernels.root": ("tests/test_reference.py::forms|cw", *FULL),
    "kernels.screening": FULL,
    "kernels.sparse": ("tests/protocols/test_combination.py", "tests/protocols/test_shards.py"),
    "kernels.trace": ("tests/test_conventions.py::slices", "tests/test_epochs.py", "tests/test_python.py"),
    "algorithms": RULES,
    "algorithms.__init__": OWN,
    "algorithms.adviceptron": (*ADVICE, *DECLARED),
    "algorithms.averaged": (*FIRST, *DECLARED),
    "algorithms.batch": ("tests/test_batch.py", *DECLARED, "tests/protocols/test_crossval.py"),
    "algorithms.cw": (*RULES, "tests/test_exact.py"),
    "algorithms.definition": ("olbench/algorithms/definition.py", "tests/test_conventions.py", *OWN),
    "algorithms.options": OPTIONS,
    "algorithms.plugins": OWN,
    "algorithms.probing": OWN,
    "stats": ("olbench/stats.py", "tests/test_stats.py", "tests/report/test_claims.py"),
    "report.verdicts": VERDICTS,
    "protocols.tuning": TUNING,
    "trials.seeds": ORDERS,
    "trials.ledger": RECORDS,
    "trials.growing": RECORDS,
    "trials.record": RECORDS,
}  # fmt: skip
#: Types and decorators: every change there compiles everything anew, and none is arithmetic.
LEFT_OUT = ("kernels.__init__", "kernels.compile")


def list_modules() -> dict[str, Path]:
    """Return the modules to mutate and their files."""
    modules = {}
    for name in TESTS:
        path = ROOT / "olbench" / name.replace(".", "/")
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            module = ".".join(file.relative_to(ROOT / "olbench").with_suffix("").parts)
            if module not in LEFT_OUT:
                modules[module] = file
    return modules


def tests_of(module: str) -> tuple[str, ...]:
    """Return the tests of a module."""
    return TESTS.get(module) or TESTS[module.rpartition(".")[0]]
