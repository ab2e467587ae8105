"""A finished run is read once, and kept in the cache folder for as long as nothing about it changes."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olbench.analysis import reading
from olbench.analysis.results import load_results
from olbench.api import bundle as write_bundle
from olbench.records import ledger, packed, remembered, run_file
from olbench.records.remembered import runs_folder
from olbench.records.shipped import find_run
from tests import ROOT
from tests.refusals import refusal

SMALL = ROOT / "tests/report/small"


@pytest.fixture(autouse=True)
def empty_cache(cache_folder, monkeypatch):
    monkeypatch.setattr(remembered, "FEWEST", 0)


@pytest.fixture
def reads(monkeypatch) -> list[Path]:
    found: list[Path] = []
    each = ledger.each
    monkeypatch.setattr(ledger, "each", lambda folder: found.append(folder) or each(folder))
    return found


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SMALL, tmp_path / "results" / "copy"))


def edit_run(folder: Path, **changes: Any) -> None:
    path = folder / run_file.NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.flags.writeable, repr(value.tolist())
    return {name: plain(each) for name, each in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("run", ["scw", "cw-times"])
def test_a_kept_run_is_the_run_that_was_read(run, reads):
    first, second = load_results(run), load_results(run)
    assert len(reads) == 1
    for one, other in zip(first.entries, second.entries, strict=True):
        for name in reading.Columns._fields:
            assert plain(getattr(one, name)) == plain(getattr(other, name)), (one, name)


def test_the_keys_of_packed_records_are_hashed_once(tmp_path, monkeypatch):
    folder = Path(shutil.copytree(find_run("shards"), tmp_path / "shards"))
    first = ledger.keys(folder)
    ledger._keys.clear()
    monkeypatch.setattr(packed, "unpack", None)
    assert ledger.keys(folder) == first
    (folder / ledger.PACKED).write_bytes(b"another file")
    with pytest.raises(TypeError):
        ledger.keys(folder)


def test_an_edited_ledger_is_refused_although_the_run_is_kept(copy: Path):
    load_results(copy)
    path = copy / ledger.NAME
    path.write_bytes(path.read_bytes().replace(b'"status":"ok"', b'"status":"0k"', 1))
    assert "does not match its checksum" in refusal(load_results, copy)


def test_the_run_that_was_kept_first_goes_first(copy: Path, monkeypatch):
    monkeypatch.setattr(remembered, "MOST", 1)
    load_results(copy)
    [first] = runs_folder().iterdir()
    load_results(SMALL)
    [second] = runs_folder().iterdir()
    assert first != second


def test_other_sources_and_another_run_file_read_the_ledger_again(copy: Path, reads, monkeypatch):
    load_results(copy)
    edit_run(copy, start="2026-01-01T00:00:00+00:00")
    load_results(copy)
    assert len(reads) == 2
    monkeypatch.setattr(remembered, "digest_sources", lambda: "others")
    load_results(copy)
    assert len(reads) == 3


def test_a_damaged_file_is_read_as_none_and_replaced(copy: Path, reads):
    load_results(copy)
    [path] = runs_folder().iterdir()
    content = path.read_bytes()
    damaged = (content[:-9], content[:-1] + bytes([content[-1] ^ 1]), b"")
    for each in damaged:
        path.write_bytes(each)
        load_results(copy)
        assert path.read_bytes() == content
    assert len(reads) == 1 + len(damaged)


def test_a_run_is_read_where_the_cache_cannot_be_written(copy: Path, tmp_path, reads):
    (tmp_path / "cache").write_text("a file in place of the folder")
    assert load_results(copy).labels == load_results(copy).labels
    assert len(reads) == 2


def test_what_goes_on_is_short_bundled_or_shows_other_measures_is_not_kept(copy: Path, tmp_path, monkeypatch):
    load_results("scw", ["auc"])
    load_results(write_bundle(find_run("shards"), tmp_path / "shards.olb").path)
    edit_run(copy, end=None)
    load_results(copy)
    monkeypatch.setattr(remembered, "FEWEST", 500)
    load_results(SMALL)
    assert not list(runs_folder().glob("*.columns"))
