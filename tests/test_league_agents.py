"""Who plays in a league: models as their files were, endpoints as they answer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.beside import running
from wager.cli.main import main
from wager.cli.names import labels
from wager.envs.errors import InputError
from wager.envs.seeds import SEED_BASE
from wager.training.league.play import CalledOff, Job, Listener, outcome_of
from wager.training.league.run import run
from wager.training.league.schedule import Fixture, Setup, fixtures, make_setup, players
from wager.training.league.standings import report, standings
from wager.training.league.store import Store
from wager.training.match.lineup import seat_players
from wager.training.match.scripted import answers
from wager.training.match.seats import ChatSeat
from wager.training.match.server import Answer, ChatServer

RUNS = Path(__file__).parents[1] / "docs" / "runs"


def kuhn(*agents: str, matches: int = 2) -> Setup:
    return make_setup(agents, ["kuhn"], matches)


class TestModels:
    def test_they_play_what_they_were_trained_for(self) -> None:
        limit, talker = (
            f"sb3:{RUNS / path}" for path in ("poker/kuhn/policy.npz", "garble/model.zip")
        )
        setup = make_setup(
            [limit, talker, "house", "quoter", "nash"], ["kuhn", "leduc", "garble"], 2
        )
        assert players(setup, "leduc") == ["house", "nash"]
        assert players(setup, "kuhn") == [limit, "house", "nash"]
        assert players(setup, "garble") == [talker, "quoter"]
        assert setup.models[limit].tables == ("kuhn",)
        assert 0 < setup.models[limit].exploitability["kuhn"] < 0.1
        with pytest.raises(InputError, match="plays none of: leduc, sixmax"):
            make_setup([limit, "house"], ["leduc", "sixmax"], 2)
        with pytest.raises(InputError, match="no such file"):
            make_setup(["sb3:/absent.npz", "house"], ["kuhn"], 2)

    def test_one_that_changes_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "policy.npz"
        shutil.copy(RUNS / "poker" / "kuhn" / "policy.npz", path)
        store = Store(tmp_path / "l.db", kuhn(f"sb3:{path}", "house", matches=2))
        run(store)
        before = report(store.setup, standings(store.setup, store.results()))
        assert before["diagnoses"][0]["exploitability"] == dict(
            store.setup.models[f"sb3:{path}"].exploitability
        )
        shutil.copy(RUNS / "poker" / "leduc" / "policy.npz", path)
        was = store.setup.models[f"sb3:{path}"].sha256[:12]
        with pytest.raises(InputError, match=f"has changed since the league began: .* was {was}"):
            run(store)
        job = Job(fixtures(store.setup)[0], {f"sb3:{path}": "0" * 64})
        with pytest.raises(InputError, match="has changed since"):  # a worker looks too
            outcome_of(job)
        path.unlink()
        with pytest.raises(InputError, match="no such file"):
            run(store)
        assert report(store.setup, standings(store.setup, store.results())) == before

    def test_another_version_of_wager_is_refused(self, tmp_path: Path) -> None:
        old = Setup(**{**vars(kuhn("house", "rock")), "version": "0.0.1"})
        store = Store(tmp_path / "l.db", old)
        with pytest.raises(InputError, match=r"the league began with wager 0\.0\.1, this is"):
            run(store)
        assert report(store.setup, standings(store.setup, store.results()))["version"] == "0.0.1"


class Deaf:
    """A model that answers while it ``hears``."""

    def __init__(self, model: str = "reference") -> None:
        self.hears = True
        self.asked = 0
        self._answer = answers(model)

    def __call__(self, messages: Any) -> str:
        self.asked += 1
        if not self.hears:
            raise InputError("no")  # which a server makes an HTTP 400 of
        return self._answer(messages)


@contextmanager
def served(answer: Answer) -> Iterator[ChatServer]:
    with running(ChatServer("m", answer)) as server:
        yield server


class TestEndpoints:
    """Real ones, served on this machine: nothing here waits."""

    def test_a_league_with_one(self, tmp_path: Path) -> None:
        with served(Deaf()) as server:
            name = f"llm:m@{server.url}"
            tables = ["kuhn", "garble", "grand-exchange"]
            store = Store(
                tmp_path / "l.db", make_setup([name, "house", "quoter", "plain"], tables, 1)
            )
            run(store, paced=False)
        found = standings(store.setup, store.results())
        assert found.played == found.matches == 4
        own = found.diagnoses[0]
        assert own.agent == name
        assert own.fallbacks == 0
        assert own.decisions > 30
        assert {one.table for one in found.scores if one.agent == name} == set(tables[1:])
        assert found.diagnoses[1].decisions > 0

    def test_fallbacks_are_counted_in_every_game(self, tmp_path: Path) -> None:
        with served(Deaf("garbage")) as server:
            name = f"llm:m@{server.url}"
            for table in ("garble", "grand-exchange"):
                agents = [name, "random"]
                store = Store(tmp_path / f"{table}.db", make_setup(agents, [table], 1))
                run(store, paced=False)
                own = standings(store.setup, store.results()).diagnoses[0]
                assert own.fallbacks == own.decisions > 0

    def test_one_that_is_gone_is_not_rated(self, tmp_path: Path) -> None:
        """Its matches are played when it is back; those of others are not held up."""
        model = Deaf()
        model.hears = False
        with served(model) as server:
            name = f"llm:m@{server.url}"
            store = Store(tmp_path / "l.db", kuhn(name, "house", "random", matches=2))
            with pytest.raises(
                InputError, match=f"4 matches are left, .*{name}: no answer .refused 6"
            ):
                run(store, paced=False)
            assert model.asked <= 8
            found = standings(store.setup, store.results())
            assert found.played == 2
            assert [one.agent for one in found.ratings] == ["house", "random"]
            model.hears = True
            run(store, paced=False)
            assert standings(store.setup, store.results()).played == 6

    def test_one_that_falls_silent_calls_the_match_off(self) -> None:
        model = Deaf()

        def answer(messages: Any) -> str:
            model.hears = model.asked < 10
            return model(messages)

        with served(answer) as server:
            name = f"llm:m@{server.url}"
            fixture = Fixture(0, "kuhn", SEED_BASE, (name, "house"))
            assert outcome_of(Job(fixture, paced=False)) == CalledOff(name, "no answer (refused 7)")

    def test_no_such_model(self) -> None:
        with served(Deaf()) as server:
            fixture = Fixture(0, "kuhn", SEED_BASE, (f"llm:other@{server.url}", "house"))
            off = outcome_of(Job(fixture, paced=False))
        assert isinstance(off, CalledOff)
        assert off.why == "HTTP 404: no such model, or no chat endpoint there"

    def test_time_that_runs_out_at_once_is_no_draw(self) -> None:
        (player,) = seat_players("poker", ["llm:m@http://127.0.0.1:9"], "kuhn")
        assert isinstance(player, ChatSeat)
        listener = Listener([player])
        player.tally.calls = 1
        off = listener.verdict()
        assert off is not None
        assert off.why == "time ran out before anything was scored"
        listener("hand", 1, 2, [0.5, 0.5])
        assert listener.verdict() is None

    def test_secrets_and_missing_keys_stop_it_before_there_is_a_file(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("WAGER_API_KEY", raising=False)
        monkeypatch.setenv("OTHER_KEY", "sk-planted-50d1")
        db = tmp_path / "l.db"
        for url, options, words in (
            ("https://u:sk-planted@h.example/v1", [], "no user, password, query"),
            ("https://h.example/v1", [], "set WAGER_API_KEY"),
            ("https://h.example/v1", ["--key", "g.example=OTHER_KEY"], "set WAGER_API_KEY"),
            ("http://127.0.0.1:9/v1", ["--key", "g.example=OTHER_KEY"], "no agent is an endpoint"),
            ("http://127.0.0.1:9/v1", ["--key", "OTHER_KEY"], "must be HOST=VARIABLE"),
        ):
            command = ["league", "run", "--db", str(db), "--agents", f"house,llm:m@{url}"]
            assert main([*command, "--tables", "kuhn", *options]) == 2
            said = capsys.readouterr().err
            assert words in said
            assert "planted" not in said
            assert not list(tmp_path.iterdir())

    def test_a_key_goes_to_its_host_and_into_no_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[str | None] = []
        monkeypatch.setenv("OTHER_KEY", "sk-planted-50d1")
        with served(Deaf()) as server:
            kept = server.RequestHandlerClass.parse_request

            def parse(handler: Any) -> bool:
                read = kept(handler)
                seen.append(handler.headers.get("Authorization"))
                return bool(read)

            monkeypatch.setattr(server.RequestHandlerClass, "parse_request", parse)
            name = f"llm:m@{server.url}"
            store = Store(tmp_path / "l.db", kuhn(name, "house", matches=1))
            run(store, paced=False, keys={"127.0.0.1": "OTHER_KEY"})
        store.close()
        assert set(seen) == {"Bearer sk-planted-50d1"}
        assert b"planted" not in (tmp_path / "l.db").read_bytes()


def test_labels_are_short_but_tell_apart() -> None:
    names = ["house", "sb3:a/kuhn/policy.npz", "sb3:a/leduc/policy.npz", "sb3:b/model.zip"]
    names += ["llm:big@https://h/v1", "llm:small@https://g/v1", "llm:small@https://h/v1"]
    assert list(labels(names).values()) == [
        "house",
        "sb3:kuhn/policy.npz",
        "sb3:leduc/policy.npz",
        "sb3:model.zip",
        "llm:big",
        "llm:small@g",
        "llm:small@h",
    ]
