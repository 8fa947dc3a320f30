"""Chat templates of model folders."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2", reason="jinja2 is not installed")

from ark_mlir import InvalidUsageError, UnsupportedError
from ark_mlir.text import ChatTemplate

# As those of Llama 3: special tokens, a system's message, loops with breaks, and JSON.
TEMPLATE = """\
{{ bos_token }}
{%- for message in messages %}
    {%- if message.role == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}
<|{{ message.role }}|>{{ message.content | trim }}{{ eos_token }}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""
MESSAGES = [{"role": "system", "content": " be brief "}, {"role": "user", "content": "<b> & 'q'"}]
WHOLE = "<s><|system|>be brief</s><|user|><b> & 'q'</s><|assistant|>"


def write(folder: Path, config: object) -> str:
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return str(folder)


def test_templates_of_both_files(tmp_path: Path) -> None:
    tokens = {"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": False}}
    folder = write(tmp_path, {**tokens, "chat_template": TEMPLATE})
    assert ChatTemplate(folder).render(MESSAGES) == WHOLE
    named = [{"name": "tool_use", "template": "x"}, {"name": "default", "template": TEMPLATE}]
    assert (
        ChatTemplate(write(tmp_path, {**tokens, "chat_template": named})).render(MESSAGES) == WHOLE
    )
    write(tmp_path, {**tokens, "chat_template": "not this one"})
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    assert ChatTemplate(folder).render(MESSAGES) == WHOLE


def test_extensions_that_templates_use(tmp_path: Path) -> None:
    source = (
        "{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}{{ m | tojson }}"
        "{% endfor %}{{ strftime_now('%Y') | length }}"
    )
    template = ChatTemplate(write(tmp_path, {"chat_template": source}))
    assert template.render(MESSAGES) == '{"role": "system", "content": " be brief "}4'


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{ messages[0].content }", "chat template: unexpected '}'"),
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ messages[9].content.x }}", "has no element 9"),
        ("{{ messages + 1 }}", "chat template: can only concatenate list"),
        ("{{ ''.__class__.__mro__ }}", "access to attribute '__class__'"),
        ("{{ messages.append(1) }}", "access to attribute 'append'"),
    ],
)
def test_templates_that_fail(tmp_path: Path, source: str, message: str) -> None:
    with pytest.raises(InvalidUsageError, match=message.replace("(", r"\(")) as caught:
        ChatTemplate(write(tmp_path, {"chat_template": source})).render(MESSAGES)
    assert caught.value.location == str(tmp_path)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"rol": "user"}, "must have the text 'role', but has the entries ['rol']"),
        ({"role": "user"}, "must have the text 'content', but has the entries ['role']"),
        ({"role": 3, "content": "x"}, "must have the text 'role', but it is an int"),
        ({"role": "user", "content": None}, "must have the text 'content', but it is a NoneType"),
    ],
)
def test_messages_without_role_or_content(
    tmp_path: Path, message: dict[str, Any], expected: str
) -> None:
    template = ChatTemplate(write(tmp_path, {"chat_template": TEMPLATE}))
    with pytest.raises(InvalidUsageError) as caught:
        template.render([MESSAGES[0], message])
    assert str(caught.value) == f"messages[1] {expected}"


def test_folders_without_a_template(tmp_path: Path) -> None:
    for config in (
        {},
        {"chat_template": None},
        {"chat_template": [{"name": "x", "template": "y"}]},
    ):
        with pytest.raises(InvalidUsageError, match="the model has no chat template"):
            ChatTemplate(write(tmp_path, config))
    with pytest.raises(InvalidUsageError, match="the model has no chat template"):
        ChatTemplate(str(tmp_path / "none"))
    (tmp_path / "tokenizer_config.json").write_text("[")
    with pytest.raises(InvalidUsageError, match="not valid JSON"):
        ChatTemplate(str(tmp_path))


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2.sandbox", None)
    with pytest.raises(UnsupportedError, match="need the package jinja2, which is not installed"):
        ChatTemplate(write(tmp_path, {"chat_template": "x"}))
