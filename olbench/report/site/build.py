"""Writes the site: all pages into a draft beside the target, which then takes its place."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from olbench.analysis.results import Results, load_results
from olbench.errors import UserError, escape_controls, show_name
from olbench.records import shipped
from olbench.report.grid import list_some
from olbench.report.renderers.html import make_environment, read_part
from olbench.report.site.model import SiteRun
from olbench.report.site.names import quote
from olbench.report.site.pages import make_pages

FOLDER = Path(__file__).parent
#: In every site: the list of its files, so that nothing else is ever deleted.
MARKER = ".olbench-site"
#: The end of a cell or row before another one.
CLOSING = re.compile(r"</t[dhr]>\s*(?=<t[dhr]\b|</t)")


def load_runs(given: Sequence[str | Path]) -> list[SiteRun]:
    """Each run once; without any given, all that ship. Runs without a trial are left out."""
    found: dict[str, SiteRun] = {}
    seen: set[Path] = set()
    for each in given or shipped.runs():
        results = load_results(each)
        place = results.folder.resolve()
        if place in seen or not any(entry.done for entry in results.entries):
            continue
        seen.add(place)
        name = _command_name(each, results)
        again = (f"{name} ({number})" for number in range(2, len(found) + 3))
        unique = next(each for each in (name, *again) if each not in found)
        found[unique] = SiteRun(results, unique)
    return [found[name] for name in sorted(found)]


def _command_name(given: str | Path, results: Results) -> str:
    """Of an absolute path only the end is shown: where a folder is on one machine is nobody's business."""
    place = results.folder.resolve()
    for name, folder in shipped.runs().items():
        if folder.resolve() == place:
            return name
    path = Path(given)
    text = path.name or results.name if path.is_absolute() or ".." in path.parts else path.as_posix()
    return text.encode(errors="replace").decode()


def build_site(runs: Sequence[SiteRun], target: Path) -> int:
    """Write the site; return how many pages it has. It appears whole or not at all."""
    place = Path(os.path.realpath(target))
    check_target(place, runs)
    # With an ending, the name itself could be too long.
    stem = f".{sha256(os.fsencode(place.name)).hexdigest()[:12]}.{os.getpid()}"
    draft, old = place.with_name(f"{stem}.part"), place.with_name(f"{stem}.old")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir()
        try:
            pages = _write_all(runs, draft)
            if place.exists():
                place.rename(old)
            try:
                draft.rename(place)
            except OSError:
                if old.exists():
                    old.rename(place)
                raise
        finally:
            for each in (draft, old):
                with suppress(OSError):
                    shutil.rmtree(each)
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror or error}") from None
    return pages


def check_target(place: Path, runs: Sequence[SiteRun]) -> None:
    """Refuse a target that holds anything but an older site, and one inside the package or a run."""
    package = Path(shipped.__file__).resolve().parents[1]
    if place.is_relative_to(package):
        raise UserError(f"{place} is inside the package olbench; name another folder")
    for run in runs:
        if place.is_relative_to(run.results.folder.resolve()):
            raise UserError(f"{place} is inside the run {run.results.folder}; name another folder")
    if not place.exists():
        return
    if not place.is_dir():
        raise UserError(f"{place} is a file; name a folder for the site")
    own = _listed_files(place)
    others = sorted(_other_files(place, own))
    if others:
        names = list_some([show_name(name) for name in others[:4]], 3)
        what = "has files that olbench did not write" if own else "is not a site of olbench: it has"
        raise UserError(f"{place} {what} {names}; name a new folder, or move them away")


def _listed_files(place: Path) -> frozenset[str]:
    try:
        content = json.loads((place / MARKER).read_text(encoding="utf-8"))
        return frozenset({MARKER, *map(str, content["files"])})
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return frozenset()


def _other_files(place: Path, own: frozenset[str]) -> Iterator[str]:
    for folder, folders, files in os.walk(place):
        links = [each for each in folders if os.path.islink(os.path.join(folder, each))]
        for each in (*files, *links):
            name = Path(folder, each).relative_to(place).as_posix()
            if name not in own:
                yield name


def _write_all(runs: Sequence[SiteRun], draft: Path) -> int:
    environment, files, pages = make_environment(FOLDER), [], 0
    environment.filters.update({"shown": escape_controls, "quoted": quote, "listed": list_some})

    def write(name: str, content: str) -> None:
        path = draft / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # What is not a character, in the name of a machine, say, must not stop the site.
        path.write_bytes(content.encode(errors="replace"))
        files.append(name)

    write("site.css", read_part("page.css") + _own_part("site.css"))
    write("site.js", read_part("common.js") + _own_part("site.js"))
    for page in make_pages(runs):
        folder = f"{page.folder}/" if page.folder else ""
        root = "../" * (page.folder.count("/") + 1) if page.folder else ""
        html = environment.get_template(page.template).render({**page.values, "root": root})
        # HTML lets these tags out, and a site of thousands of rows is smaller by a tenth without them.
        write(f"{folder}index.html", CLOSING.sub("", str(html)))
        pages += 1
    write(MARKER, json.dumps({"files": sorted(files)}) + "\n")
    return pages


def _own_part(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
