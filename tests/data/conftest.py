"""Every test of data gets a cache of its own, no mirror, and no way around local servers."""

import io
import subprocess
import tarfile

import pytest


@pytest.fixture(autouse=True)
def use_own_cache(cache_folder):
    pass


@pytest.fixture
def libsvm_file(tmp_path):
    def write(content, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def real_mirror(mirror):
    return str(mirror)


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small disk is needed here, and mounting one is not allowed")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def archive(tmp_path):
    def pack(files, name="data.tar.xz", compression="xz"):
        path = tmp_path / name
        with tarfile.open(path, f"w:{compression}") as tar:
            for member, content in files.items():
                raw = content if isinstance(content, bytes) else content.encode()
                info = tarfile.TarInfo(member)
                info.size = len(raw)
                tar.addfile(info, io.BytesIO(raw))
        return path

    return pack
