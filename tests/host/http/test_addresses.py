"""``ark serve``: its address, and requests of paths and methods that it does not have."""

from __future__ import annotations

import importlib
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from http_stand_ins import Decoder, Letters, complete, free_port, post, serving

from ark_mlir.cli.main import main

uvicorn: Any = importlib.import_module("uvicorn")


@pytest.fixture
def address() -> Iterator[str]:
    with serving(Decoder()) as served:
        yield served


def test_the_command_bounds_the_time_of_a_shutdown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[Any] = []

    def run(server: Any, sockets: list[socket.socket]) -> None:
        seen.extend([server.config.timeout_graceful_shutdown, *sockets[0].getsockname()])

    make_folder(tmp_path, monkeypatch)
    monkeypatch.setattr("ark_mlir.cli.serve._load", lambda options: Decoder())
    monkeypatch.setattr(uvicorn.Server, "run", run)
    port = free_port()
    assert main(["serve", str(tmp_path), "--port", str(port)]) == 0
    assert seen[1:] == ["127.0.0.1", port]
    assert 0 < seen[0] <= 10


def make_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes files that `ark serve` accepts up to the load of the model."""
    for name in ("config.json", "tokenizer.json"):
        (folder / name).write_text("{}")
    monkeypatch.setattr("ark_mlir.text.Tokenizer", lambda folder: Letters())


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("127.0.0.1", "port {port} of 127.0.0.1 is in use; choose another one with --port"),
        ("192.0.2.1", "--host 192.0.2.1: Cannot assign requested address; choose an address"),
        ("no host", "--host no host: "),
    ],
)
def test_addresses_are_checked_before_the_model_is_compiled(
    host: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_folder(tmp_path, monkeypatch)
    monkeypatch.setattr("ark_mlir.cli.serve._load", lambda options: pytest.fail("compiled"))
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["serve", str(tmp_path), "--host", host, "--port", str(port)]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("ark: error: " + message.format(port=port))
    assert printed.count("\n") == 1


def test_a_folder_without_a_tokenizer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert main(["serve", str(tmp_path)]) == 1
    assert "has no tokenizer.json, which the server needs: copy it" in capsys.readouterr().err


def get(url: str, method: str = "GET") -> tuple[int, Any]:
    request = urllib.request.Request(url, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/v1/x", 404, "there is no GET /v1/x; this server has POST /v1/completions, "),
        ("POST", "/", 404, "there is no POST /; this server has POST /v1/completions, "),
        ("GET", "/v1/completions", 405, "/v1/completions takes POST, not GET"),
        ("DELETE", "/v1/models", 405, "/v1/models takes GET, not DELETE"),
        ("DELETE", "/v1/models/m", 405, "/v1/models/m takes GET, not DELETE"),
        ("GET", "/v1/models/x", 404, "there is no model 'x'; this server has 'm'"),
        (
            "POST",
            "/v1/embeddings",
            404,
            "the model 'm' is a decoder, which has no /v1/embeddings; use POST /v1/completions, "
            "POST /v1/chat/completions",
        ),
    ],
)
def test_wrong_paths_and_methods(
    address: str, method: str, path: str, status: int, message: str
) -> None:
    got, answer = get(address + path, method)
    assert (got, answer["error"]["type"]) == (status, "invalid_request_error")
    assert answer["error"]["message"].startswith(message)
    assert answer["error"]["code"] in ("unknown_url", "method_not_allowed", "model_not_found")


def test_models(address: str) -> None:
    entry = {"id": "m", "object": "model", "created": 0, "owned_by": "ark"}
    assert get(f"{address}/v1/models") == (200, {"object": "list", "data": [entry]})
    assert get(f"{address}/v1/models/m") == (200, entry)


def test_a_body_that_is_too_long(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ark_mlir.http.app._MOST_BYTES", 1 << 20)
    status, answer = post(f"{address}/v1/completions", {"prompt": "a" * (30 << 20)})
    assert (status, answer["error"]["message"]) == (
        413, "the body exceeds 1 MiB; send fewer inputs",
    )  # fmt: skip
    assert complete(address, max_tokens=1)["choices"][0]["text"] == "b", "the server goes on"
