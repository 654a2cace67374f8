"""Settings of Sphinx: the pages of this folder in Markdown, the API from numpydoc docstrings (``make docs``)."""

import lpbench

project = "lpbench"
author = "The lpbench authors"
version = release = lpbench.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "numpydoc", "myst_parser"]
root_doc = "index"
html_theme = "alabaster"
html_theme_options = {"description": "Reproducible experiments in locally private learning", "page_width": "1100px"}

autodoc_typehints = "none"  # the docstrings state types, shapes and units
numpydoc_show_class_members = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
