"""The kernels of a run, compiled before its first trial, one per job at a time.

A kernel takes seconds to compile, once on a machine, and numba compiles one at a time in a process. So each
goes to a separate process, the longest first, and the rules come last. They meet in numba's cache on disk.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor

from olbench.algorithms import get_definition
from olbench.algorithms.algorithm import make_algorithm
from olbench.engine.resources import count_cores
from olbench.engine.stopping import StopFlag, hold_interrupts
from olbench.kernels.counters import BLOCKED_FROM
from olbench.learners.own_rules import run_rule
from olbench.learners.start import start
from olbench.learners.state import KernelLearner
from olbench.protocols.definition import Cell

Place = tuple[str, str]


def check_rules(cells: Sequence[Cell], say: Callable[[str], None] = lambda text: None) -> None:
    """Refuse users' rules that have the wrong form or do not compile, before the first trial."""
    for definition in {cell.spec.id: cell.definition for cell in cells}.values():
        if definition.is_own and definition.rule is not None:
            say(f"compiling {definition.id}")
            run_rule(definition, partial(getattr, definition, "compiled_rule"))


def compile_ahead(cells: Sequence[Cell], jobs: int, stop: StopFlag, say: Callable[..., None]) -> None:
    # The time to compile a kernel grows with its source.
    sizes = {place: len(inspect.getsource(import_module(place[0]))) for place in find_missing(cells)}
    places = sorted(sizes, key=lambda place: (sizes[place], place), reverse=True)
    if not places:
        return
    from olbench.kernels.cache import outlasts_process

    # Another process would have to load the plugin of a user's rule.
    definitions = {cell.spec.id: cell.definition for cell in cells if cell.definition.rule is not None}
    ids = sorted(id for id, each in definitions.items() if each.module.startswith("olbench."))
    is_kept = outlasts_process()
    left = dict.fromkeys(places)
    say(*describe_compiling(left, len(places), is_kept))
    # What fails is compiled again where it is used, and the error is reported there.
    with suppress(Exception):
        for place in compile_kernels(places, ids, min(jobs, count_cores()), stop):
            del left[place]
            say(*describe_compiling(left, len(places), is_kept))


NOT_KEPT = "; the cache folder cannot be written, so set OLBENCH_CACHE to one that can"


def describe_compiling(left: Iterable[Place], total: int, is_kept: bool) -> tuple[str, str]:
    """Return what is compiled and how far that is; the end may be cut by a terminal."""
    names = [module.rpartition(".")[2] for module, _ in left]
    kernels = "kernel" if total == 1 else "kernels"
    listed = f" ({', '.join(names)})" if names else ""
    detail = f": {total - len(names)} done{listed}{'' if is_kept else NOT_KEPT}"
    return f"compiling {total} {kernels} {'once' if is_kept else 'in every run'}", detail


def find_missing(cells: Sequence[Cell]) -> set[Place]:
    needed = {
        (cell.spec.id, tuple(options.items()), min(cell.source.d, BLOCKED_FROM))
        for cell in cells
        for options in cell.all_options
    }
    return {place for id, options, d in needed if (place := _find_kernel(id, dict(options), d))}


def _find_kernel(id: str, options: dict[str, object], d: int) -> Place | None:
    if get_definition(id).rule is None or options.get("multiclass") == "native":
        return None
    with suppress(Exception):
        learner = start(make_algorithm(id, **options), d)
        kernel = learner.kernel_state()[0] if isinstance(learner, KernelLearner) else None
        if kernel and not kernel.is_ready and learner.algorithm.definition.order == "compiled":
            return learner.algorithm.definition.module, id
        if kernel and not kernel.is_ready:
            return str(kernel.__module__), str(kernel.__name__)
    return None


def compile_kernels(
    places: Sequence[Place], ids: Sequence[str], jobs: int, stop: StopFlag
) -> Iterator[Place]:
    if min(jobs, len(places)) == 1:
        yield from filter(None, (stop.or_none(partial(_compile, place)) for place in places))
        return
    with parallel_config("loky", n_jobs=min(jobs, len(places)), inner_max_num_threads=1), hold_interrupts():
        calls = [*(delayed(_compile)(place) for place in places), delayed(_compile_rules)(ids)]
        results: Iterator[Place | None] = Parallel(return_as="generator_unordered", batch_size=1)(calls)
    try:
        for _ in calls:
            if place := stop.or_none(lambda: next(results)):
                yield place
    finally:
        get_reusable_executor(reuse=True).shutdown(wait=False, kill_workers=True)


def _compile(place: Place) -> Place:
    from olbench.kernels.calls import compile_pass

    module, name = place
    if not module.startswith("olbench.kernels."):
        start(make_algorithm(name), 1).warm_up()
        return place
    compile_pass(getattr(import_module(module), name))
    return place


def _compile_rules(ids: Sequence[str]) -> None:
    for id in ids:
        _ = get_definition(id).compiled_rule
