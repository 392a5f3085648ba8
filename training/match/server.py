"""An OpenAI-compatible chat server over any function from a conversation to an answer.

``GET /v1/models`` and ``POST /v1/chat/completions``, on the standard library, a thread a
connection. For one machine and trusted clients: there is no authentication.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

from ...envs.errors import InputError

MAX_REQUEST = 4 * 2**20
"""Most bytes of a request's body."""
IDLE = 60.0
"""Seconds after which a silent connection is closed."""

Answer: TypeAlias = Callable[[list[dict[str, str]]], str]
"""From a conversation, ``{"role", "content"}`` each, to what the model says next.

Raises ``InputError`` for a conversation that it has no answer to.
"""


class ChatServer(ThreadingHTTPServer):
    """Serves one model, ``model``, which answers by ``answer``.

    ``port`` 0 takes a free one; ``url`` is what a client is to be given. After ``max_requests``
    answered completions (None: never) ``serve_forever`` returns.

    Raises:
        InputError: if the address cannot be bound.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        model: str,
        answer: Answer,
        host: str = "127.0.0.1",
        port: int = 0,
        max_requests: int | None = None,
    ) -> None:
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            raise InputError(f"cannot serve at {host}:{port}: {error}") from None
        self.model = model
        self.answer = answer
        self.answered = 0
        self._max_requests = max_requests
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The base URL, as in ``llm:MODEL@URL``."""
        host, port = self.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}/v1"

    def count(self) -> None:
        """One more completion was sent."""
        with self._lock:
            self.answered += 1
            if self.answered == self._max_requests:
                threading.Thread(target=self.shutdown, daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves in the middle is no news."""


class _RefusalError(Exception):
    def __init__(self, status: HTTPStatus, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer
    protocol_version = "HTTP/1.1"
    timeout = IDLE
    # head and body are two writes, and the second would wait 40 ms for the client's delayed ACK
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if self.path.rstrip("/") == "/v1/models":
            model = {"id": self.server.model, "object": "model", "created": 0, "owned_by": "wager"}
            self._send(HTTPStatus.OK, {"object": "list", "data": [model]})
        else:
            self._refuse(_RefusalError(HTTPStatus.NOT_FOUND, f"nothing at {self.path}"))

    def do_POST(self) -> None:
        try:
            request = self._request()
            messages = self._messages(request)
            try:
                text = self.server.answer(messages)
            except InputError as error:
                raise _RefusalError(HTTPStatus.BAD_REQUEST, str(error)) from None
        except _RefusalError as refusal:
            self._refuse(refusal)
            return
        sizes = [sum(_tokens(m["content"]) for m in messages), _tokens(text)]
        self._send(
            HTTPStatus.OK,
            {
                "id": f"wager-{self.server.answered}",
                "object": "chat.completion",
                "created": 0,
                "model": self.server.model,
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": text},
                        "finish_reason": "stop",
                    }
                ],
                "usage": {
                    "prompt_tokens": sizes[0],
                    "completion_tokens": sizes[1],
                    "total_tokens": sum(sizes),
                },
            },
        )
        self.server.count()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def _request(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_REQUEST:
            self.close_connection = True
            raise _RefusalError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has 0..{MAX_REQUEST} bytes"
            )
        body = self.rfile.read(int(length))
        if self.path.rstrip("/") != "/v1/chat/completions":
            raise _RefusalError(HTTPStatus.NOT_FOUND, f"nothing at {self.path}")
        try:
            request = json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict):
            raise _RefusalError(HTTPStatus.BAD_REQUEST, "the body must be a JSON object")
        return request

    def _messages(self, request: dict[str, Any]) -> list[dict[str, str]]:
        if request.get("model") != self.server.model:
            text = f"the model must be {self.server.model!r}"
            raise _RefusalError(HTTPStatus.NOT_FOUND, text, "model_not_found")
        if request.get("stream"):
            raise _RefusalError(HTTPStatus.BAD_REQUEST, "stream must be false")
        messages = request.get("messages")
        read = [_message(m) for m in messages] if isinstance(messages, list) else []
        if not read:
            raise _RefusalError(
                HTTPStatus.BAD_REQUEST, "messages must be a list of role and content"
            )
        return read

    def _refuse(self, refusal: _RefusalError) -> None:
        error = {"message": str(refusal), "type": "invalid_request_error", "code": refusal.code}
        self._send(refusal.status, {"error": error})

    def _send(self, status: HTTPStatus, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _message(message: object) -> dict[str, str]:
    """A message with its content as one string, which clients also send in parts."""
    if not isinstance(message, dict):
        raise _RefusalError(HTTPStatus.BAD_REQUEST, "a message must be an object")
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        raise _RefusalError(HTTPStatus.BAD_REQUEST, "a message's content must be text")
    return {"role": str(message.get("role")), "content": content}


def _tokens(text: str) -> int:
    """A rough count: four bytes a token."""
    return -(-len(text.encode("utf-8", "replace")) // 4)
