"""Pages that mlir-tblgen wrote, as pages of the site: `dialects/*/*.md` and `passes/**/Passes.md`.

The pages begin below the first level of headings, which Sphinx refuses, and name no stage.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_PASSES = re.compile(r"passes/([\w/]+)/Passes")


def read_page(app: Sphinx, name: str, content: list[str]) -> None:
    """Edits the text of a generated page before it is parsed."""
    passes = _PASSES.fullmatch(name)
    if passes is not None:
        raised = re.sub(r"^#(##+) ", r"\1 ", content[0], flags=re.M)
        title = "Pipelines" if passes[1] == "pipelines" else f"Passes: {passes[1]}"
        content[0] = f"# {title}\n\n{raised}"
    elif name.startswith("dialects/"):
        # The theme shows the headings of a page beside it.
        content[0] = content[0].replace("\n[TOC]\n", "\n", 1)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connects the edits to the reading of sources."""
    app.connect("source-read", read_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
