"""The program that plays a seat: one chat completion a turn, made in this process."""

from __future__ import annotations

import ssl
from functools import cache
from typing import Any

import httpx
from openai import APIStatusError, AsyncOpenAI
from verifiers.v1 import (
    Harness,
    HarnessConfig,
    ModelContext,
    ProgramResult,
    Runtime,
    TaskData,
    Trace,
    UserMessage,
)
from verifiers.v1.dialects.chat import message_to_wire
from verifiers.v1.harnesses.utils.compaction import is_context_overflow


@cache
def _certificates() -> ssl.SSLContext:
    """Loaded once: it costs more than all the rest of a client."""
    return ssl.create_default_context()


def _is_over(error: APIStatusError) -> bool:
    """Whether the conversation ends by what was said in it, not by a fault of the provider.

    It has outgrown the model's context, or the reply held half a surrogate pair, which cannot be
    passed on.
    """
    return is_context_overflow(error) or "hex escape" in str(error)


class ChatHarness(Harness[HarnessConfig]):
    """Answers each turn with one completion of the whole conversation; no tools, no installation.

    Nothing runs in the seat's runtime, so nothing is downloaded into it. Calls go to the rollout's
    own endpoint, which records them and applies the model and its sampling.
    """

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: ModelContext,
        trace: Trace[Any, Any, Any],
        runtime: Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: TaskData,
    ) -> ProgramResult:
        """Ask for the next message of the conversation that ``data`` holds."""
        system, prompt = self.resolve_prompt(data)
        turns = [UserMessage(content=prompt)] if isinstance(prompt, str) else prompt or []
        messages = [message_to_wire(message) for message in turns]
        if system is not None:
            messages.insert(0, {"role": "system", "content": system})
        transport = httpx.AsyncClient(verify=_certificates())
        async with AsyncOpenAI(base_url=endpoint, api_key=secret, http_client=transport) as client:
            try:
                # untyped: what a provider answers is the endpoint's to check
                await client.post(
                    "/chat/completions",
                    body={"model": ctx.model, "messages": messages},
                    cast_to=object,
                )
            except APIStatusError as error:
                if not _is_over(error):
                    raise
        return ProgramResult(exit_code=0, stdout="", stderr="")
