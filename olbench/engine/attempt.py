"""An attempt: one trial becomes one record, whatever happens."""

import time
from collections.abc import Callable
from functools import partial

from olbench.engine.stopping import StopFlag, UserInterruptError
from olbench.learners.own_rules import run_rule
from olbench.learners.passes import StoppedError
from olbench.protocols import get_protocol
from olbench.protocols.definition import numbers_of
from olbench.records.record import failure, success
from olbench.records.trial import Outcome, Record, Trial


def attempt(trial: Trial, stop: StopFlag, run: Callable[[], Outcome] | None = None) -> Record | None:
    """Run a trial and return its record, also of a failure; a trial that was stopped gives None.

    `run` is another way to run it, such as in parts on many machines.
    """
    protocol = get_protocol(trial.protocol)
    started = time.perf_counter()
    try:
        work = run or partial(protocol.run, trial, trial.source, stop.is_set)
        outcome = run_rule(trial.definition, work, stop.is_set)
    except StoppedError:
        return None
    except UserInterruptError:
        raise
    # sys.exit in a contestant would end the command as if all were well.
    except BaseException as error:
        return fail(trial, error)
    seconds = time.perf_counter() - started
    return None if outcome is None else success(trial, outcome, protocol.numbered, seconds)


def fail(trial: Trial, error: BaseException) -> Record:
    protocol = get_protocol(trial.protocol)
    names = (*(each.name for each in numbers_of(protocol)), *(each.of for each in protocol.series))
    return failure(trial, error, protocol.numbered, names)
