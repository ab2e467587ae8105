"""Fetching, from a local server that misbehaves: the right file in the end, or nothing and one sentence."""

import bz2
import contextlib
import gzip
import lzma
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from olbench import load_dataset
from olbench.data import fetch as fetching
from olbench.data.catalog import catalog, parse_catalog
from olbench.data.dataset import fingerprint
from olbench.data.entries import load_entry
from olbench.data.fetch import fetch, fetch_command, is_present, local_files
from olbench.data.libsvm import read_libsvm
from tests.refusals import find_wrong, refusal

TEXT = "".join(f"{(-1) ** k:+d} 1:{k + 1} 2:0.5 {k % 7 + 3}:2\n" for k in range(200)).encode()
LIES = TEXT.replace(b"2:0.5", b"2:0.6")


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        self.answers, self.asked = {}, []
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server_port}/"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        self.server.answers.get(self.path, failing(404))(self)

    def log_message(self, *_):
        pass


def serving(content, announced=None, pause=0.0):
    """Answer with this content, of which the first byte comes at once."""

    def answer(request):
        request.send_response(200)
        request.send_header("Content-Length", str(len(content) if announced is None else announced))
        request.end_headers()
        request.wfile.write(content[:1])
        request.wfile.flush()
        time.sleep(pause)
        with contextlib.suppress(OSError):
            request.wfile.write(content[1:])

    return answer


def failing(code):
    return lambda request: request.send_error(code)


def answering(raw):
    def answer(request):
        request.wfile.write(raw)
        request.close_connection = True

    return answer


def redirecting(target):
    return answering(f"HTTP/1.0 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())


def trickling(request):
    with contextlib.suppress(OSError):
        request.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
        while True:
            request.wfile.write(b"x")
            request.wfile.flush()
            time.sleep(0.1)


def first(*answers):
    left = list(answers)
    return lambda request: (left.pop(0) if len(left) > 1 else left[0])(request)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(fetching, "PAUSE", 0.01)
    monkeypatch.setattr(fetching, "TIMEOUT", 0.4)
    made = Server()
    yield made
    made.close()


@pytest.fixture
def toy(server, libsvm_file):
    X, y, *_ = read_libsvm([libsvm_file(TEXT, "made")])

    def make(**changes):
        facts = {
            "title": "A toy", "format": "libsvm", "files": "toy.bz2", "rows": 200, "features": 9,
            "upstream": server.address + "upstream/", "labels": "{-1: 100, 1: 100}",
            "fingerprint": fingerprint(X, y), "source": "made up", **changes,
        }  # fmt: skip
        lines = "".join(f"    {key}: {value}\n" for key, value in facts.items())
        return parse_catalog(f"datasets:\n  toy:\n{lines}", "toy.yaml")["toy"]

    return make


def everything_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def nothing_is_left(cache_folder):
    downloads = cache_folder / "downloads"
    return not downloads.exists() or everything_below(downloads) == []


PACKED = bz2.compress(TEXT)


def test_a_file_comes_from_its_upstream_once_unless_forced(server, toy, cache_folder, here, monkeypatch):
    server.answers["/upstream/toy.bz2"] = serving(PACKED)
    (path,) = fetch(toy())
    assert path == cache_folder / "downloads" / "toy.bz2"
    assert path.read_bytes() == PACKED
    assert everything_below(cache_folder / "downloads") == ["toy.bz2"]
    assert load_entry(toy(), [path]).X.shape == (200, 9)
    monkeypatch.setitem(catalog(), "toy", toy())
    for force, asked in (((), 1), (("--force",), 2)):
        assert here.out("data", "fetch", "toy", *force) == f"toy: toy.bz2, {len(PACKED)} B\n"
        assert len(server.asked) == asked


def test_the_mirror_comes_first_in_any_compression_unless_it_lies(server, toy, cache_folder):
    server.answers["/mirror/toy.xz"] = serving(lzma.compress(TEXT))
    mirror = server.address + "mirror"
    (path,) = fetch(toy(), mirror=mirror)
    assert path.name == "toy.xz"
    assert not any(asked.startswith("/upstream") for asked in server.asked)
    server.answers["/mirror/toy.xz"] = serving(lzma.compress(LIES))
    server.answers["/upstream/toy.bz2"] = serving(PACKED)
    (path,) = fetch(toy(), mirror=mirror, force=True)
    assert path.read_bytes() == PACKED


def test_a_mirror_can_be_a_folder(server, toy, tmp_path, monkeypatch, cache_folder):
    (tmp_path / "toy.gz").write_bytes(gzip.compress(TEXT))
    monkeypatch.setenv("OLBENCH_MIRROR", str(tmp_path))
    assert local_files(toy()) == [tmp_path / "toy.gz"]
    assert fetch(toy()) == [cache_folder / "downloads" / "toy.gz"]
    assert server.asked == []


OTHER = "cannot fetch toy"
ELSEWHERE = "is redirected to an address that cannot be fetched"
BROKE = "the connection broke during the download of toy.bz2"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ZEROS = f"{{toy.bz2: '{'0' * 64}'}}"
REFUSED = [
    (serving(bz2.compress(LIES)), {}, "differs from the catalogue: the fingerprint"),
    *((serving(text), {}, OTHER) for text in (TEXT + b"+1 1:1\n", TEXT[: len(TEXT) // 2], b"<html>", b"")),
    (serving(PACKED), {"sha256": ZEROS}, "toy.bz2 does not match the checksum in the catalogue"),
    (serving(PACKED[:50], announced=len(PACKED)), {}, BROKE),
    (failing(403), {}, "the server answered 403 for toy.bz2"),
    *(
        (redirecting(target), {}, ELSEWHERE)
        for target in ("file:///etc/passwd", "ftp://127.0.0.1/x", "/upstream/toy.bz2", "http://[::1")
    ),
    (answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello"), {}, BROKE),
    (answering(CHUNKED + b"-5\r\nhello\r\n"), {}, BROKE),
    (answering(CHUNKED + b"zz\r\nhello\r\n"), {}, BROKE),
    (answering(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhi"), {}, BROKE),
    (answering(b"WHAT 1\r\n\r\nhello"), {}, "the server cannot be reached"),
]


def test_other_content_and_odd_answers_are_refused_and_leave_nothing(server, toy, cache_folder):
    def act(answer, facts):
        server.answers["/upstream/toy.bz2"] = answer
        try:
            fetch(toy(**facts))
        finally:
            assert nothing_is_left(cache_folder)
            assert list(cache_folder.glob("parsed/*")) == []

    assert find_wrong(REFUSED, act) == []


def test_a_server_that_hesitates_or_fails_at_first_is_forgiven(server, toy):
    server.answers["/elsewhere/toy.bz2"] = serving(PACKED)
    for answer, asked in (
        (first(serving(PACKED[:50], announced=len(PACKED)), serving(PACKED)), 2),
        (first(failing(503), failing(500), serving(PACKED)), 3),
        (redirecting("/elsewhere/toy.bz2"), 2),
        (serving(PACKED, pause=0.1), 1),
    ):
        server.answers["/upstream/toy.bz2"] = answer
        before = len(server.asked)
        assert fetch(toy(), force=True)[0].read_bytes() == PACKED
        assert len(server.asked) == before + asked


def test_a_missing_file_is_not_asked_for_again(server, toy, cache_folder):
    refused = refusal(fetch, toy())
    assert server.asked == ["/upstream/toy.bz2"]
    assert refused == (
        f"cannot fetch toy ({server.address}upstream/: there is no toy.bz2); get toy.bz2 by hand from "
        f"{server.address}upstream/ and put it into {cache_folder}/downloads, or set OLBENCH_MIRROR "
        "to a folder that has it"
    )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (serving(PACKED, pause=1.5), "no answer for 0.4 seconds"),
        (trickling, "toy.bz2 comes at less than 16,384 bytes in 0.5 seconds"),
    ],
)
def test_a_server_that_falls_silent_or_trickles_is_given_up(
    server, toy, cache_folder, monkeypatch, answer, said
):
    monkeypatch.setattr(fetching, "ATTEMPTS", 2)
    monkeypatch.setattr(fetching, "PATIENCE", 0.5)
    server.answers["/upstream/toy.bz2"] = answer
    started = time.perf_counter()
    assert said in refusal(fetch, toy())
    assert time.perf_counter() - started < 5
    assert nothing_is_left(cache_folder)


def test_no_network_gives_one_sentence(toy, server):
    server.close()
    assert (
        f"cannot fetch toy ({server.address}: the server cannot be reached); get toy.bz2 by hand"
        in refusal(fetch, toy(upstream=server.address))
    )


def test_a_file_put_there_by_hand_is_found_checked_and_replaced_by_force(server, toy, cache_folder):
    (cache_folder / "downloads").mkdir(parents=True)
    by_hand = cache_folder / "downloads" / "toy"
    by_hand.write_bytes(TEXT)
    assert fetch(toy()) == [by_hand]
    by_hand.write_bytes(LIES)
    assert "replace it with `olbench data fetch --force toy`" in refusal(load_entry, toy(), fetch(toy()))
    server.answers["/upstream/toy.bz2"] = serving(PACKED)
    fetch(toy(), force=True)
    server.answers["/upstream/toy.bz2"] = serving(b"broken")
    assert "cannot fetch toy" in refusal(lambda: fetch(toy(), force=True))
    assert everything_below(cache_folder / "downloads") == ["toy.bz2"]
    assert (cache_folder / "downloads" / "toy.bz2").read_bytes() == PACKED


def test_a_download_that_fills_the_disk_leaves_nothing(server, toy, small_disk, monkeypatch):
    server.answers["/upstream/toy.bz2"] = serving(b"x" * 3_000_000)
    monkeypatch.setenv("OLBENCH_CACHE", str(small_disk))
    refused = refusal(fetch, toy())
    assert refused == (
        f"cannot write to {small_disk}/downloads: No space left on device; "
        "set OLBENCH_CACHE to a folder with free space"
    )
    assert nothing_is_left(small_disk)


def test_presence_is_told_without_a_download(server, libsvm_file):
    for name in ("breast-cancer", "synthetic", str(libsvm_file("+1 1:1\n-1 1:2\n"))):
        assert is_present(name)
    assert not is_present("covtype")
    assert fetch_command(["covtype", "w7a"]) == "olbench data fetch covtype w7a"
    refused = refusal(load_dataset, "covtype", download=False)
    assert "is not downloaded; get it with `olbench data fetch covtype`" in refused


def test_mirrors_that_are_refused(toy, server, tmp_path, monkeypatch):
    odd = ("ftp://host/x", "file:///tmp", "s3://bucket", "http://[::1", "http:///x", str(tmp_path / "none"))
    cases = [
        *((mirror, "is neither a folder nor an http(s) address; correct --mirror or") for mirror in odd),
        # A password is never shown.
        ("http://me:secret@127.0.0.1:1/x", "http://...@127.0.0.1:1/x"),
        ("ftp://me:secret@host/x", "ftp://...@host/x"),
        ("http://me:ge/heim@host/", "http://...@host/"),
        ("http:/me:ge@heim@host", "http:/...@host"),
        ("me:geheim@host", "...@host"),
    ]
    assert find_wrong(cases, lambda mirror: fetch(toy(), mirror=mirror)) == []
    monkeypatch.setenv("OLBENCH_MIRROR", "/none/such")  # not needed, and not looked at
    assert load_dataset("breast-cancer").X.shape == (569, 30)
