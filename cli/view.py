"""`wager view`: a replay as a page for a browser, or a folder of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, unquote, urlsplit

import typer


def view(
    path: Annotated[Path, typer.Argument(help="A replay, or a folder of replays (*.json).")],
    out: Annotated[
        Path | None,
        typer.Option(help="The page (default: beside the replay, .html); of a folder, a folder."),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Show the folder at a local address, write nothing.")
    ] = False,
    port: Annotated[int, typer.Option(help="With --serve; 0 takes a free one.")] = 8000,
) -> None:
    """Verify replays and make of each one self-contained HTML file; a browser opens it as it is."""
    from ..envs.errors import InputError, check_int

    check_int("port", port, 0, 65535)
    if serve:
        if out is not None:
            raise InputError("give --out or --serve, not both")
        if not path.is_dir():
            raise InputError(f"--serve shows a folder; {path} is none")
        server = make_server(path, port)
        typer.echo(f"serving {path} at http://127.0.0.1:{server.server_address[1]}/ (Ctrl-C stops)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("stopped")
        finally:
            server.server_close()
        return
    for page in _write(path, out):
        typer.echo(f"wrote {page}")


def _write(path: Path, out: Path | None) -> Iterator[Path]:
    """Every page of a file or folder, all verified before the first is written."""
    from ..envs.errors import InputError
    from ..envs.files import write_text
    from ..wrappers.viewer import load, page

    if not path.is_dir():
        text = page(load(path))
        target = path.with_suffix(".html") if out is None else out
        if target == path:
            raise InputError(f"--out must not be the replay itself; got {target}")
        write_text(target, text)
        yield target
        return
    folder = path if out is None else out
    names = replays_in(path)
    if not names:
        raise InputError(f"{path} has no replay (*.json)")
    pages = {name: page(load(path / name)) for name in names}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}") from None
    for name, text in pages.items():
        target = folder / Path(name).with_suffix(".html")
        write_text(target, text)
        yield target


def replays_in(folder: Path) -> list[str]:
    """Names of the JSON files of a folder, sorted."""
    return sorted(file.name for file in folder.glob("*.json") if file.is_file())


def make_server(folder: Path, port: int) -> ThreadingHTTPServer:
    """A server of the pages of ``folder``'s replays, on the loopback address alone.

    Raises:
        InputError: if the port is taken.
    """
    from ..envs.errors import InputError

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            from ..wrappers.viewer import load, page, plain

            name = unquote(urlsplit(self.path).path).lstrip("/")
            if not name:
                self._answer(200, _index(folder))
            elif name not in replays_in(folder):  # so no path leads out of the folder
                self._answer(404, plain("Not found", "<p>No such replay.</p>"))
            else:
                try:
                    self._answer(200, page(load(folder / name)))
                except InputError as error:
                    self._answer(422, plain("Not a replay", f"<p>{escape(str(error))}</p>"))

        def _answer(self, status: int, text: str) -> None:
            data = text.encode("utf-8")
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the terminal is for the address."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            if not isinstance(sys.exception(), ConnectionError):  # a browser that has left is none
                super().handle_error(request, client_address)

    try:
        return Server(("127.0.0.1", port), Handler)
    except OSError as error:
        raise InputError(f"cannot serve on port {port}: {error.strerror}") from None


def _index(folder: Path) -> str:
    from ..wrappers.viewer import plain

    rows = "".join(
        f'<li><a href="/{quote(name)}">{escape(name)}</a></li>' for name in replays_in(folder)
    )
    return plain("Replays", f"<ul>{rows}</ul>" if rows else "<p>No replay here.</p>")
