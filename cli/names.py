"""What tables call seats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import urlsplit


def short(name: str) -> str:
    """A seat's name as a table has room for it: an endpoint without URL, a model without folder."""
    return _forms(name)[0]


def labels(names: Sequence[str]) -> dict[str, str]:
    """Each of different ``names`` as short as still tells it apart."""
    forms = [_forms(name) for name in names]
    most = max(map(len, forms))
    made: dict[str, str] = {}
    for depth in range(most):
        shown = [form[min(depth, len(form) - 1)] for form in forms]
        counts = Counter(shown)
        for name, label in zip(names, shown, strict=True):
            if counts[label] == 1:
                made.setdefault(name, label)
    return {name: made[name] for name in names}


def _forms(name: str) -> list[str]:
    """A seat's names from the shortest to the whole."""
    if name.startswith("sb3:"):
        parts = PurePath(name.removeprefix("sb3:")).parts
        return ["sb3:" + "/".join(parts[-k:]) for k in range(1, len(parts))] + [name]
    if name.startswith("llm:"):
        model, _, url = name.rpartition("@")
        return [model, f"{model}@{urlsplit(url).netloc}", name]
    return [name]
