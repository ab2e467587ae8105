"""Writes the site: all pages into a draft beside the target, which then takes its place."""

import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from olbench.errors import UserError, escape_controls, list_some, show_name
from olbench.records import shipped
from olbench.report.model import make_report
from olbench.report.page import read_part
from olbench.report.site.pages import FOLDER, SiteRun, make_pages

#: In every site: the list of its files, so that nothing else is ever deleted.
MARKER = ".olbench-site"


def load_runs(given: Sequence[str | Path]) -> list[SiteRun]:
    """Load each run once; without any given, all that ship. Runs without a trial are left out."""
    found: dict[str, SiteRun] = {}
    seen: set[Path] = set()
    for path in map(Path, given or shipped.runs()):
        report = make_report(path)
        place = report.results.folder.resolve()
        if place in seen or not any(entry.done for entry in report.results.entries):
            continue
        seen.add(place)
        # Where a folder is on one machine is nobody's business, and commands are pasted into terminals.
        is_private = path.is_absolute() or ".." in path.parts
        name = escape_controls(report.results.name if is_private else path.as_posix())
        while name in found:
            name += " (another)"
        found[name] = SiteRun(report, name)
    return [found[name] for name in sorted(found)]


def build_site(runs: Sequence[SiteRun], target: Path) -> int:
    """Write the site; return how many pages it has. It appears whole or not at all."""
    place = Path(os.path.realpath(target))
    check_target(place, runs)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".", dir=place.parent, ignore_cleanup_errors=True) as scratch:
            draft, old = Path(scratch, "draft"), Path(scratch, "old")
            draft.mkdir()
            pages = _write_all(runs, draft)
            if place.exists():
                place.rename(old)
            try:
                draft.rename(place)
            except OSError:
                if old.exists():
                    old.rename(place)
                raise
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror or error}") from None
    return pages


def check_target(place: Path, runs: Sequence[SiteRun]) -> None:
    """Refuse a target that holds anything but an older site, and one inside the package or a run."""
    if place.is_relative_to(Path(shipped.__file__).resolve().parents[1]):
        raise UserError(f"{place} is inside the package olbench; name another folder")
    for folder in (run.report.results.folder for run in runs):
        if place.is_relative_to(folder.resolve()):
            raise UserError(f"{place} is inside the run {folder}; name another folder")
    if place.exists() and not place.is_dir():
        raise UserError(f"{place} is a file; name a folder for the site")
    marker, files = place / MARKER, {each.name for each in place.glob("*")}
    own = marker.read_text(encoding="utf-8", errors="replace").split("\n") if marker.is_file() else []
    others = list_some([show_name(name) for name in sorted(files.difference(own))], 3)
    if others:
        raise UserError(
            f"{place} has files that olbench did not write: {others}; name a new folder, or move them away"
        )


def _write_all(runs: Sequence[SiteRun], draft: Path) -> int:
    parts = {"site.css": "page.css", "site.js": "page.js"}
    own = {name: (FOLDER / name).read_text(encoding="utf-8") for name in parts}
    shared = {name: read_part(part) + own[name] for name, part in parts.items()}
    files = [MARKER]
    for name, content in chain(shared.items(), make_pages(runs)):
        # Bytes of a name that are not characters must not stop the site.
        (draft / name).write_bytes(content.encode(errors="replace"))
        files.append(name)
    (draft / MARKER).write_text("\n".join(files), encoding="utf-8")
    return len(files) - len(shared) - 1
