"""A decoder and an encoder behind `ark serve`, and clients without a package."""

from __future__ import annotations

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


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextlib.contextmanager
def serving(model: Any, queue: int = 8, shutdown: int | None = None) -> Iterator[str]:
    port = free_port()
    config = uvicorn.Config(
        make_app(model, "m", queue),
        port=port,
        log_level="critical" if shutdown else "error",
        timeout_graceful_shutdown=shutdown,
    )
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
