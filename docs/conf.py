"""Configuration of the site that `make docs-html` builds with Sphinx.

The root of the repository is Sphinx's source folder, so that generated references and records of
measurements are pages where they lie, and links between all of them work as they do in a checkout.
"""

from __future__ import annotations

import sys
from pathlib import Path

import ark_mlir

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "ark"
version = release = ark_mlir.__version__
copyright = "the authors of ark"

extensions = ["myst_parser", "mlir_lexer", "generated_pages"]
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "benchmarks/**.md",
    "dialects/**.md",
    "passes/**.md",
    "tests/soak/README.md",
    "CONTRIBUTING.md",
]
exclude_patterns = ["build*", "dist", ".*"]

# Headings have the anchors that a reader of the files alone expects; a test checks links by those.
myst_heading_anchors = 4

html_theme = "furo"
html_title = "ark"
html_extra_path = ["site"]  # index.html, which leads to docs/index.html
html_copy_source = False
