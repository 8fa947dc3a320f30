"""References by the names that users import, and signatures without internal arguments.

Annotations and docstrings name a class by its module (`ark_mlir.runtime.diagnosis.report.Report`)
or alone (`Report`), while the reference describes it under its public name
(`ark_mlir.runtime.Report`).
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PythonDomain
from sphinx.environment import BuildEnvironment

# Objects of these classes come from functions; their constructors are not public.
_MADE_BY_ARK = {
    "Argument", "Buffer", "Bundle", "CheckResult", "DType", "EmbeddingModel", "Evaluation",
    "Executable", "GenerativeModel", "Knob", "Manifest", "Member", "Model", "Output",
    "Plan", "RankExecutable", "Report", "Resident", "ResidentWorld", "Signature", "Tensor",
    "TorchProgram", "World",
}  # fmt: skip


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.Element | None:
    """Returns a reference to the one documented object whose name has the same end."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or not re.fullmatch(r"(ark_mlir\.)?[\w.]+", target):
        return None
    words = target.split(".")
    of_class = len(words) > 1 and words[-2][:1].isupper()
    end = "." + ".".join(words[-2:] if of_class else words[-1:])
    domain = env.get_domain("py")
    assert isinstance(domain, PythonDomain)
    found = [
        (name, entry)
        for name, entry in domain.objects.items()
        if name.endswith(end) and not entry.aliased
    ]
    if len(found) != 1:
        return None
    name, entry = found[0]
    from_page = node.get("refdoc", env.docname)
    return make_reference(app, from_page, entry.docname, entry.node_id, content, name)


def make_reference(
    app: Sphinx, from_page: str, page: str, anchor: str, content: nodes.TextElement, title: str
) -> nodes.Element:
    """Returns a link from one page to an anchor of another page."""
    uri = app.builder.get_relative_uri(from_page, page) + "#" + anchor
    if from_page == page:
        uri = "#" + anchor
    return nodes.reference("", "", content, internal=True, refuri=uri, reftitle=title)


def shorten_signature(
    app: Sphinx,
    kind: str,
    name: str,
    described: object,
    options: object,
    signature: str | None,
    result: str | None,
) -> tuple[str, str] | None:
    """Leaves out the arguments of constructors that only ark calls."""
    if kind == "class" and name.rpartition(".")[2] in _MADE_BY_ARK:
        return "", ""
    return None


def keep_first_line(
    app: Sphinx, kind: str, name: str, described: object, options: object, lines: list[str]
) -> None:
    """Keeps napoleon from reading `<words>: <words>` of a value as `<type>: <description>`."""
    if kind in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # a comment in reST


def setup(app: Sphinx) -> dict[str, Any]:
    """Connects the functions of this extension to the events of Sphinx."""
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-process-docstring", keep_first_line, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
