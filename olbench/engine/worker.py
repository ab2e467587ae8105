"""What runs on a worker of a cluster.

Messages and answers are plain values, so that a worker with any other version of olbench can read enough of
them to be refused. An answer has one of the keys of `Answer`, and the worker's address.
"""

import hashlib
import json
import os
import socket
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import Any, TypedDict

from threadpoolctl import threadpool_limits

from olbench import __version__
from olbench.algorithms.definition import REGISTRY as ALGORITHMS
from olbench.algorithms.plugins import load_plugin
from olbench.data.folders import cache_folder
from olbench.data.load import Dataset
from olbench.data.parcels import OtherDataError, find_data, receive
from olbench.data.source import Source
from olbench.engine.executors import Task, attempt, warm_up
from olbench.engine.stopping import StopFlag
from olbench.errors import UserError
from olbench.protocols import get_protocol
from olbench.protocols.definition import REGISTRY as PROTOCOLS
from olbench.specs import DatasetSpec
from olbench.trials import behaviour as behaviours
from olbench.trials.trial import Trial

PACKAGE = Path(__file__).resolve().parent.parent
#: Data sets whose examples stay open; those before them are memory maps, and opened again when needed.
OPEN_SOURCES = 2


class Answer(TypedDict, total=False):
    """What a worker answers: a finished trial, or why it did not run."""

    worker: str
    record: dict[str, Any]
    arrays: Mapping[str, Any]
    #: The fingerprint of the data that it lacks.
    needs: str
    #: Why this worker must not run trials of this client.
    refused: str
    #: The trial was cancelled.
    stopped: bool


class _RefusalError(Exception):
    """This worker would not compute what the client would."""


def identify() -> str:
    """Return the version of olbench and a hash of its sources."""
    return f"{__version__} (sources {SOURCES})"


def _digest_sources() -> str:
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:8]


#: Taken when this module is imported: the files of a worker that runs for days may change under it.
SOURCES = _digest_sources()


def write_plugins(paths: Sequence[str]) -> list[dict[str, str]]:
    """Return plugin files by name, hash and content."""
    files = [(Path(path).name, Path(path).read_bytes()) for path in paths]
    return [
        {"name": name, "sha256": hashlib.sha256(content).hexdigest(), "content": content.decode()}
        for name, content in files
    ]


def write_message(trial: Trial, source: Source, plugins: Sequence[Mapping[str, str]]) -> str:
    """Return what a worker has to know to run a trial."""
    return json.dumps(
        {
            "olbench": identify(),
            "trial": trial.identity(),
            "data": source.spec.plain(),
            "facts": get_protocol(trial.protocol).facts(source),
            "plugins": plugins,
        }
    )


def run_task(text: str) -> Answer:
    """Run the trial of a message on this worker."""
    worker, stop = _surroundings()
    message = json.loads(text)
    try:
        return {"worker": worker, **_run(message, stop)}
    except (_RefusalError, OtherDataError) as error:
        return {"worker": worker, "refused": str(error)}


def _run(message: Mapping[str, Any], stop: StopFlag) -> Answer:
    if message["olbench"] != identify():
        raise _RefusalError(f"it has olbench {identify()}, and this run has {message['olbench']}")
    _limit_threads()
    _load_plugins(message["plugins"])
    trial = Trial(**message["trial"])
    source = _open_source(DatasetSpec.from_plain(message["data"]), trial.dataset, trial.fingerprint)
    if source is None:
        return {"needs": trial.fingerprint}
    source.facts = message["facts"]
    _prepare(trial, source)
    finished = attempt(trial, source, stop)
    if finished is None:
        return {"stopped": True}
    return {"record": finished.record, "arrays": dict(finished.arrays)}


def receive_data(wanted: str, parcel: Mapping[str, Any]) -> Answer:
    """Take the examples that the client sends."""
    worker, _ = _surroundings()
    try:
        data = receive(wanted, parcel)
    except OtherDataError as error:
        return {"worker": worker, "refused": str(error)}
    with _lock:
        _received[wanted] = data
    return {"worker": worker}


class _TaskFlag(StopFlag):
    """Set when nobody wants the task any more, or when its worker is closing."""

    def __init__(self, is_wanted: Callable[[], bool]):
        super().__init__()
        self.is_wanted = is_wanted

    def is_set(self) -> bool:
        """Tell whether to stop."""
        return not self.is_wanted()


def _surroundings() -> tuple[str, StopFlag]:
    """Return the address of this worker with its host, and a flag for the task that runs on this thread."""
    from distributed import get_worker
    from distributed.core import Status

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        open_states = (Status.running, Status.paused, Status.closing_gracefully)
        return task is not None and task.state != "cancelled" and worker.status in open_states

    return f"{worker.address} on {socket.gethostname()}", _TaskFlag(is_wanted)


_lock = Lock()
_sources: OrderedDict[tuple[DatasetSpec, str], Source] = OrderedDict()
_received: dict[str, Dataset] = {}
_prepared: set[tuple[str, str, str]] = set()
#: The modules of the plugins that are loaded, by the hashes of their files.
_loaded: dict[str, str] = {}


@cache
def _limit_threads() -> None:
    """Keep BLAS on one thread, as a run without a cluster does, for as long as this process lives."""
    threadpool_limits(1)


def _open_source(spec: DatasetSpec, name: str, wanted: str) -> Source | None:
    """Return the source with a fingerprint, one object for all trials of this process; None if not here."""
    with _lock:
        source = _sources.get((spec, wanted))
        if source is None:
            data = _received.pop(wanted, None) or find_data(spec, name, wanted)
            if data is None:
                return None
            named = Dataset(name, data.X, data.y, wanted, data.test_from)
            source = _sources[spec, wanted] = Source(spec, named, can_reload=False)
        _sources.move_to_end((spec, wanted))
        for other in list(_sources.values())[:-OPEN_SOURCES]:
            other.close()
        return source


def _prepare(trial: Trial, source: Source) -> None:
    """Compile what a trial needs, and see that it behaves here as it does on the client; both once."""
    kind = trial.algorithm, str(trial.options), trial.code
    with _lock:
        if kind in _prepared:
            return
        warm_up([Task(trial, source)], StopFlag())
        behaviour = behaviours.behaviour(trial.algorithm, trial.options)
        # A protocol of a later version adds "-" and its number.
        if behaviour != trial.code.partition("-")[0]:
            raise _RefusalError(
                f"{trial.algorithm} behaves differently there ({behaviour} with {_versions()}) and here "
                f"({trial.code})"
            )
        _prepared.add(kind)


def _versions() -> str:
    installed = []
    for name in (*behaviours.COMPILERS, "scikit-learn"):
        try:
            installed.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(installed)


def _load_plugins(plugins: Sequence[Mapping[str, str]]) -> None:
    """Load the client's plugins from copies in this worker's cache, in place of those of earlier runs."""
    wanted = {plugin["sha256"]: plugin for plugin in plugins}
    with _lock:
        if not wanted or wanted.keys() == _loaded.keys():
            return
        for digest in _loaded.keys() - wanted.keys():
            _unload(_loaded.pop(digest))
        for digest in wanted.keys() - _loaded.keys():
            path = _keep_plugin(wanted[digest]["name"], digest, wanted[digest]["content"].encode())
            load_plugin(path)
            _loaded[digest] = next(name for name, each in sys.modules.items() if _file_of(each) == str(path))


def _file_of(module: Any) -> str:
    return str(getattr(module, "__file__", ""))


def _unload(module: str) -> None:
    """Forget the algorithms and protocols of a plugin, and what was found out about them."""
    sys.modules.pop(module, None)
    for id in [each.id for each in ALGORITHMS.values() if each.module == module]:
        del ALGORITHMS[id]
    for id in [id for id, each in PROTOCOLS.items() if type(each).__module__ == module]:
        del PROTOCOLS[id]
    behaviours.forget()
    _prepared.clear()


def _keep_plugin(name: str, digest: str, content: bytes) -> Path:
    """Write a plugin to a folder named by its hash, and return its path."""
    if hashlib.sha256(content).hexdigest() != digest:
        raise UserError(f"the plugin {name} did not arrive as it was sent")
    path = cache_folder().resolve() / "plugins" / digest[:16] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".draft-{os.getpid()}-{name}")
    draft.write_bytes(content)
    draft.replace(path)
    return path
