"""How the documentation is built: ``sphinx-build -W docs build/docs``."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).parent / "bench"))

import tables

project = "wager"
author = "The wager engineers"
copyright = author
release = version = installed("wager")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
nitpicky = True
nitpick_ignore_regex = [
    ("py:class", r"(collections|numpy)\..+"),
    ("py:exc", "ResetNeeded"),
]  # others'

myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"wager {release}"


class Bench(SphinxDirective):
    """The tables of a recorded benchmark: ``{bench} poker``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """What ``docs/bench/NAME.json`` says."""
        (name,) = self.arguments
        self.env.note_dependency(str(tables.HERE / f"{name}.json"))
        return self.parse_text_to_nodes(tables.page(name))


def keep_whole(
    app: Sphinx, what: str, name: str, item: object, options: object, lines: list[str]
) -> None:
    """Napoleon takes the first line of an attribute for "type: text"; an empty word prevents it."""
    if what in ("attribute", "data", "property"):
        lines.insert(0, r"\ ")


def leave_out(
    app: Sphinx, what: str, name: str, item: object, skip: bool, options: object
) -> bool | None:
    """A named tuple's fields stand in its docstring, not as "Alias for field number 0"."""
    return (getattr(item, "__doc__", None) or "").startswith("Alias for field number") or None


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.add_directive("bench", Bench)
    app.connect("autodoc-process-docstring", keep_whole, priority=400)
    app.connect("autodoc-skip-member", leave_out)
