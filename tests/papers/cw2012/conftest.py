"""Small archives of documents."""

import io
import tarfile

import pytest


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
