"""`wager serve`: a scripted policy as a chat model, for whoever has none at hand."""

from __future__ import annotations

from typing import Annotated

import typer

MAX_PORT = 65_535


def serve(
    policy: Annotated[
        str, typer.Option(help="A policy's name, or garbage: every answer ill-formed.")
    ] = "reference",
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes a free one.")] = 8_000,
    max_requests: Annotated[
        int | None, typer.Option(help="Stop after so many answers (default: never).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of a policy that mixes.")] = 0,
) -> None:
    """Serve a policy as an OpenAI-compatible chat model of the same name, in every game."""
    from ..envs.errors import check_int
    from ..training.match.scripted import answers
    from ..training.match.server import ChatServer

    check_int("port", port, 0, MAX_PORT)
    check_int("seed", seed, 0, 2**63 - 1)
    if max_requests is not None:
        check_int("max-requests", max_requests, 1)
    with ChatServer(policy, answers(policy, seed), host, port, max_requests) as server:
        typer.echo(f"serving {policy}: llm:{policy}@{server.url}")
        server.serve_forever(poll_interval=0.05)
