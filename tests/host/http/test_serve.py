"""``ark serve`` with a stand-in for the model; and with OpenAI's client where it is installed."""

from __future__ import annotations

import base64
import concurrent.futures
import contextlib
import importlib
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from ark_mlir import DeviceError, InvalidUsageError
from ark_mlir.http.app import make_app

uvicorn: Any = importlib.import_module("uvicorn")


class Letters:
    """A tokenizer with a token for each byte."""

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(ids).decode(errors="replace")


class Decoder:
    """Counts aloud: each token is the next letter. `step` delays a token."""

    max_length, ends, tokenizer = 40, (ord("z"),), Letters()

    def __init__(self) -> None:
        self.step = 0.0
        self.running = 0
        self.choices: list[dict[str, Any]] = []

    def encode(self, prompt: Any) -> Any:
        if isinstance(prompt, list) and prompt and isinstance(prompt[0], dict):
            prompt = "".join(f"<{m['role']}>{m['content']}" for m in prompt)
        return np.array(self.tokenizer.encode(prompt) if isinstance(prompt, str) else prompt)

    def stream(self, ids: list[int], count: int, **choice: Any) -> Iterator[int]:
        self.choices.append(choice)
        if ids[0] == ord("!"):
            raise DeviceError("the device is gone")
        self.running += 1
        try:
            for number in range(count):
                time.sleep(self.step)
                yield token if (token := ids[-1] + 1 + number) < ord("z") else ord("z")
        finally:
            self.running -= 1


class Encoder:
    """The vector of a text: its length, and its first token."""

    tokenizer = Letters()

    def embed(self, rows: list[list[int]]) -> Any:
        if any(len(row) > 9 for row in rows):
            raise InvalidUsageError("prompt 0 is too long")
        return np.array([[len(row), row[0]] for row in rows], np.float32)


@contextlib.contextmanager
def serving(model: Any, queue: int = 8) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    config = uvicorn.Config(make_app(model, "m", queue), port=port, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture
def decoder() -> Decoder:
    return Decoder()


@pytest.fixture
def address(decoder: Decoder) -> Iterator[str]:
    with serving(decoder) as served:
        yield served


def post(url: str, body: Any) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def complete(address: str, **body: Any) -> dict[str, Any]:
    status, text = post(f"{address}/v1/completions", {"prompt": "a", **body})
    assert status == 200, text
    return json.loads(text)


def events(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def test_completions(address: str, decoder: Decoder) -> None:
    whole = complete(address, max_tokens=4, temperature=0, seed=3)
    assert whole["choices"][0]["text"] == "bcde"
    assert whole["choices"][0]["finish_reason"] == "length"
    assert whole["usage"] == {"prompt_tokens": 1, "completion_tokens": 4, "total_tokens": 5}
    assert decoder.choices == [{"temperature": 0.0, "top_p": 1.0, "seed": 3}]
    stopped = complete(address, max_tokens=9, stop=["de", "x"])
    assert (stopped["choices"][0]["text"], stopped["usage"]["completion_tokens"]) == ("bc", 4)
    ended = complete(address, prompt=[ord("w")], max_tokens=9)
    assert ended["choices"][0] == {
        "index": 0, "text": "xyz", "logprobs": None, "finish_reason": "stop",
    }  # fmt: skip


def test_streams(address: str) -> None:
    options = {"include_usage": True}
    body = {"prompt": "a", "max_tokens": 3, "stream": True, "stream_options": options}
    *deltas, end, usage = events(post(f"{address}/v1/completions", body)[1])
    assert [delta["choices"][0]["text"] for delta in deltas] == ["b", "c", "d"]
    assert end["choices"][0]["finish_reason"] == "length"
    assert usage["usage"]["total_tokens"] == 4


def test_chats(address: str) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    body: dict[str, Any] = {"messages": messages, "max_completion_tokens": 2}
    whole = json.loads(post(f"{address}/v1/chat/completions", body)[1])
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": "bc"}
    first, *rest = events(post(f"{address}/v1/chat/completions", {**body, "stream": True})[1])
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [each["choices"][0]["delta"] for each in rest] == [
        {"content": "b"}, {"content": "c"}, {},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 400, "the body: not valid JSON: Expecting property name enclosed"),
        (b"[]", 400, "the body: expected an object, got an array"),
        (
            b'{"prompt": "a", "prompt": "b"}',
            400,
            "the body: not valid JSON: key 'prompt' occurs twice",
        ),
        ({}, 400, "prompt must be one text"),
        ({"prompt": ["a", "b"]}, 400, "prompt must be one text"),
        ({"prompt": ""}, 400, "the prompt has no token"),
        ({"prompt": "a", "max_tokens": 99}, 400, "exceed the model's 40"),
        ({"prompt": "a" * 41}, 400, "exceed the model's 40"),
        ({"prompt": "a", "max_tokens": 0}, 400, "max_tokens must be an integer in [1, "),
        ({"prompt": "a", "temperature": "hot"}, 400, "temperature must be a number"),
        ({"prompt": "a", "temperature": 3}, 400, "temperature must be from 0 to 2"),
        ({"prompt": "a", "top_p": 0}, 400, "top_p must be above 0"),
        ({"prompt": "a", "stop": 3}, 400, "stop must be a text or a list of texts"),
        ({"prompt": "a", "stream": "yes"}, 400, "stream must be true or false"),
        ({"prompt": "a", "n": 2}, 400, "n 2 is not supported"),
        ({"prompt": "a", "colour": "red"}, 400, "unknown key 'colour'"),
        ({"prompt": "a", "model": "gpt-9"}, 404, "there is no model 'gpt-9'"),
        ({"prompt": "!"}, 500, "the device is gone"),
        ({"prompt": "!", "stream": True}, 500, "the device is gone"),
    ],
)
def test_requests_that_fail(address: str, body: Any, status: int, message: str) -> None:
    got, answer = post(f"{address}/v1/completions", body)
    assert (got, message in answer["error"]["message"]) == (status, True), answer
    kinds = {400: "invalid_request_error", 404: "invalid_request_error", 500: "server_error"}
    assert answer["error"]["type"] == kinds[status]
    assert complete(address, max_tokens=1)["choices"][0]["text"] == "b", "the server goes on"


def test_requests_beyond_the_queue(decoder: Decoder) -> None:
    decoder.step = 0.05
    with serving(decoder, queue=2) as address:
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            body = {"prompt": "a", "max_tokens": 4}
            answers = list(pool.map(lambda _: post(f"{address}/v1/completions", body), range(32)))
        statuses = [status for status, _ in answers]
        assert set(statuses) == {200, 429}
        refused = next(answer for status, answer in answers if status == 429)
        assert refused["error"]["type"] == "rate_limit_error"
        assert complete(address, max_tokens=1)["choices"][0]["text"] == "b"


@pytest.mark.parametrize("stream", [True, False])
def test_clients_that_disconnect(address: str, decoder: Decoder, stream: bool) -> None:
    decoder.step = 0.1
    body = json.dumps({"prompt": "a", "max_tokens": 30, "stream": stream}).encode()
    host, port = address.removeprefix("http://").split(":")
    head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=30) as client:
        client.sendall(head.encode() + body)
        while not decoder.running:
            time.sleep(0.01)
    begin = time.monotonic()
    while decoder.running and time.monotonic() < begin + 2.5:
        time.sleep(0.01)
    assert not decoder.running, "the generation goes on for 3 s"
    decoder.step = 0.0
    assert complete(address, max_tokens=1)["choices"][0]["text"] == "b"


def test_a_server_that_stops_ends_its_work(decoder: Decoder) -> None:
    decoder.step = 0.1
    with serving(decoder) as address:
        pool = concurrent.futures.ThreadPoolExecutor(3)
        body = {"prompt": "a", "max_tokens": 30}
        work = [pool.submit(post, f"{address}/v1/completions", body) for _ in range(3)]
        while not decoder.running:
            time.sleep(0.01)
        begin = time.monotonic()
    assert time.monotonic() < begin + 20
    assert not decoder.running
    concurrent.futures.wait(work, 30)
    pool.shutdown()


def test_embeddings() -> None:
    with serving(Encoder()) as address:
        url = f"{address}/v1/embeddings"
        whole = json.loads(post(url, {"input": ["ab", "c"]})[1])
        assert [each["embedding"] for each in whole["data"]] == [[2.0, 97.0], [1.0, 99.0]]
        assert whole["usage"] == {"prompt_tokens": 3, "total_tokens": 3}
        coded = json.loads(post(url, {"input": [97, 98], "encoding_format": "base64"})[1])
        vector = np.frombuffer(base64.b64decode(coded["data"][0]["embedding"]), "<f4")
        assert vector.tolist() == [2.0, 97.0]
        for body, message in (
            ({"input": "a" * 10}, "prompt 0 is too long"), ({"input": []}, "input must be texts"),
            ({"input": ["a", ""]}, "input[1] must be a text"),
            ({"input": "a", "x": 1}, "unknown key"),
            ({"input": "a", "encoding_format": "hex"}, "encoding_format must be"),
        ):  # fmt: skip
            status, answer = post(url, body)
            assert (status, message in answer["error"]["message"]) == (400, True)
        assert post(f"{address}/v1/completions", {"prompt": "a"})[0] == 404


def test_the_official_client(address: str, decoder: Decoder) -> None:
    openai = pytest.importorskip("openai", reason="openai is not installed")
    client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)
    assert [model.id for model in client.models.list()] == ["m"]
    assert client.completions.create(model="m", prompt="a", max_tokens=3).choices[0].text == "bcd"
    messages = [{"role": "user", "content": "a"}]
    chat = client.chat.completions.create(model="m", messages=messages, max_tokens=2)
    assert (chat.choices[0].message.content, chat.choices[0].finish_reason) == ("bc", "length")
    stream = client.chat.completions.create(model="m", messages=messages, max_tokens=2, stream=True)
    assert "".join(part.choices[0].delta.content or "" for part in stream) == "bc"
    with pytest.raises(openai.BadRequestError, match="exceed the model's 40") as caught:
        client.completions.create(model="m", prompt="a", max_tokens=99)
    assert caught.value.code == "context_length_exceeded"
    with pytest.raises(openai.NotFoundError, match="there is no model"):
        client.completions.create(model="x", prompt="a")
    with serving(Encoder()) as other:
        client = openai.OpenAI(base_url=f"{other}/v1", api_key="none")
        assert client.embeddings.create(model="m", input="ab").data[0].embedding == [2.0, 97.0]
