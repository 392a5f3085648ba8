"""Models and names as policies, for every game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ..envs.errors import InputError, require
from ..envs.seats import Policy, parse_seat

require("stable_baselines3", "train")

from stable_baselines3 import PPO  # noqa: E402

__all__ = ["load_ppo", "named"]


def load_ppo(path: str | Path, fits: Callable[[PPO], bool]) -> PPO:
    """The model in a ``model.zip`` of Stable-Baselines3's PPO. Load only files that you trust.

    Raises:
        InputError: if the file is missing or cannot be read, or the model in it does not fit.
    """
    if not Path(path).is_file():
        raise InputError(f"model {path}: no such file")
    try:
        model = PPO.load(path, device="cpu")
    except Exception as error:  # a pickle inside can fail in any way
        line = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"model {path} cannot be read: {line}") from None
    if not fits(model):
        seen, done = model.observation_space.shape, model.action_space.shape
        raise InputError(
            f"model {path} was trained on something else: observations {seen}, actions {done}"
        )
    return model


def named(text: str, policies: Mapping[str, Policy], load: Callable[[str], Policy]) -> Policy:
    """The policy that a seat's name means: a scripted one, or ``load`` of ``sb3:PATH``.

    Raises:
        InputError: for an unknown name, a chat endpoint, or a model that cannot be loaded.
    """
    seat = parse_seat(text, policies, ["policy", "sb3"])
    return policies[seat.name] if seat.kind == "policy" else load(seat.name)
