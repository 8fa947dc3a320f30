"""Highlighting of MLIR, which Pygments has no lexer for."""

from __future__ import annotations

from typing import Any

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text
from sphinx.application import Sphinx


class MlirLexer(RegexLexer):
    """The assembly format of MLIR: ops, values, symbols, types and attributes."""

    name = "MLIR"
    aliases = ("mlir",)
    filenames = ("*.mlir",)
    url = "https://mlir.llvm.org"
    tokens = {  # noqa: RUF012 - as Pygments declares it
        "root": [
            (r"\s+", Text),
            (r"//.*$", Comment.Single),
            (r'"(?:\\.|[^"\\])*"', String.Double),
            (r"%[\w.$-]+(?::\d+)?(?:#\d+)?", Name.Variable),
            (r"@[\w.$-]+", Name.Function),
            (r"\^[\w.$-]+", Name.Label),
            (r"(#)([\w.$-]+)", bygroups(Punctuation, Name.Attribute)),
            (r"(!)([\w.$-]+)", bygroups(Punctuation, Keyword.Type)),
            # Extents of a shape end in the type of its elements: 4x?x8xf32.
            (r"(?:(?:\d+|\?)x)+", Number),
            (r"\b(?:[su]?i\d+|b?f\d+\w*|index|none|tensor|memref|vector)\b", Keyword.Type),
            (r"-?\b\d[\w.]*", Number),
            (r"[A-Za-z_]\w*\.[\w.]+", Keyword),
            (r"[A-Za-z_][\w$]*", Name),
            (r"->|[=:*+\-<>/|?!#]", Operator),
            (r"[\[\](){},.;]", Punctuation),
            (r".", Text),
        ]
    }


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the lexer for blocks of the language ``mlir``."""
    app.add_lexer("mlir", MlirLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
