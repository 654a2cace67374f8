"""Settings of Sphinx: the pages of this folder in Markdown, the API from numpydoc docstrings (``make docs``)."""

import lpbench

project = "lpbench"
author = "The lpbench authors"
version = release = lpbench.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "numpydoc", "myst_parser", "sphinx_gallery.gen_gallery"]
root_doc = "index"
exclude_patterns = ["examples", "questions"]  # made into the gallery; texts to be sent
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}
html_theme = "alabaster"
html_theme_options = {"description": "Reproducible experiments in locally private learning", "page_width": "1100px"}

autodoc_typehints = "none"  # the docstrings state types, shapes and units
numpydoc_show_class_members = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
