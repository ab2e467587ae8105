"""What ships with the code and works by name anywhere: configs, and the runs that reproduce the papers."""

from importlib.util import find_spec
from pathlib import Path

from olbench.errors import UserError, suggest
from olbench.records.container import SUFFIX, open_bundle

REFERENCE = "reference"
#: The package of the runs beyond the papers, which would double the size of olbench, and these runs.
MORE, MORE_RUNS = "olbench_results", ("multiclass", "multiclass-diag", "streams")
BASELINE = Path("results/ci-baseline.json")


def find_folder(name: str) -> Path:
    package = Path(__file__).resolve().parents[1]
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def configs() -> dict[str, Path]:
    return {path.stem: path for path in sorted(find_folder("configs").glob("*.yaml"))}


def runs() -> dict[str, Path]:
    more = find_spec(MORE)
    roots = [*map(Path, (more and more.submodule_search_locations) or ()), find_folder("results")]
    folders = (folder for root in roots for folder in root.glob(f"*/{REFERENCE}") if folder.is_dir())
    return dict(sorted((folder.parent.name, folder) for folder in folders))


def find_config(name: str) -> Path:
    path = Path(name)
    if path.is_file() or path.suffix or path.parent != Path():
        return path
    known = configs()
    if name not in known:
        raise UserError(
            f"there is no config '{name}'{suggest(name, list(known))}; `olbench list` shows what ships"
        )
    return known[name]


def find_plugin(path: str) -> str:
    """Return the file of a plugin; those of configs that ship lie beside them."""
    shipped = find_folder("configs") / path
    return str(shipped) if not Path(path).is_file() and shipped.is_file() else path


def find_run(folder: str | Path) -> Path:
    """A folder that is there, results/NAME, or the run that ships as NAME; NAME/reference always ships.

    A bundle is unpacked into the cache.
    """
    path, shipped = Path(folder), runs()
    if path.exists():
        return open_bundle(path) if path.suffix == SUFFIX and path.is_file() else path
    if path.name == REFERENCE and str(path.parent) in shipped:
        return shipped[str(path.parent)]
    if path.parent != Path():
        return path
    own = Path("results") / path
    if (own / "run.json").is_file():
        return own
    if str(path) in MORE_RUNS and str(path) not in shipped:
        raise UserError(
            f"the run '{path}' is in a separate package; `pip install 'olbench[results]'` gets it"
        )
    if str(path) not in shipped:
        known = [*shipped, *(each.parent.name for each in sorted(own.parent.glob("*/run.json")))]
        hint = f"run {path}` makes one" if str(path) in configs() else "list` shows what ships"
        raise UserError(
            f"there is no run '{path}' here, in results or among the shipped runs"
            f"{suggest(str(path), known)}; `olbench {hint}"
        )
    return shipped[str(path)]


def is_hidden(name: str | Path) -> bool:
    known = runs().get(str(name))
    return known is not None and find_run(name).resolve() != known.resolve()


def is_shipped(folder: Path) -> bool:
    """Return whether a run came with the code, so that nothing may be written into its folder."""
    path, package = folder.resolve(), Path(__file__).resolve().parents[1]
    return path.is_relative_to(package) or path.parent in {each.resolve().parent for each in runs().values()}


def find_baseline(config: str) -> Path:
    """Return what a check of a config is compared with by default: this folder's baseline, or what ships."""
    if config not in configs() or BASELINE.is_file():
        return BASELINE
    shipped = find_folder("results") / f"{config}-baseline.json"
    return shipped if shipped.is_file() else runs().get(config, BASELINE)


def describe(path: Path) -> str:
    head = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        head.append(line.lstrip("# "))
    text = " ".join(head)
    end = text.find(". ")
    return (text if end < 0 else text[:end]).rstrip(".:")
