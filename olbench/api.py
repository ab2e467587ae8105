"""A run from Python: `olbench.run(config)` does what `olbench run CONFIG` does, and returns the results."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olbench.config.specs import Config
    from olbench.report.results import Results


def run(
    config: "str | Path | Mapping[str, Any] | Config", out: str | Path | None = None, *,
    jobs: int | None = None, set: Iterable[str] = (), skip_missing: bool = False, quiet: bool = True,
) -> "Results":  # fmt: skip
    """Run an experiment, or the missing part of it, and return its results.

    `config` is the path of a YAML file, the name of a config that ships, or the content of one as a mapping.
    Records go to the folder `out`; what is in it already is not run again. By default it is results/NAME for
    a file or a name; a mapping needs one. `set` takes overrides such as "permutations=5".

    >>> import tempfile
    >>> spec = {"datasets": ["breast-cancer"], "algorithms": ["perceptron", "pa1"], "permutations": 2}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run(spec, folder, jobs=1)
    >>> results.to_frame().groupby("algorithm").size().to_dict()
    {'pa1': 2, 'perceptron': 2}
    """
    from olbench.data.source import find_sources
    from olbench.engine.budget import refuse_excess
    from olbench.engine.executors.local import default_jobs
    from olbench.engine.runner import open_run
    from olbench.protocols import get_protocol
    from olbench.report.results import load_results
    from olbench.trials.run_file import now

    plan, folder = _read(config, out, set)
    sources, _ = find_sources(plan.datasets, skip_missing)
    cells = get_protocol(plan.protocol).cells(plan, sources)
    workers = jobs or default_jobs()
    refuse_excess(cells, workers)
    with open_run(folder, cells, workers, quiet=quiet) as started:
        if started.missing or not started.is_recorded:
            started.write()
            started.complete(record=True)
            started.write(end=None if started.stop.is_set() else now())
        if started.stop.is_set():
            raise KeyboardInterrupt
    return load_results(folder)


def _read(config: Any, out: str | Path | None, overrides: Iterable[str]) -> "tuple[Config, Path]":
    """Return the config, and the folder for its records."""
    from olbench.config import apply_overrides, parse_config, read_config
    from olbench.config.specs import Config
    from olbench.errors import UserError
    from olbench.shipped import find_config
    from olbench.yaml_lines import from_plain

    if isinstance(config, str | Path):
        path = find_config(str(config))
        return read_config(path, overrides), Path(out or Path("results") / path.stem)
    if out is None:
        raise UserError("a config without a file needs a folder for its records: run(config, out=...)")
    if isinstance(config, Config):
        return config, Path(out)
    return parse_config(apply_overrides(from_plain(dict(config), "config"), overrides), Path()), Path(out)
