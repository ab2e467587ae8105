"""What runs on a worker of a cluster.

Messages and answers are plain values, so that a worker with any other version of olbench can read enough of
them to be refused. An answer has the worker's address and needs_data, refused, or the records of the trials
with the seconds that they took; those of trials that were cancelled are not there.
"""

import hashlib
import json
import socket
import time
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

from threadpoolctl import threadpool_limits

from olbench import __version__
from olbench.algorithms import load_plugin
from olbench.data.dataset import Dataset
from olbench.data.source import OtherDataError, Source, find_data, receive
from olbench.data.spec import DatasetSpec
from olbench.engine.local import attempt, warm_up
from olbench.engine.stopping import StopFlag
from olbench.files import cache_folder, write_text
from olbench.learners.passes import StoppedError
from olbench.plugins import forget_file, load_file
from olbench.protocols import get_protocol
from olbench.protocols.definition import InParts, fold
from olbench.records import provenance
from olbench.records.trial import Outcome, Record, Trial, code_of

#: Data sets whose examples stay open; those before them are memory maps, and opened again when needed.
OPEN_SOURCES = 2
PAUSE = 0.02


class _RefusalError(Exception):
    """This worker would not compute what the client would."""


def identify() -> str:
    return f"{__version__} (sources {SOURCES})"


#: Taken when this module is imported: the files of a worker that runs for days may change under it.
SOURCES = provenance.digest_sources()[:8]


def write_plugins(paths: Sequence[str]) -> list[dict[str, str]]:
    files = [(Path(path).name, Path(path).read_bytes()) for path in paths]
    return [
        {"name": name, "sha256": hashlib.sha256(content).hexdigest(), "content": content.decode()}
        for name, content in files
    ]


def write_message(trials: Sequence[Trial], plugins: Sequence[Mapping[str, str]]) -> str:
    """Return a message with trials of one kind, which have the same data."""
    source = trials[0].source
    about = {"data": source.spec.plain(), "facts": dict(source.facts)}
    sent = [trial.message() for trial in trials]
    return json.dumps({"olbench": identify(), "trials": sent, **about, "plugins": plugins})


def run_task(text: str, alone: bool = False, parcel: Dataset | None = None) -> dict[str, Any]:
    """Run the trials of a message on this worker, or spread their parts over the cluster unless it is alone.

    The parcel has their data, if a worker has asked for it before.
    """
    stop = _TaskFlag()
    worker = f"{stop.worker.address} on {socket.gethostname()}"
    try:
        trials = _make_ready(json.loads(text), parcel)
    except _RefusalError as error:
        return {"worker": worker, "refused": str(error)}
    if trials is None:
        return {"worker": worker, "needs_data": True}
    started, records = time.perf_counter(), list[Record]()
    for trial in trials:
        protocol, spread = get_protocol(trial.protocol), None
        if not alone and isinstance(protocol, InParts) and protocol.parts(trial):
            spread = partial(_spread, protocol, text, trial, stop)
        if (record := attempt(trial, stop, spread)) is None:
            break
        records.append(record)
    return {"worker": worker, "records": records, "seconds": time.perf_counter() - started}


def _make_ready(message: Mapping[str, Any], parcel: Dataset | None = None) -> list[Trial] | None:
    if message["olbench"] != identify():
        raise _RefusalError(f"it has olbench {identify()}, and this run has {message['olbench']}")
    _load_plugins(message["plugins"])
    source = _open_source(message, parcel)
    if source is None:
        return None
    source.facts = message["facts"]
    trials = [Trial(**each, source=source) for each in message["trials"]]
    _prepare(trials[0])
    return trials


def _spread(protocol: InParts, text: str, trial: Trial, stop: StopFlag) -> Outcome:
    """Run the parts of a trial on the workers that hold its data, and join them there as a tree.

    Dask repeats parts that are lost with a worker. If it gives up, or the cluster shrinks to this worker, the
    trial runs here as a whole: if it kills workers, it then does so alone, and the client notices.
    """
    from distributed import worker_client
    from distributed.client import FutureCancelledError
    from distributed.scheduler import KilledWorker

    # The thread of this task is free for parts while it waits for them.
    with suppress(KilledWorker, FutureCancelledError), worker_client() as client:
        answers = client.run(can_run, text, on_error="return")
        holders = [address for address, answer in answers.items() if answer is True]
        if len(holders) > 1:
            name = f"{trial.key}-{uuid.uuid4().hex[:12]}"
            parts = (
                client.submit(
                    run_part, text, part, key=f"olbench-part-{name}-{part}", workers=holders, priority=1
                )
                for part in range(protocol.parts(trial))
            )
            numbers = count()

            def join(left: Any, right: Any) -> Any:
                key = f"olbench-join-{name}-{next(numbers)}"
                return client.submit(join_parts, left, right, key=key, workers=holders, priority=2)

            joined = fold(parts, join)
            while not joined.done():
                if stop.is_set():
                    raise StoppedError
                time.sleep(PAUSE)
            return protocol.finish(trial, joined.result(), stop.is_set)
    return get_protocol(trial.protocol).run(trial, trial.source, stop.is_set)


def can_run(text: str) -> bool:
    message = json.loads(text)
    return message["olbench"] == identify() and _open_source(message) is not None


def run_part(text: str, part: int) -> Any:
    stop = _TaskFlag()
    ready = _make_ready(json.loads(text))
    if ready is None:
        raise RuntimeError("the worker has lost the data of the trial")
    [trial] = ready
    protocol = get_protocol(trial.protocol)
    assert isinstance(protocol, InParts)
    return protocol.run_part(trial, part, stop.is_set)


def join_parts(left: Any, right: Any) -> Any:
    return left.join(right)


class _TaskFlag(StopFlag):
    """Set when nobody wants the task that runs on this thread any more, or when its worker is closing."""

    def __init__(self) -> None:
        from distributed import get_worker

        super().__init__()
        self.worker: Any = get_worker()
        self.key = self.worker.get_current_task()

    def is_set(self) -> bool:
        from distributed.core import Status

        task = self.worker.state.tasks.get(self.key)
        open_states = (Status.running, Status.paused, Status.closing_gracefully)
        return task is None or task.state == "cancelled" or self.worker.status not in open_states


_lock = Lock()
_sources: OrderedDict[tuple[DatasetSpec, str], Source] = OrderedDict()
_prepared: set[tuple[str, str, str]] = set()
_loaded: dict[str, str] = {}


def _open_source(message: Mapping[str, Any], parcel: Dataset | None = None) -> Source | None:
    """Return the data of a message, one object for all trials of this process; None if it is not here."""
    name, wanted = (message["trials"][0][each] for each in ("dataset", "fingerprint"))
    spec = DatasetSpec.from_plain(message["data"])
    with _lock:
        source = _sources.get((spec, wanted))
        if source is None:
            data = None if parcel is None else receive(wanted, parcel)
            if data is None:
                # Another file of the same name does not count; the client sends the right one.
                with suppress(OtherDataError):
                    data = find_data(spec, name, wanted)
            if data is None:
                return None
            source = _sources[spec, wanted] = Source(spec, replace(data, name=name), can_reload=False)
        _sources.move_to_end((spec, wanted))
        for other in list(_sources.values())[:-OPEN_SOURCES]:
            other.close()
        return source


def _prepare(trial: Trial) -> None:
    """Compile what a trial needs, once; refuse it if an installed package has another version here."""
    kind = trial.algorithm, str(trial.options), trial.code
    with _lock:
        if kind in _prepared:
            return
        threadpool_limits(1)  # as a run without a cluster does
        warm_up([trial], StopFlag())
        code = code_of(trial.definition, get_protocol(trial.protocol).version)
        if code != trial.code:
            raise _RefusalError(f"{trial.algorithm} has version {code} there and {trial.code} here")
        _prepared.add(kind)


def _load_plugins(plugins: Sequence[Mapping[str, str]]) -> None:
    wanted = {plugin["sha256"]: plugin for plugin in plugins}
    with _lock:
        if not wanted or wanted.keys() == _loaded.keys():
            return
        for digest in _loaded.keys() - wanted.keys():
            forget_file(_loaded.pop(digest))
            _prepared.clear()
        for digest in wanted.keys() - _loaded.keys():
            path = cache_folder().resolve() / "plugins" / digest[:16] / wanted[digest]["name"]
            write_text(path, wanted[digest]["content"])
            load_plugin(path)
            _loaded[digest] = load_file(path)
