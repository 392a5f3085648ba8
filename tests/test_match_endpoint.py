"""A chat endpoint that misbehaves in every way ends in one typed error, and no secret leaves."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import pickle
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from wager.envs.errors import InputError
from wager.training.match.chat import Completion, EndpointError
from wager.training.match.clock import VirtualTime, now, run
from wager.training.match.endpoint import MAX_BODY, Endpoint, Key, check_url, read_key

SECRET = "sk-planted-5d1f0c"
MESSAGES = [{"role": "user", "content": "\ud800 decide"}]
URL = "https://host.example/v1/"


def completion(text: object, **usage: object) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}], "usage": usage}).encode()


def asked(handler: Callable[[httpx.Request], Any], timeout: float = 20.0) -> Completion:
    """One completion under virtual time."""

    async def main() -> Completion:
        async with Endpoint("m", URL, Key(SECRET), httpx.MockTransport(handler)) as endpoint:
            return await endpoint.complete(MESSAGES, timeout)

    return run(main(), VirtualTime)


def answered(status: int = 200, body: bytes = b"", **headers: str) -> Callable[[Any], Any]:
    return lambda request: httpx.Response(status, content=body, headers=headers)


def test_a_request_and_its_answer() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        assert str(request.url) == "https://host.example/v1/chat/completions"
        assert request.headers["Authorization"] == f"Bearer {SECRET}"
        assert json.loads(request.content) == {"model": "m", "messages": MESSAGES}
        return httpx.Response(200, content=completion("ok", prompt_tokens=5, completion_tokens=2))

    assert asked(handler) == Completion("ok", 5, 2)


@pytest.mark.parametrize("count", [-1, 1.0, True, None, "3", 2**60, float("nan")])
def test_odd_token_counts_count_as_none(count: object) -> None:
    assert asked(answered(body=completion("ok", prompt_tokens=count))) == Completion("ok")


def test_an_answer_that_repeats_the_key_is_blotted() -> None:
    assert asked(answered(body=completion(f"the key is {SECRET}!"))).text == "the key is [key]!"
    assert Key("none").blot("a nonentity") == "a nonentity"


@pytest.mark.parametrize("key", [SECRET, 'k/"\\+.*-9f'])
def test_the_key_is_blotted_however_json_escapes_it(key: str) -> None:
    """An answer is JSON in a string: what it escapes would come back when a decision is read."""
    escaped = "".join(f"\\u{ord(c):04X}" for c in key)
    mixed = "".join(f"\\u{ord(c):04x}" if k % 3 else c for k, c in enumerate(SECRET))
    for said in (json.dumps({"say": key}), f'{{"say":"{escaped}"}}'):
        told = Key(key).blot(said.replace("/", "\\/"))
        assert json.loads(told) == {"say": "[key]"}
    assert Key(SECRET).blot(mixed) == "[key]"


BAD: dict[str, tuple[Callable[[Any], Any], str, bool]] = {
    "html": (answered(body=b"<html><body>It works!</body></html>"), "broken", True),
    "empty": (answered(), "broken", True),
    "half": (answered(body=completion("ok")[:-9]), "broken", True),
    "utf-8": (answered(body=completion("ok").replace(b"ok", b"\xff\xfe")), "broken", True),
    "deep": (answered(body=b"[" * 200_000), "broken", True),
    "huge number": (answered(body=b"9" * 50_000), "broken", True),
    "null": (answered(body=completion(None)), "broken", True),
    "a list": (answered(body=completion(["ok"])), "broken", True),
    "no choice": (answered(body=b'{"choices": []}'), "broken", True),
    "a string": (answered(body=b'{"choices": "none"}'), "broken", True),
    "long": (answered(body=completion("x" * MAX_BODY)), "broken", True),
    "gzip": (answered(body=b"\x1f\x8b", **{"Content-Encoding": "gzip"}), "broken", True),
    "redirect": (answered(302, Location="https://elsewhere.example/"), "refused", False),
    "400": (answered(400, SECRET.encode()), "refused", False),
    "401": (answered(401, SECRET.encode()), "refused", False),
    "404": (answered(404), "refused", False),
    "429": (answered(429, **{"Retry-After": "9"}), "throttled", False),
    "500": (answered(500, SECRET.encode()), "failing", True),
    "503": (answered(503), "failing", True),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_answer_is_one_typed_error(name: str) -> None:
    handler, fault, transient = BAD[name]
    with pytest.raises(EndpointError) as caught:
        asked(handler)
    assert (caught.value.fault, caught.value.transient) == (fault, transient)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (httpx.ConnectError(SECRET), "unreachable"),
        (httpx.ReadError(SECRET), "broken"),
        (httpx.RemoteProtocolError(SECRET), "broken"),
        (httpx.DecodingError(SECRET), "broken"),
        (OSError(SECRET), "broken"),
        (ValueError(SECRET), "broken"),
    ],
)
def test_a_network_error_is_one_typed_error(error: Exception, fault: str) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise error

    with pytest.raises(EndpointError) as caught:
        asked(handler)
    assert caught.value.fault == fault
    assert caught.value.__context__ is caught.value.__cause__ is None


def test_the_timeout_bounds_the_whole_exchange() -> None:
    class Drip(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                await asyncio.sleep(3)
                yield b" "

    async def main(handler: Callable[[httpx.Request], Any]) -> float:
        began = now()
        async with Endpoint("m", URL, Key(""), httpx.MockTransport(handler)) as endpoint:
            with pytest.raises(EndpointError, match="no answer in 20 s") as caught:
                await endpoint.complete(MESSAGES, 20.0)
        assert (caught.value.fault, caught.value.transient) == ("late", True)
        return now() - began

    async def silent(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(1e6)
        raise AssertionError

    drip = lambda request: httpx.Response(200, stream=Drip())  # noqa: E731
    assert run(main(drip), VirtualTime) == pytest.approx(20)
    assert run(main(silent), VirtualTime) == pytest.approx(20)


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def over_a_socket(serve: Serve) -> str:
    """The fault of one request to a real server."""

    async def main() -> str:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, Endpoint("m", f"http://127.0.0.1:{port}", Key(SECRET)) as endpoint:
            with pytest.raises(EndpointError) as caught:
                await endpoint.complete(MESSAGES, 30.0)
        return caught.value.fault

    return run(main())


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + completion("ok"),
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"cho',
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 2**21,
    ],
)
def test_a_connection_that_ends_early(sent: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)
        writer.close()

    assert over_a_socket(serve) == "broken"


def test_endless_output_is_cut_off() -> None:
    sent = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while sent < 2**28:
                writer.write(b" " * 2**16)
                sent += 2**16
                await writer.drain()
        except ConnectionError:
            pass

    assert over_a_socket(serve) == "broken"
    assert MAX_BODY < sent < 2**28


def test_nobody_there() -> None:
    async def main() -> str:
        server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        async with Endpoint("m", f"http://127.0.0.1:{port}", Key("")) as endpoint:
            with pytest.raises(EndpointError) as caught:
                await endpoint.complete(MESSAGES, 30.0)
        return caught.value.fault

    assert run(main()) == "unreachable"


@pytest.mark.parametrize("name", BAD)
def test_the_key_is_in_no_log_trace_or_attribute(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint: Endpoint | None = None

    async def main() -> None:
        nonlocal endpoint
        async with Endpoint("m", URL, Key(SECRET), httpx.MockTransport(BAD[name][0])) as endpoint:
            await endpoint.complete(MESSAGES, 20.0)

    with pytest.raises(EndpointError) as caught:
        run(main(), VirtualTime)
    trace = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    shown = ["".join(trace.format()), caplog.text, repr(caught.value), repr(endpoint)]
    shown += [repr(vars(endpoint)), repr(Key(SECRET)), str(Key(SECRET))]
    assert not [text for text in shown if SECRET in text]
    with pytest.raises(TypeError, match="not to be stored"):
        pickle.dumps(Key(SECRET))
    gc.collect()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h/v1",
        "h/v1",
        "http://",
        "http:///v1",
        "",
        "http://h:99999/",
        "https://me:pw@h/v1",
        "https://me:pw@h:99999/v1",
        "https://me:pw@h:x/v1",
        "https://me:pw@[::1/v1",
        "https://h:x/v1?key=k",
        "https://h/v1?key=k",
        "https://h/v1#k",
        "http://[::1/",
    ],
)
def test_urls_that_are_no_endpoint(url: str) -> None:
    with pytest.raises(InputError, match=r"must be http\(s\)://HOST") as caught:
        check_url(url)
    assert "pw" not in str(caught.value)
    assert "=k" not in str(caught.value)


def test_the_key_comes_from_the_environment() -> None:
    assert read_key(URL, environ={"WAGER_API_KEY": " k\n"}).header() == {
        "Authorization": "Bearer k"
    }
    assert read_key(URL, "MINE", {"MINE": "j"}).header() == {"Authorization": "Bearer j"}
    assert read_key("http://127.0.0.1:8000/v1", environ={}).header() == {}
    for environ in ({}, {"WAGER_API_KEY": " "}):
        with pytest.raises(InputError, match="set WAGER_API_KEY in the environment"):
            read_key(URL, environ=environ)
    for value in ("schlüssel", "two\nlines"):
        with pytest.raises(InputError, match="printable ASCII") as caught:
            read_key(URL, environ={"WAGER_API_KEY": value})
        assert value not in str(caught.value)


def test_a_proxy_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://user:hush@h")
    with pytest.raises(InputError, match=f"no line to {URL}: a proxy") as caught:
        Endpoint("m", URL, Key(""))
    assert "hush" not in str(caught.value)
    Endpoint("m", "http://127.0.0.1:9/v1", Key(""))  # none on the way to this machine


def test_virtual_time_ends_where_nothing_can_happen() -> None:
    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="no timer is set"):
        run(main(), VirtualTime)
