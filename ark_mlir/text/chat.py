"""The chat template of a model folder, by the package jinja2."""

from __future__ import annotations

import datetime
import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InvalidUsageError, UnsupportedError, a_type
from ..json_checks import Document, Node, parse_json

__all__ = ["ChatTemplate"]

_TEMPLATE = "chat_template.jinja"
_CONFIG = "tokenizer_config.json"
# Entries of the configuration with special tokens; templates use these names.
_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token")


class ChatTemplate:
    """Converts a conversation to the text that a model expects.

    Templates run in jinja2's sandbox, since they come with the model.

    Args:
        folder: a model folder with ``chat_template.jinja``, or with ``chat_template`` in
            ``tokenizer_config.json``.

    Raises UnsupportedError if the package jinja2 is not installed, and InvalidUsageError if the
    folder has no template, or a malformed one.

    Example:
        >>> from ark_mlir.text import ChatTemplate
        >>> template = ChatTemplate(text_folder)
    """

    def __init__(self, folder: str) -> None:
        try:
            sandbox: Any = importlib.import_module("jinja2.sandbox")
            self._errors: Any = importlib.import_module("jinja2").TemplateError
        except ImportError:
            raise UnsupportedError(
                "chat templates need the package jinja2, which is not installed; run `pip install "
                "'ark-mlir[text]'`"
            ) from None
        config, self._where = _read_config(folder), folder
        source = _source(folder, config)
        environment = sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _to_json
        environment.globals.update(raise_exception=self._refuse, strftime_now=_now)
        self._tokens = {name: text for name in _TOKENS if (text := _token(config, name))}
        try:
            self._template = environment.from_string(source)
        except self._errors as error:
            raise InvalidUsageError(f"chat template: {error}", location=folder) from None

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Returns the text of a conversation, up to the start of the model's answer.

        Args:
            messages: mappings with ``role``, such as ``system``, ``user`` and ``assistant``, and
                ``content``.

        Raises InvalidUsageError if a message lacks one of them, or if the template refuses the
        conversation.

        Example:
            >>> ChatTemplate(text_folder).render([{"role": "user", "content": "hello"}])
            'user: hello\\nassistant:'
        """
        given = [_checked(number, message) for number, message in enumerate(messages)]
        try:
            return str(
                self._template.render(
                    messages=given,
                    add_generation_prompt=True,
                    **self._tokens,
                )
            )
        # A template may raise the errors of Python's operators and methods, too.
        except (self._errors, TypeError, ValueError, KeyError, AttributeError) as error:
            raise InvalidUsageError(f"chat template: {error}", location=self._where) from None

    def _refuse(self, message: object) -> None:
        raise self._errors(str(message))


def _checked(number: int, message: Mapping[str, str]) -> dict[str, str]:
    """Returns a message; raises InvalidUsageError if `role` or `content` is not a text.

    A template takes a missing entry for an empty text, so that the mistake would not be seen.
    """
    for key in ("role", "content"):
        value: object = message.get(key)
        if not isinstance(value, str):
            found = a_type(value) if key in message else f"the entries {sorted(message)}"
            raise InvalidUsageError(
                f"messages[{number}] must have the text {key!r}, but "
                + (f"it is {found}" if key in message else f"has {found}")
            )
    return dict(message)


def _to_json(value: object, **options: Any) -> str:
    """Returns JSON without jinja2's escapes for HTML."""
    return json.dumps(value, ensure_ascii=False, indent=options.get("indent"))


def _now(layout: str) -> str:
    return datetime.datetime.now().strftime(layout)


def _read_config(folder: str) -> Node:
    path = Path(folder) / _CONFIG
    document = Document(str(path), "", InvalidUsageError)
    if not path.is_file():
        return Node({}, "", document)
    try:
        node = parse_json(path.read_bytes(), document)
    except OSError as error:
        raise InvalidUsageError(f"cannot be read: {error.strerror}", location=str(path)) from None
    node.mapping()
    return node


def _source(folder: str, config: Node) -> str:
    path = Path(folder) / _TEMPLATE
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        pass
    except (OSError, UnicodeError) as error:
        raise InvalidUsageError(f"cannot be read: {error}", location=str(path)) from None
    template = config.mapping().get("chat_template")
    if isinstance(template, list):  # several templates with names
        named = {item["name"].text(): item["template"] for item in config["chat_template"].items()}
        template = named["default"].value if "default" in named else None
    if not isinstance(template, str):
        raise InvalidUsageError(
            f"the model has no chat template, neither {_TEMPLATE} nor 'chat_template' in {_CONFIG}",
            location=folder,
        )
    return template


def _token(config: Node, name: str) -> str | None:
    """Returns a special token, which is a text, or an object with the text."""
    value = config.mapping().get(name)
    if isinstance(value, dict):
        value = config[name].mapping().get("content")
    return value if isinstance(value, str) else None
