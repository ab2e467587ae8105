"""Downloads: whatever a server answers, the file it sent or a sentence, and no file."""

import io
import os
import random
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NewConnectionError

from olbench.data import fetch
from olbench.data.fetch import FailedError, MissingError, download
from tests.fuzz.harness import Difference, expect_sentence
from tests.fuzz.mutate import change_bytes, change_lines

#: Between the answers to one request and the next; the last one is given again and again.
SEAM = b"\n--8<--\n"
LIMIT = 5000
ADDRESS = "http://me:secret@mirror.example/data/toy.bz2"
STATUS = [
    "HTTP/1.1 200 OK", "HTTP/1.0 200", "HTTP/1.1 206 Partial", "HTTP/1.1 204 No", "HTTP/1.1 304 Same",
    "HTTP/1.1 404 Not Found", "HTTP/1.1 410 Gone", "HTTP/1.1 500 Oops", "HTTP/1.1 429 Wait",
    "HTTP/1.1 401 Who",
    "HTTP/1.1 100 Continue", "HTTP/1.1 999 ²", "HTTP/9.9 200 OK", "ICY 200 OK", "HTTP/1.1 x OK",
    "HTTP/1.1", "",
]  # fmt: skip
REDIRECTS = ["HTTP/1.1 301 Moved", "HTTP/1.1 302 Found", "HTTP/1.1 307 Elsewhere", "HTTP/1.1 300 Many"]
LENGTHS = [
    "²",
    "9" * 5000,
    "-1",
    "1e3",
    "",
    "0",
    "10",
    "10, 10",
    "10, 11",
    "999999999999",
    "0x10",
    "١",
    "+5",
    " 7",
]
PLACES = [
    "http://[::1", "http://[::1]/x", "//other/x", "/x", "x y", "", "ftp://host/x", "file:///etc/passwd",
    "http://",
    "http:///x", "http://host:99999/", "http://host:x/", "http://a@b@c/", "http://é/x", "http://xn--/",
    "\xff\xfe",
    "http://host/%zz", "javascript:1", "http://" + "a" * 300 + "/", "https://host/x", "http://.../x",
    "http://*/x",
    "?", "#", "http://host/" + "a" * 70_000, "http://\u2100/", "data:,x", "mailto:x", "HTTP://HOST/X",
    "http:host",
]  # fmt: skip
HEADERS = [
    "Content-Encoding: gzip", "Content-Encoding: deflate", "Content-Encoding: br", "Content-Encoding: x",
    "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Connection: close",
    "Connection: keep-alive",
    "Content-Type: text/html; charset=²", "Set-Cookie: a=b; expires=never", "Set-Cookie: =", "Retry-After: x",
    "Retry-After: 0", "X: " + "y" * 70_000, ": empty", "no colon", " folded", "Content-Range: bytes x/y",
    "Link: <x>; rel=", "WWW-Authenticate: Basic", "Location: http://host/x",
]  # fmt: skip


class FetchFuzzer:
    """Answers of a server: status lines, headers, redirects and bodies, in and out of order."""

    name = "fetch"

    def make(self, random: random.Random) -> bytes:
        """Return what a server sends: one or two answers."""
        answers = [_redirect(random)] if random.random() < 0.35 else []
        content = SEAM.join([*answers, _answer(random)])
        match random.randrange(6):
            case 0:
                return change_bytes(random, content)
            case 1:
                return change_lines(random, content)
            case _:
                return content

    def check(self, content: bytes, folder: Path) -> str:
        """Download; a file that arrives is what the server sent, and what does not arrive leaves nothing."""
        path = folder / "toy.bz2"
        path.unlink(missing_ok=True)
        try:
            with _serving(content):
                download(ADDRESS, path, LIMIT)
        except (MissingError, FailedError) as error:
            expect_sentence(error)
            if "secret" in str(error):
                raise Difference(f"shows the password: {error}") from None
            left = [each.name for each in folder.iterdir() if each.name.startswith(("toy", "tmp"))]
            if left:
                raise Difference(f"refused, but left {left[0]}") from None
            return "refused"
        found = path.read_bytes()
        if len(found) > LIMIT:
            raise Difference(f"kept {len(found)} bytes, where {LIMIT} are allowed")
        plain = b"ncoding" not in content.lower().replace(b"transfer-encoding", b"ncoding")
        if plain and found not in content:
            raise Difference("the file is not what the server sent")
        return "accepted"


def _header(random: random.Random, name: str, value: str) -> bytes:
    return f"{name}:{random.choice((' ', ' ', ''))}{value}\r\n".encode(
        random.choice(("utf-8", "utf-8")), "replace"
    )


def _redirect(random: random.Random) -> bytes:
    head = random.choice(REDIRECTS).encode() + b"\r\n" + _header(random, "Location", random.choice(PLACES))
    return head + b"Content-Length: 0\r\n\r\n"


def _answer(random: random.Random) -> bytes:
    body = bytes(random.randrange(256) for _ in range(random.choice((0, 1, 10, 10, 200))))
    if random.random() < 0.05:
        body = b"x" * (LIMIT + 10)
    head = (STATUS[0] if random.random() < 0.7 else random.choice(STATUS)).encode() + b"\r\n"
    for line in random.sample(HEADERS, random.choice((0, 0, 1, 1, 2, 3))):
        head += line.encode() + random.choice((b"\r\n", b"\r\n", b"\n"))
        if "chunked" in line:
            body = _chunks(random, body)
    if random.random() < 0.7:
        length = random.choice(LENGTHS) if random.random() < 0.3 else str(len(body))
        head += _header(random, "Content-Length", length)
    return head + b"\r\n" + body


def _chunks(random: random.Random, body: bytes) -> bytes:
    size = random.choice((f"{len(body):x}", f"{len(body):x}", f"{len(body):x};x=y", "zz", "-1", "f" * 40, ""))
    return (
        size.encode()
        + b"\r\n"
        + body
        + b"\r\n"
        + random.choice((b"0\r\n\r\n", b"0\r\n\r\n", b"", b"0\r\nX: y\r\n\r\n"))
    )


class _Socket:
    """A connection on which the answer is already there."""

    def __init__(self, answer: bytes, null: int):
        self.answer, self.null = answer, null

    def makefile(self, *_: Any, **__: Any) -> io.BytesIO:
        return io.BytesIO(self.answer)

    def fileno(self) -> int:
        return self.null

    def sendall(self, *_: Any) -> None:
        pass

    settimeout = close = shutdown = sendall


@contextmanager
def _serving(content: bytes) -> Any:
    """Answer every connection from memory; there is no network, no name server and no pause."""
    answers, null = content.split(SEAM), os.open(os.devnull, os.O_RDONLY)
    asked = iter(range(10**9))

    def connect(connection: Any) -> Any:
        if isinstance(connection, HTTPSConnection):
            raise NewConnectionError(connection, "no one answers")
        return _Socket(answers[min(next(asked), len(answers) - 1)], null)

    try:
        with mock.patch.object(HTTPConnection, "_new_conn", connect), mock.patch.object(fetch, "PAUSE", 0.0):
            yield
    finally:
        os.close(null)
