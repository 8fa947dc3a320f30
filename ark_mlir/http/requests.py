"""Checks of the bodies of requests. They raise InvalidUsageError, which names the key."""

# The values of JSON have no types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

from ..errors import InvalidUsageError, shorten

__all__ = ["read_choice", "read_input", "read_messages", "read_prompt", "refuse_unknown"]

_COMMON = {
    "model", "stream", "stream_options", "stop", "temperature", "top_p", "top_k", "seed", "user",
    "max_tokens", "metadata", "store",
}  # fmt: skip
# Keys of which only these values are supported; null is the same as a missing key.
_PLAIN: dict[str, tuple[object, ...]] = {
    "n": (1,), "best_of": (1,), "logprobs": (False, 0), "echo": (False,), "suffix": (),
    "presence_penalty": (0,), "frequency_penalty": (0,), "logit_bias": ({},), "tools": ([],),
    "response_format": ({"type": "text"},),
}  # fmt: skip
_ROLES = ("system", "developer", "user", "assistant", "tool")


def refuse_unknown(body: dict[str, Any], *, chat: bool) -> None:
    """Raises an error if a request has a key that has no effect here."""
    known = {"messages", "max_completion_tokens"} if chat else {"prompt"}
    for key, value in body.items():
        if key in _PLAIN:
            if value is not None and value not in _PLAIN[key]:
                raise InvalidUsageError(f"{key} {shorten(value)} is not supported")
        elif value is not None and key not in _COMMON | known:
            raise InvalidUsageError(f"unknown key {shorten(key)}")


def read_prompt(body: dict[str, Any]) -> Any:
    """Returns the prompt, a text or tokens."""
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        prompt = prompt[0]
    if isinstance(prompt, str) or (isinstance(prompt, list) and all(map(_is_token, prompt))):
        return prompt
    raise InvalidUsageError(
        f"prompt must be one text, or one list of tokens, not {shorten(prompt)}"
    )


def read_messages(body: dict[str, Any]) -> list[dict[str, str]]:
    """Returns the messages of a conversation."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InvalidUsageError(
            f"messages must be a list that is not empty, not {shorten(messages)}"
        )
    return [_read_message(number, message) for number, message in enumerate(messages)]


def _read_message(number: int, message: object) -> dict[str, str]:
    if not isinstance(message, dict) or message.get("role") not in _ROLES:
        raise InvalidUsageError(f"messages[{number}] must have a role among {', '.join(_ROLES)}")
    content = message.get("content")
    if isinstance(content, list):  # parts
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        if len(texts) == len(content) and all(isinstance(text, str) for text in texts):
            content = "".join(map(str, texts))
    if not isinstance(content, str):
        raise InvalidUsageError(f"messages[{number}]: content must be text")
    return {"role": str(message["role"]), "content": content}


def read_choice(body: dict[str, Any], default: int) -> tuple[dict[str, Any], list[str], int]:
    """Returns the keywords of `stream`, the stop strings, and the maximum number of new tokens."""
    choice: dict[str, Any] = {"temperature": _number(body, "temperature", 1.0)}
    choice["top_p"] = _number(body, "top_p", 1.0)
    if not 0 < choice["top_p"] <= 1:
        raise InvalidUsageError(f"top_p must be above 0 and at most 1, not {choice['top_p']}")
    if not 0 <= choice["temperature"] <= 2:
        raise InvalidUsageError(f"temperature must be from 0 to 2, not {choice['temperature']}")
    for key, bits in (("seed", 63), ("top_k", 31)):
        if body.get(key) is not None:
            choice[key] = _integer(body, key, 0, 1 << bits)
    counts = [key for key in ("max_completion_tokens", "max_tokens") if body.get(key) is not None]
    count = _integer(body, counts[0], 1, 1 << 31) if counts else default
    stop = body.get("stop")
    stops = [stop] if isinstance(stop, str) else stop or []
    if not isinstance(stops, list) or not all(isinstance(each, str) for each in stops):
        raise InvalidUsageError(f"stop must be a text or a list of texts, not {shorten(stop)}")
    if "" in stops or stop == "":
        raise InvalidUsageError("stop has an empty text, before which every text would end")
    if not isinstance(body.get("stream") or False, bool):
        raise InvalidUsageError(f"stream must be true or false, not {shorten(body['stream'])}")
    if not isinstance(body.get("stream_options") or {}, dict):
        raise InvalidUsageError("stream_options must be an object")
    return choice, stops, count


def read_input(body: dict[str, Any]) -> list[Any]:
    """Returns the texts, or rows of tokens, to embed."""
    for key, value in body.items():
        if key not in ("model", "input", "encoding_format", "user") and value is not None:
            raise InvalidUsageError(f"unknown key {shorten(key)}")
    if body.get("encoding_format", "float") not in ("float", "base64"):
        raise InvalidUsageError(
            f"encoding_format must be float or base64, not {shorten(body['encoding_format'])}"
        )
    given = body.get("input")
    if isinstance(given, str) or (isinstance(given, list) and given and all(map(_is_token, given))):
        given = [given]
    if not isinstance(given, list) or not given:
        raise InvalidUsageError(f"input must be texts or rows of tokens, not {shorten(given)}")
    for number, each in enumerate(given):
        tokens = isinstance(each, list) and bool(each) and all(map(_is_token, each))
        if not tokens and not (isinstance(each, str) and each):
            raise InvalidUsageError(f"input[{number}] must be a text or tokens, and not empty")
    return given


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(body: dict[str, Any], key: str, default: float) -> float:
    value = default if body.get(key) is None else body[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidUsageError(f"{key} must be a number, not {shorten(value)}")
    return float(value)


def _integer(body: dict[str, Any], key: str, low: int, end: int) -> int:
    value = body[key]
    if not _is_token(value) or not low <= value < end:
        raise InvalidUsageError(f"{key} must be an integer in [{low}, {end}), not {shorten(value)}")
    return value
