"""Tar archives: read in one pass in any compression; damage is refused."""

import io
import lzma
import tarfile

import pytest

from olbench import UserError
from olbench.papers.cw2012.documents import read_members
from tests.refusals import find_wrong, refusal

FILES = {"top/b/2": "two", "top/a/1": "one", "top/b/10": "ten", "top/c/3": "three"}


def test_files_are_ordered_by_pattern_and_name_not_as_packed(archive):
    expected = [("*/b/*", "top/b/10", b"ten"), ("*/b/*", "top/b/2", b"two"), ("*/a/*", "top/a/1", b"one")]
    for files in (FILES, dict(reversed(FILES.items()))):
        members = read_members(archive(files), ["*/b/*", "*/a/*"])
        assert [(m.pattern, m.name, m.content) for m in members] == expected


@pytest.mark.parametrize("compression", ["", "gz", "bz2", "xz"])
def test_the_compression_is_recognised_by_the_content(archive, compression):
    path = archive(FILES, "data", compression)
    assert [m.content for m in read_members(path, ["*/a/*"])] == [b"one"]


def test_folders_and_hidden_files_do_not_match(tmp_path):
    path = tmp_path / "data.tar"
    with tarfile.open(path, "w") as tar:
        folder = tarfile.TarInfo("top/a")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for name in ("top/a/.DS_Store", "top/a/1"):
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    assert [m.name for m in read_members(path, ["top/a*"])] == ["top/a/1"]


def test_links_and_devices_are_refused(tmp_path):
    def read(kind):
        with tarfile.open(tmp_path / "data.tar", "w") as tar:
            info = tarfile.TarInfo("top/a/1")
            info.type, info.linkname = kind, "top/a/2"
            tar.addfile(info, io.BytesIO())
        read_members(tmp_path / "data.tar", ["*/a/*"])

    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE)
    assert find_wrong([(kind, "top/a/1 is a link or a device, not a file") for kind in kinds], read) == []


def test_a_pattern_without_files_is_named(archive):
    with pytest.raises(UserError, match=r"no file of the archive matches '\*/x/\*'"):
        read_members(archive(FILES), ["*/a/*", "*/x/*", "*/y/*"])


def test_a_bomb_is_stopped_at_the_limit(archive):
    path = archive({"top/a/1": b"\0" * 3_000_000})
    assert path.stat().st_size < 10_000
    assert "unpacks to more than" in refusal(read_members, path, ["*/a/*"], limit=1_000_000)
    assert "unpacks to more than" in refusal(read_members, path, ["*/b/*"], limit=1_000_000)


def test_a_damaged_archive_and_one_that_is_cut_are_refused(archive, tmp_path):
    whole = archive({"top/a/1": b"x" * 10_000}, "a.tar", "").read_bytes()
    damaged = "is not a tar archive, or it is damaged"
    cases = [
        *((whole[:keep], "*/a/*", damaged) for keep in (0, 100, 511, 600, 5000)),
        (lzma.compress(whole)[:-20], "*/a/*", "its xz data is damaged or truncated"),
        (b"+1 1:1\n" * 1000, "*", damaged),
    ]

    def read(content, pattern):
        (tmp_path / "cut.tar").write_bytes(content)
        read_members(tmp_path / "cut.tar", [pattern])

    assert find_wrong(cases, read) == []
    assert "cannot read /none: No such file" in refusal(read_members, "/none", ["*"])
