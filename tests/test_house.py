"""The layout that every part agrees on: packages, import direction, what an import costs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from wager.envs.errors import InputError, MissingExtraError, check_int, require
from wager.envs.seats import Seat, parse_seat

ROOT = Path(__file__).parent.parent
LAYERS = ["envs", "wrappers", "training", "probe", "cli"]
PLUGINS = ROOT / "wrappers" / "verifiers"
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def _modules() -> list[Path]:
    return [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]


def _package(folder: Path) -> str:
    """The name that a folder installs under; a plugin's is found at the top level."""
    if folder.parent == PLUGINS:
        return f"wager_{folder.name}"
    return "wager." + ".".join(folder.relative_to(ROOT).parts)


def _folder(package: str) -> Path:
    return ROOT.joinpath(*package.split(".")[1:])


def test_every_folder_on_disk_is_packaged() -> None:
    found = [path for layer in LAYERS for path in (ROOT / layer).rglob("*.*")]
    files = [path for path in found if "__pycache__" not in path.parts]
    folders = {_package(path.parent) for path in files}
    assert set(SETUPTOOLS["packages"]) == folders  # those of data alone, too
    for folder in PLUGINS.iterdir():
        if (folder / "__init__.py").exists():
            assert SETUPTOOLS["package-dir"][_package(folder)] == str(folder.relative_to(ROOT))
    for path in _modules():
        assert (path.parent / "__init__.py").exists(), path
    data = {
        path
        for package, patterns in SETUPTOOLS["package-data"].items()
        for pattern in patterns
        for path in _folder(package).glob(pattern)
    }
    assert {path for path in files if path.suffix != ".py"} == data


def test_imports_run_one_way() -> None:
    for path in _modules():
        parts = path.relative_to(ROOT).parts
        rank = LAYERS.index(parts[0])
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name.split(".") for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level:
                base = ["wager", *parts[:-1]]
                base = base[: len(base) - node.level + 1]
                names = [base + ((node.module or "").split(".") if node.module else [])]
                if names[0] == ["wager"]:
                    names = [["wager", alias.name] for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [(node.module or "").split(".")]
                if path.parent.parent != PLUGINS:
                    assert names[0][0] != "wager", f"{path}: imports are relative"
            else:
                continue
            for name in names:
                if name[0] == "wager":
                    assert LAYERS.index(name[1]) <= rank, f"{path}: {'.'.join(name)}"


def test_every_module_imports_from_an_installed_wheel(tmp_path: Path) -> None:
    """Built, unpacked elsewhere and imported there: nothing leans on the checkout."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--target", str(tmp_path / "site"), str(ROOT)]
    subprocess.run(command, check=True, cwd=tmp_path)
    modules = [f"{_package(path.parent)}.{path.stem}" for path in _modules()]
    modules = [name.removesuffix(".__init__") for name in modules]
    code = (
        "import importlib, sys; sys.meta_path = [f for f in sys.meta_path if 'editable' not in "
        "repr(f)]; sys.path.insert(0, sys.argv[1])\n"
        "for name in sys.argv[2:]:\n"
        "    module = importlib.import_module(name)\n"
        "    assert module.__file__.startswith(sys.argv[1]), module.__file__\n"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "site"), *modules]
    subprocess.run(arguments, check=True, cwd=tmp_path)
    for layer in LAYERS:
        assert (tmp_path / "site" / "wager" / layer / "py.typed").exists()


def test_importing_the_games_needs_no_extra() -> None:
    code = (
        "import sys, wager.envs, gymnasium\n"
        "assert 'wager/GrandExchange-v0' in gymnasium.registry\n"
        "heavy = {'torch', 'stable_baselines3', 'PIL', 'matplotlib', 'scipy', 'pettingzoo'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_kernels_work_where_nothing_is_writable(tmp_path: Path) -> None:
    """A read-only package and no cache folder: compiled in memory, and right."""
    locked = tmp_path / "file"
    locked.write_text("")
    environment = dict(os.environ) | {
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
        "NUMBA_CACHE_DIR": str(locked / "cache"),
    }
    code = "import numpy, wager.envs.rng as r; print(r.below(numpy.uint64(1), 2, 3, 10))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert 0 <= int(done.stdout) < 10
    assert "compiling kernels" in done.stderr


def test_missing_extra_is_one_line_with_the_command() -> None:
    with pytest.raises(
        MissingExtraError, match=r"^no_such is not .*: pip install 'wager\[train\]'$"
    ):
        require("no_such.module", "train")
    assert require("json.decoder", "train").__name__ == "json.decoder"


def test_check_int_names_the_legal_range() -> None:
    assert check_int("n", 3, 1, 5) == 3
    for value in (0, 6, 2.0, "3", None, True, np.array([3])):
        with pytest.raises(InputError, match=r"^n must be .*1\.\.5; got "):
            check_int("n", value, 1, 5)


def test_seat_grammar() -> None:
    assert parse_seat("reference", ["reference"]) == Seat("policy", "reference")
    assert parse_seat("sb3:runs/a:b.zip", []) == Seat("sb3", "runs/a:b.zip")
    assert parse_seat("llm:org/m@2@https://h:1/v1", []) == Seat("llm", "org/m@2", "https://h:1/v1")
    for text in (
        "",
        "nobody",
        "sb3:",
        "llm:",
        "llm:m",
        "llm:m@",
        "llm:m@ftp://h",
        "llm:@http://h",
        "llm:m@http:///v1",
    ):
        with pytest.raises(InputError, match="seat "):
            parse_seat(text, ["reference"])
    with pytest.raises(InputError, match=r"no sb3 seat here; known: reference$"):
        parse_seat("sb3:m.zip", ["reference"], ["policy"])
    with pytest.raises(InputError, match=r"no such policy; known: reference, sb3:PATH$"):
        parse_seat("nobody", ["reference"], ["policy", "sb3"])
