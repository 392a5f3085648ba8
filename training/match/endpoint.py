"""A chat endpoint: one request, one answer or one typed error, whatever the network does.

The key comes from the environment and goes into one header. It is in no other attribute, message,
``repr`` or error; where an answer holds it, it is blotted out before anybody reads the answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...envs.errors import InputError, require
from ...envs.seats import without_secrets
from .chat import Completion, EndpointError, Message

require("httpx", "llm")

import httpx  # noqa: E402

KEY = "WAGER_API_KEY"
"""The environment variable that holds the key, unless a seat names another."""
MAX_BODY = 2**20
"""Most bytes of an answer's body."""
MAX_COUNT = 2**53
_LOCAL = ("localhost", "127.0.0.1", "::1")
_BLOT = "[key]"
_LEAST_SECRET = 8


class Key:
    """A secret that shows itself to nobody who does not ask by name."""

    def __init__(self, value: str) -> None:
        self._value = value
        # spelled out or in any way that JSON may escape it: an answer holds JSON in a string
        forms = (rf"(?:\\?{re.escape(c)}|\\u(?i:{ord(c):04x}))" for c in value)
        self._pattern = re.compile("".join(forms))

    def __repr__(self) -> str:
        return "Key(...)"

    def __reduce__(self) -> Any:
        raise TypeError("a key is not to be stored")

    def header(self) -> dict[str, str]:
        """The header that carries it; empty without a key."""
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def blot(self, text: str) -> str:
        """``text`` without the key; one too short to be a secret may be part of any word."""
        return self._pattern.sub(_BLOT, text) if len(self._value) >= _LEAST_SECRET else text


def check_url(url: str) -> httpx.URL:
    """Return the base URL of an endpoint, parsed.

    Raises:
        InputError: unless it is http(s)://HOST[:PORT][/PATH], with no user, query or fragment.
    """
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        parsed = httpx.URL("")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise InputError(
            "an endpoint's URL must be http(s)://HOST[:PORT][/PATH]: no user, password, query or"
            f" fragment, which a replay would keep; got one at host {parsed.host!r}"
        )
    port = 1 if parsed.port is None else parsed.port
    if parsed.scheme not in ("http", "https") or not parsed.host or not 0 < port < 2**16:
        raise InputError(
            f"an endpoint's URL must be http(s)://HOST[:PORT][/PATH]; got {without_secrets(url)!r}"
        )
    return parsed


def read_key(url: str, variable: str = KEY, environ: Mapping[str, str] | None = None) -> Key:
    """The key for an endpoint, from the environment; one on this machine may do without.

    Raises:
        InputError: if the variable is missing or empty, or holds what no header can.
    """
    value = (os.environ if environ is None else environ).get(variable, "").strip()
    if not value and check_url(url).host not in _LOCAL:
        raise InputError(f"no key for {url}: set {variable} in the environment")
    if not value.isascii() or not value.isprintable():
        raise InputError(f"{variable} must be printable ASCII")
    return Key(value)


class Endpoint:
    """An OpenAI-compatible endpoint and one of its models, asked by ``complete``.

    ``url`` is the base, as in ``https://host/v1``. ``transport`` stands in for the network in
    tests. Use as an async context manager.

    Raises:
        InputError: for a URL that is not plain http(s), or a proxy or certificate file in the
            environment that cannot be used.
    """

    def __init__(
        self,
        model: str,
        url: str,
        key: Key,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        base = check_url(url)
        self.model = model
        self.url = url
        self._target = base.copy_with(path=base.path.rstrip("/") + "/chat/completions")
        self._key = key
        try:
            self._client = httpx.AsyncClient(
                headers={"Accept-Encoding": "identity", "Content-Type": "application/json"},
                timeout=None,
                follow_redirects=False,
                trust_env=base.host not in _LOCAL,
                transport=transport,
            )
        except (OSError, ValueError, ImportError, httpx.InvalidURL):
            # whose message may hold a proxy's password
            raise InputError(
                f"no line to {url}: a proxy or certificate file that the environment names"
                " cannot be used"
            ) from None

    async def __aenter__(self) -> Endpoint:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def complete(self, messages: Sequence[Message], timeout: float) -> Completion:
        """Ask once; ``timeout`` seconds bound the whole exchange, to the last byte of the body.

        Raises:
            EndpointError: whatever else happens.
        """
        body = json.dumps({"model": self.model, "messages": list(messages)}).encode()
        try:
            async with asyncio.timeout(timeout):
                data = await self._exchange(body)
        except EndpointError as error:
            fault = error.with_traceback(None)  # whose frames hold the header
        except TimeoutError:
            fault = EndpointError("late", f"no answer in {timeout:g} s")
        except (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.ProxyError):
            fault = EndpointError("unreachable", "no connection")
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, ValueError):
            fault = EndpointError("broken", "the connection failed before the answer was whole")
        else:
            return self._read(data)
        raise fault  # outside the handlers, so that it carries no context

    async def _exchange(self, body: bytes) -> bytes:
        headers = self._key.header()
        stream = self._client.stream("POST", self._target, content=body, headers=headers)
        async with stream as response:
            status = response.status_code
            if status == 429:
                raise EndpointError("throttled", "HTTP 429: too many requests", status)
            if status >= 500:
                raise EndpointError("failing", f"HTTP {status}", status)
            if status != 200:
                raise EndpointError("refused", f"HTTP {status}", status)
            if response.headers.get("content-encoding", "identity") != "identity":
                raise EndpointError("broken", "the answer is compressed, unasked")
            data = bytearray()
            async for chunk in response.aiter_bytes():
                data += chunk
                if len(data) > MAX_BODY:
                    raise EndpointError("broken", f"the answer is over {MAX_BODY} bytes long")
            return bytes(data)

    def _read(self, data: bytes) -> Completion:
        """The completion in a body."""
        text: object = None
        value: Any = None
        try:
            value = json.loads(data.decode("utf-8"))
            text = value["choices"][0]["message"]["content"]
        except (ValueError, RecursionError, LookupError, TypeError):
            pass
        if not isinstance(text, str):
            raise EndpointError("broken", "the answer is no chat completion")
        usage = value.get("usage")
        counts = [_count(usage, f"{kind}_tokens") for kind in ("prompt", "completion")]
        return Completion(self._key.blot(text), *counts)


def _count(usage: object, name: str) -> int:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count <= MAX_COUNT else 0
