"""How the documentation is built: ``sphinx-build -W docs build/docs``."""

from importlib.metadata import version as installed

project = "wager"
author = "The wager engineers"
copyright = author
release = version = installed("wager")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["runs/*/*.json"]
nitpicky = False

myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}

html_theme = "furo"
html_title = f"wager {release}"
