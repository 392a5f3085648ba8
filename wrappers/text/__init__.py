"""The games as text: prompts, observations and replies for language-model seats.

The modules ``grand_exchange``, ``garble`` and ``poker`` have one interface, so that a caller need
not know the game:

``Scribe(env)``
    Of an env that was just reset: keeps what a seat was told and the env forgets. ``view(agent)``
    (Grand Exchange: ``view()``) is what that seat knows now. Tell the scribe what happens: in
    poker ``note(decision)`` before each step, by the seat to act, scripted seats' too; in Garble
    ``note()`` after each turn; in Grand Exchange nothing.
``View``
    All that a text may hold and that a reply is read against; a value, safe to keep.
``system_prompt(view, operator="")``
    The rules, then the operator's guidance in a block of its own (empty when there is none). The
    same for every decision of an episode.
``describe(view, since=None)``
    The user message of a decision: blocks in a fixed order, every field that the seat may know.
    Within one conversation, give the view last told as ``since``: what has not changed is left
    out. A conversation lasts an episode; in poker a hand, so that a mirrored hand gives nothing
    away (``poker.same_hand`` tells when to begin anew).
``parse(reply, view) -> Decision``
    Reads the last JSON object of a reply. Raises ``reply.ReplyError``, and nothing else: ``code``
    says what kind of fault, ``hint`` (also ``str(error)``) is the user message to retry with.
``salvage(reply, view) -> (Decision | None, dropped)``
    After the second ill-formed reply: what is left of it, and how many offers were dropped (only
    Grand Exchange has any); None, if nothing is left: play ``FALLBACK``.
``FALLBACK``
    The scripted policy that stands in for an ill-formed seat: "house", "quoter"; in Grand Exchange
    "", no offers at all.
``decision_of(action, view)`` and ``action_of(decision, view)``
    Between an env's native action and a Decision. Garble has no native action for a line of text:
    ``decision_of`` alone, and ``env.play`` takes Decisions.
``format_action(decision, view)``
    A decision as the reply that says it: ``parse(format_action(d, view), view) == d``.

``standard`` puts the same behind the standard APIs (``TextObservation``, ``TextParallel``,
``TextAEC``); ``sizes`` measures prompts in tokens.
"""

from __future__ import annotations

from .reply import ReplyError

__all__ = ["ReplyError"]
