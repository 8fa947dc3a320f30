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

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_parser",
    "mlir_lexer",
    "generated_pages",
    "public_names",
    "command_line",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "benchmarks/**.md",
    "dialects/**.md",
    "lib/**.md",
    "passes/**.md",
    "ark_mlir/runtime/README.md",
    "tests/soak/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = ["build*", "dist", ".*"]

# Headings have the anchors that a reader of the files alone expects; a test checks links by those.
myst_heading_anchors = 4

# Docstrings put code into single backticks, too.
default_role = "code"
smartquotes = False  # would replace the two hyphens of an option by a dash
add_module_names = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
# Types of other packages, whose references would have to be fetched.
nitpick_ignore_regex = [
    ("py:class", r"(collections|contextlib|np|numpy|os|torch|typing_extensions)\..*|NDArray"),
    ("py:class", r"ark_mlir\._mlir_libs\..*"),
    ("py:obj", r"typing\.Literal\[.*"),
    # Unions that signatures name, and records that no user makes.
    (
        "py:class",
        r"Batch|Build|Bytes|ChatTemplate|Config|DriverTable|Exchange|Expression|MakeOptimizer|Messages|"
        r"PathLike|Prepare|Request|RunStream|ShowProgress|Target|Tokenizer|dict\[str",
    ),
    (
        "py:class",
        r"ark_mlir\.(.+\.(ChatTemplate|Config|DecoderConfig|EncoderConfig|Operand|Rank|RunBarrier|"
        r"RunStream|Section|Tables|Target|Task|Tokenizer|Value)|knobs\.T)",
    ),
]
python_use_unqualified_type_names = True
maximum_signature_line_length = 80

html_theme = "furo"
html_title = "ark"
html_extra_path = ["site"]  # index.html, which leads to docs/index.html
html_copy_source = False
