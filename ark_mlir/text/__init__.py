"""Text in and out of models: tokenizers, chat templates, and text that grows token by token.

Each part needs an optional package, which it imports when it is used.
"""

from .chat import ChatTemplate
from .files import EmbeddingFiles
from .growing import GrowingText
from .tokenizer import Tokenizer

__all__ = ["ChatTemplate", "EmbeddingFiles", "GrowingText", "Tokenizer"]
