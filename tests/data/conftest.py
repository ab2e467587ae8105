"""Every test of data gets a cache of its own, no mirror, and no way around local servers."""

import subprocess

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
def table(libsvm_file):
    return lambda text, name="shop.csv": libsvm_file(text, name)


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
