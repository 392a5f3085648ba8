"""Examples for Ray's RLlib, one script a game: train, keep a checkpoint, play with it."""

from ...envs.errors import require

for _module in ("ray", "tree"):
    require(_module, "rllib")
