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
html_static_path = ["_static"]
html_css_files = ["site.css"]
highlight_language = "none"  # a block without a language is what a terminal shows
suppress_warnings = ["myst.header"]
nitpicky = False
