"""Others' poker, driven as its own documentation does, in the fastest way found.

Each peer does what ours does: deal, a uniformly random legal action at every decision, play out,
read the payoffs. What is needed once is made outside the timing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pettingzoo
from numpy.typing import NDArray

from ..envs.errors import MissingExtraError, require
from ..envs.poker.cards import name as card_name
from .bench import Contender

SEED = 60_000
DECISIONS = "decisions/s"
HANDS = "hands/s"

SPIEL = {
    "kuhn": "OpenSpiel kuhn_poker",
    "leduc": "OpenSpiel leduc_poker",
    "holdem-hu": "OpenSpiel universal_poker, 2 seats",
    "holdem-6max": "OpenSpiel universal_poker, 6 seats",
}
"""OpenSpiel's game of each table that it has; no-limit as the tables: 100 chips, blinds 1 and 2."""
BOTS = "OpenSpiel universal_poker, 6 seats, its own loop in C++"
ZOO = {
    "leduc": ("PettingZoo leduc_holdem_v4", "classic/leduc_holdem-v4", {}, 2_500),
    "holdem-6max": (
        "PettingZoo texas_holdem_no_limit_v6, 6 seats",
        "classic/texas_holdem_no_limit-v6",
        {"num_players": 6},
        1_000,
    ),
}
"""PettingZoo's environment of each table: name, id, arguments, decisions of a measurement."""
RLCARD = {
    "leduc": ("RLCard leduc-holdem", "leduc-holdem", 2, 8_000),
    "holdem-6max": ("RLCard no-limit-holdem, 6 seats", "no-limit-holdem", 6, 2_000),
}
POKERKIT = "PokerKit no-limit hold'em, 6 seats"
PHEVALUATOR = "phevaluator evaluate_7cards"
EVAL7 = "eval7 evaluate"

_GAMES = {"kuhn": 12_000, "leduc": 8_000, "holdem-hu": 2_500, "holdem-6max": 1_500}
_BOT_GAMES = 4_000
_POKERKIT_HANDS = 30


def left_out(name: str, unit: str, make: Callable[[], Contender]) -> Contender:
    """The contender that ``make`` makes, or one that says what it misses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the peers' own set-up
            return make()
    except MissingExtraError as error:
        return Contender(name, unit, lambda: 0, missing=str(error))


def play_aec(env: Any, decisions: int) -> int:
    """Whole episodes of any ``AECEnv`` until so many decisions were made; returns how many."""
    random = Random(SEED).random
    made = 0
    while made < decisions:
        env.reset()
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            legal = observation["action_mask"].nonzero()[0]
            env.step(legal[int(random() * len(legal))])
            made += 1
    return made


def spiel_game(table: str) -> Any:
    """OpenSpiel's game of a table."""
    pyspiel = require("pyspiel", "bench")
    if table in ("kuhn", "leduc"):
        return pyspiel.load_game(f"{table}_poker")
    seats = 2 if table == "holdem-hu" else 6
    # from 1: the small blind; heads-up it is the button and acts first before the flop, last after
    first = "1 2 2 2" if seats == 2 else "3 1 1 1"
    return pyspiel.load_game(
        "universal_poker",
        {
            "betting": "nolimit",
            "bettingAbstraction": "fullgame",
            "numPlayers": seats,
            "numRounds": 4,
            "blind": " ".join(["1", "2", *["0"] * (seats - 2)]),
            "firstPlayer": first,
            "stack": " ".join(["100"] * seats),
            "numSuits": 4,
            "numRanks": 13,
            "numHoleCards": 2,
            "numBoardCards": "0 3 1 1",
        },
    )


def play_spiel(game: Any, games: int) -> None:
    """Random games from Python. Cards are drawn as actions are: every deal is as likely."""
    random = Random(SEED).random
    for _ in range(games):
        state = game.new_initial_state()
        while not state.is_terminal():
            legal = state.legal_actions()
            state.apply_action(legal[int(random() * len(legal))])
        state.returns()


def count_spiel(game: Any, games: int) -> int:
    """The decisions of ``play_spiel``: the same games, cards not counted."""
    random = Random(SEED).random
    decisions = 0
    for _ in range(games):
        state = game.new_initial_state()
        while not state.is_terminal():
            decisions += not state.is_chance_node()
            legal = state.legal_actions()
            state.apply_action(legal[int(random() * len(legal))])
    return decisions


def spiel(table: str) -> Contender:
    """OpenSpiel, its states driven from Python."""

    def make() -> Contender:
        game, games = spiel_game(table), _GAMES[table]
        decisions = count_spiel(game, games)

        def run() -> int:
            play_spiel(game, games)
            return decisions

        return Contender(SPIEL[table], DECISIONS, run, package="open-spiel")

    return left_out(SPIEL[table], DECISIONS, make)


def spiel_bots() -> Contender:
    """OpenSpiel, a game a call: uniformly random bots in its own loop."""

    def make() -> Contender:
        pyspiel = require("pyspiel", "bench")
        game = spiel_game("holdem-6max")

        def play(count: bool) -> int:
            # Bots keep their generators: made anew, they play the same games.
            bots = [pyspiel.make_uniform_random_bot(p, SEED + p) for p in range(6)]
            decisions = 0
            for seed in range(_BOT_GAMES):
                state = game.new_initial_state()
                pyspiel.evaluate_bots(state, bots, seed)
                if count:
                    decisions += sum(action.player >= 0 for action in state.full_history())
            return decisions

        decisions = play(True)

        def run() -> int:
            play(False)
            return decisions

        return Contender(BOTS, DECISIONS, run, package="open-spiel")

    return left_out(BOTS, DECISIONS, make)


def zoo(table: str) -> list[Contender]:
    """PettingZoo's environment, raw and with its wrappers."""
    title, identifier, arguments, decisions = ZOO[table]

    def make(kind: str) -> Contender:
        require("pygame", "bench")
        require("rlcard", "bench")
        env: Any = pettingzoo.make("aec", identifier, **arguments)
        env.reset(seed=SEED)
        played = env.unwrapped if kind == "raw_env" else env
        play = partial(play_aec, played, decisions)
        return Contender(f"{title} {kind}", DECISIONS, play, package="pettingzoo")

    kinds = ("raw_env", "env")
    return [left_out(f"{title} {kind}", DECISIONS, partial(make, kind)) for kind in kinds]


def rlcard(table: str) -> Contender:
    """RLCard's environment, stepped by hand."""
    title, identifier, seats, decisions = RLCARD[table]

    def make() -> Contender:
        module = require("rlcard", "bench")
        env: Any = module.make(identifier, config={"seed": SEED, "game_num_players": seats})

        def run() -> int:
            random = Random(SEED).random
            made = 0
            while made < decisions:
                state, _ = env.reset()
                while not env.is_over():
                    legal = list(state["legal_actions"])
                    state, _ = env.step(legal[int(random() * len(legal))])
                    made += 1
                env.get_payoffs()
            return made

        return Contender(title, DECISIONS, run, package="rlcard")

    return left_out(title, DECISIONS, make)


def pokerkit() -> Contender:
    """PokerKit, all but the decisions automated."""

    def make() -> Contender:
        module = require("pokerkit", "bench")
        game = module.NoLimitTexasHoldem(tuple(module.Automation), True, 0, (1, 2), 2)

        def run() -> int:
            random = Random(SEED).random
            made = 0
            for _ in range(_POKERKIT_HANDS):
                state = game((100,) * 6, 6)
                while state.status:
                    folds = state.checking_or_calling_amount > 0
                    least = state.min_completion_betting_or_raising_to_amount
                    kinds = 1 + folds
                    if least is not None:
                        most = state.max_completion_betting_or_raising_to_amount
                        kinds += most - least + 1
                    action = int(random() * kinds) - folds
                    if action < 0:
                        state.fold()
                    elif action == 0:
                        state.check_or_call()
                    else:
                        state.complete_bet_or_raise_to(least + action - 1)
                    made += 1
            return made

        return Contender(POKERKIT, DECISIONS, run, package="pokerkit")

    return left_out(POKERKIT, DECISIONS, make)


def evaluators(hands: NDArray[np.int8]) -> list[Contender]:
    """The evaluators, a call for each of ``hands`` (n, 7), cards made before."""

    def phevaluator() -> Contender:
        evaluate = require("phevaluator.evaluator", "bench").evaluate_7cards
        cards = hands.tolist()  # its numbers of the cards are ours

        def run() -> int:
            for hand in cards:
                evaluate(*hand)
            return len(cards)

        return Contender(PHEVALUATOR, HANDS, run, package="phevaluator")

    def eval7() -> Contender:
        module = require("eval7", "bench")
        cards = [[module.Card(card_name(card)) for card in hand] for hand in hands.tolist()]
        evaluate = module.evaluate

        def run() -> int:
            for hand in cards:
                evaluate(hand)
            return len(cards)

        return Contender(EVAL7, HANDS, run, package="eval7")

    return [left_out(PHEVALUATOR, HANDS, phevaluator), left_out(EVAL7, HANDS, eval7)]


def peers(hands: NDArray[np.int8]) -> list[Contender]:
    """Every peer; ``hands`` (n, 7) are those of the evaluators."""
    return [
        *(spiel(table) for table in SPIEL),
        spiel_bots(),
        *(env for table in ZOO for env in zoo(table)),
        *(rlcard(table) for table in RLCARD),
        pokerkit(),
        *evaluators(hands),
    ]
