"""Tar archives: read in one pass in any compression; damage and names that leave the folder are refused."""

import io
import lzma
import tarfile

import pytest

from olbench import UserError
from olbench.data.readers.archive import read_members
from tests.cases import for_each

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


@for_each("name", ["/etc/passwd", "../x", "top/../../x", "..\\x", "top\\..\\..\\x"])
def test_a_name_that_leaves_the_folder_is_refused(archive, name):
    path = archive({"top/a/1": "one", name: "x"})
    with pytest.raises(UserError) as refused:
        read_members(path, ["*/a/*"])
    assert str(refused.value) == f"{path}: the name '{name}' leaves the folder of the archive; it is not read"


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_that_leaves_the_folder_is_refused(tmp_path, kind):
    path = tmp_path / "data.tar"
    with tarfile.open(path, "w") as tar:
        link = tarfile.TarInfo("top/other")
        link.type, link.linkname = kind, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(UserError, match="the name '/etc/passwd' leaves the folder of the archive"):
        read_members(path, ["*/a/*"])


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_what_is_not_a_file_is_not_read(tmp_path, kind):
    path = tmp_path / "data.tar"
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo("top/a/1")
        info.type, info.linkname = kind, "top/a/2"
        tar.addfile(info)
    with pytest.raises(UserError, match="top/a/1 is a link or a device, not a file"):
        read_members(path, ["*/a/*"])


def test_a_file_that_is_there_twice_is_refused(tmp_path):
    path = tmp_path / "data.tar"
    with tarfile.open(path, "w") as tar:
        for _ in range(2):
            tar.addfile(tarfile.TarInfo("top/a/1"), io.BytesIO())
    with pytest.raises(UserError, match="top/a/1 is in the archive twice"):
        read_members(path, ["*/a/*"])


def test_a_pattern_without_files_is_named(archive):
    with pytest.raises(UserError, match=r"no file of the archive matches '\*/x/\*'"):
        read_members(archive(FILES), ["*/a/*", "*/x/*", "*/y/*"])


def test_a_bomb_is_stopped_at_the_limit(archive):
    path = archive({"top/a/1": b"\0" * 3_000_000})
    assert path.stat().st_size < 10_000
    with pytest.raises(UserError, match="unpacks to more bytes than its limit"):
        read_members(path, ["*/a/*"], limit=1_000_000)
    with pytest.raises(UserError, match="unpacks to more bytes than its limit"):
        read_members(path, ["*/b/*"], limit=1_000_000)


@for_each("keep", [0, 100, 511, 600, 5000])
def test_a_truncated_archive_is_refused(archive, tmp_path, keep):
    whole = archive({"top/a/1": b"x" * 10_000}, "data.tar", "").read_bytes()
    path = tmp_path / "cut.tar"
    path.write_bytes(whole[:keep])
    with pytest.raises(UserError, match="is not a tar archive, or it is damaged"):
        read_members(path, ["*/a/*"])
    path.write_bytes(lzma.compress(whole)[:-20])
    with pytest.raises(UserError, match="its xz data is damaged or truncated"):
        read_members(path, ["*/a/*"])


def test_damage_in_the_middle_is_not_taken_for_the_end(archive, tmp_path):
    whole = bytearray(archive(FILES, "data.tar", "").read_bytes())
    whole[1024 + 100 : 1024 + 108] = b"garbage!"
    path = tmp_path / "damaged.tar"
    path.write_bytes(whole)
    with pytest.raises(UserError, match="is not a tar archive, or it is damaged"):
        read_members(path, ["*/b/*"])


def test_an_archive_that_ends_between_two_files_is_refused(archive, tmp_path):
    path = tmp_path / "cut.tar"
    path.write_bytes(archive(FILES, "data.tar", "").read_bytes()[:1024])
    with pytest.raises(UserError, match="is not a tar archive, or it is damaged"):
        read_members(path, ["*/b/*"])


def test_what_is_not_an_archive_is_refused(libsvm_file):
    with pytest.raises(UserError, match="is not a tar archive, or it is damaged"):
        read_members(libsvm_file("+1 1:1\n" * 1000), ["*"])
    with pytest.raises(UserError, match="cannot read /none: No such file"):
        read_members("/none", ["*"])
