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
nitpicky = False

myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}

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


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.add_directive("bench", Bench)
