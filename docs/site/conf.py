"""Sphinx: Markdown by MyST, the theme Furo, every warning an error (`docs/site/build.py`)."""

import gim

project = "gim"
release = version = gim.__version__
copyright = "the authors of gim"
extensions = ["myst_parser"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "gim"
html_show_sourcelink = False
suppress_warnings = ["myst.header"]
nitpicky = False
