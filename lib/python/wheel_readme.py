"""The readme of a wheel: README.md and the extras, with links to files as plain text.

docs/installation.md describes the extras. A package index shows the readme without the repository,
so that such links would lead nowhere.
``pyproject.toml`` names this module as the provider of the field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]

# A link, or an image, whose address is neither absolute nor a heading of the page.
_RELATIVE = re.compile(r"!?\[([^\]]+)\]\((?!https?://|#)[^)]+\)")
# The line that gives such an address to a label, for links of the form [text][label].
_DEFINITION = re.compile(r"^\[([^\]]+)\]: (?!https?://|#)\S+\n", re.MULTILINE)


def without_links(text: str) -> str:
    """Returns Markdown in which the text of a relative link replaces the link.

    Lines of code blocks stay as they are.
    """
    labels = set(_DEFINITION.findall(text))

    def shown(link: re.Match[str]) -> str:
        return link[1] if link[2] in labels else link[0]

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    for number in range(0, len(parts), 2):
        part = _DEFINITION.sub("", _RELATIVE.sub(r"\1", parts[number]))
        parts[number] = re.sub(r"\[([^\]]+)\]\[([^\]]+)\]", shown, part)
    return "".join(parts)


def extras(page: str) -> str:
    """Returns the section of docs/installation.md that describes the extras, as a section of the
    readme.

    Raises ValueError if the page has no such section.
    """
    found = re.search(r"^### Optional packages\n(.+?)(?=^##)", page, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError("docs/installation.md: no section 'Optional packages'")
    return f"## Optional packages\n{found[1]}"


def with_extras(text: str, section: str) -> str:
    """Returns the readme with the section of the extras before the first program.

    Raises ValueError if README.md does not have exactly one section 'First program'.
    """
    parts = re.split(r"^(?=## First program\n)", text, flags=re.MULTILINE)
    if len(parts) != 2:
        raise ValueError(f"README.md: {len(parts) - 1} sections 'First program', expected 1")
    return section.join(parts)


def dynamic_metadata(field: str, settings: Mapping[str, object], *_: object) -> dict[str, str]:
    """Returns the field ``readme``, as scikit-build-core asks its providers for it."""
    if field != "readme" or settings:
        raise ValueError(f"only the field readme, without settings, not {field!r}: {settings}")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    text = with_extras(text, extras(page))
    return {"content-type": "text/markdown", "text": without_links(text)}
