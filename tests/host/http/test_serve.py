"""``ark serve`` with a stand-in for the model; and with OpenAI's client where it is installed."""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import importlib
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from http_stand_ins import Decoder, Encoder, Letters, complete, post, serving

import ark_mlir as ark
from ark_mlir.http.app import as_error
from ark_mlir.http.worker import Job, StoppedError, Worker

uvicorn: Any = importlib.import_module("uvicorn")


@pytest.fixture
def decoder() -> Decoder:
    return Decoder()


@pytest.fixture
def address(decoder: Decoder) -> Iterator[str]:
    with serving(decoder) as served:
        yield served


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
        ({"prompt": "a", "stop": ""}, 400, "stop has an empty text"),
        ({"prompt": "a", "stop": ["x", ""]}, 400, "stop has an empty text"),
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
    with serving(decoder, shutdown=1) as address:
        pool = concurrent.futures.ThreadPoolExecutor(3)
        body = {"prompt": "a", "max_tokens": 30}
        work = [pool.submit(post, f"{address}/v1/completions", body) for _ in range(3)]
        while not decoder.running:
            time.sleep(0.01)
        begin = time.monotonic()
    assert time.monotonic() < begin + 6, "all tokens of the three requests take 9 s"
    assert not decoder.running
    concurrent.futures.wait(work, 30)
    pool.shutdown()


def test_a_worker_that_has_stopped_refuses_jobs() -> None:
    """Requests that come later get status 503, and so do requests that wait."""

    async def stop() -> None:
        worker = Worker(4)
        begun, go = threading.Event(), threading.Event()

        def block() -> Iterator[Any]:
            begun.set()
            yield go.wait(30)

        first, second = Job(block), Job(lambda: iter([1]))
        worker.start()
        assert worker.submit(first)
        begun.wait(30)
        assert worker.submit(second)
        stopping = threading.Thread(target=worker.stop)
        stopping.start()
        with pytest.raises(StoppedError):
            await anext(second.results())
        go.set()
        stopping.join(30)
        with pytest.raises(StoppedError):
            worker.submit(Job(lambda: iter([])))

    asyncio.run(asyncio.wait_for(stop(), 60))
    error = as_error(StoppedError())
    assert (error.status, error.kind) == (503, "server_error")
    assert error.message == "the server shuts down; try again"


def test_clients_that_have_left_keep_no_one_out(decoder: Decoder) -> None:
    """The queue is full of requests whose clients have disconnected."""
    decoder.step = 0.2
    with serving(decoder, queue=3) as address:
        clients = [stream(address, 30)]
        while not decoder.running:
            time.sleep(0.01)
        clients += [stream(address, 30) for _ in range(3)]
        while post(f"{address}/v1/completions", {"prompt": "a"})[0] != 429:
            time.sleep(0.01)
        for client in clients[1:]:
            client.close()
        time.sleep(1.2)  # the server looks for disconnected clients every half second
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(post, f"{address}/v1/completions", {"prompt": "a"})
            time.sleep(0.3)
            assert not answer.done(), "it waits for the first request"
            clients[0].close()
            decoder.step = 0.0
            assert answer.result(30)[0] == 200


# -- many clients ----------------------------------------------------------------------------------


def head_of(size: int) -> bytes:
    return (
        "POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"Content-Length: {size}\r\n\r\n"
    ).encode()


def stream(address: str, count: int) -> socket.socket:
    """Sends a request for a stream, and returns its connection."""
    host, _, port = address.removeprefix("http://").partition(":")
    body = json.dumps({"prompt": "a", "max_tokens": count, "stream": True}).encode()
    client = socket.create_connection((host, int(port)), timeout=30)
    client.sendall(head_of(len(body)) + body)
    return client


async def answers(address: str, bodies: Sequence[bytes]) -> list[tuple[int, bytes, bytes]]:
    """Sends all requests at once; returns status, head and body of each response."""
    host, _, port = address.removeprefix("http://").partition(":")

    async def one(body: bytes) -> tuple[int, bytes, bytes]:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(head_of(len(body)) + body)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        head, _, content = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), head.lower(), content

    return await asyncio.gather(*map(one, bodies))


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_thousand_requests_at_once(tiny: Any, tmp_path: Path) -> None:
    """A real model: each answer is right or has status 429, and nothing remains afterwards."""
    folder = tiny.write_model(tmp_path, "llama")
    model: Any = ark.models.load(folder, max_length=24, chunk=4, dtype="fp32")
    model.compile("cpu:1", opt_level=0)
    model.tokenizer = Letters()
    prompts = [[1 + number % 30, 5] for number in range(1000)]
    wanted = {tuple(prompt): model.generate(prompt, 4) for prompt in prompts[:30]}
    body = {"max_tokens": 4, "temperature": 0}
    bodies = [
        json.dumps({"prompt": prompt, **body, "stream": number % 3 == 0}).encode()
        for number, prompt in enumerate(prompts)
    ]
    with serving(model, queue=100) as address:
        asyncio.run(answers(address, bodies[:3]))  # starts what the server starts once
        files, threads = open_files(), threading.active_count()
        begin = time.monotonic()
        received = asyncio.run(answers(address, bodies))
        assert time.monotonic() - begin < 60
        accepted = 0
        for number, (status, head, content) in enumerate(received):
            text = bytes(wanted[tuple(prompts[number])]).decode()
            if status == 429:
                assert json.loads(content)["error"]["type"] == "rate_limit_error"
                assert b"retry-after: 1" in head
            else:
                assert status == 200
                accepted += 1
                # The body of a stream has chunks, whose lines are events.
                parts = re.findall(rb'"text":\s*"((?:[^"\\]|\\.)*)"', content)
                found = "".join(json.loads(b'"%s"' % part) for part in parts)
                assert found == text
        assert 101 <= accepted < 1000, "the queue, and the request that runs"
        wait_for(lambda: open_files() <= files and threading.active_count() <= threads)
        again = json.loads(post(f"{address}/v1/completions", {"prompt": prompts[0], **body})[1])
        assert again["choices"][0]["text"] == bytes(wanted[tuple(prompts[0])]).decode()


def wait_for(condition: Callable[[], bool]) -> None:
    """Waits up to 10 s until a condition holds for 0.2 s: between two requests, none runs."""
    end, held = time.monotonic() + 10, 0
    while held < 10 and time.monotonic() < end:
        held = held + 1 if condition() else 0
        time.sleep(0.02)
    assert held == 10


def test_many_clients_disconnect_in_mid_stream(decoder: Decoder) -> None:
    decoder.step = 0.02
    with serving(decoder, queue=50) as address:
        assert complete(address, max_tokens=1)
        files = open_files()
        clients = [stream(address, 30) for _ in range(40)]
        for client in clients[:3]:
            assert client.recv(1)  # the answer has begun: the next one then runs
            client.close()
        for client in clients[3:]:
            client.close()
        wait_for(lambda: not decoder.running and open_files() <= files)
        # Each stream that began ended early: all tokens of all streams take 24 s.
        assert complete(address, max_tokens=2)["choices"][0]["text"] == "bc"


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
        status, answer = post(f"{address}/v1/completions", {"prompt": "a"})
        assert (status, answer["error"]["message"]) == (
            404,
            "the model 'm' is an encoder, which has no /v1/completions; use POST /v1/embeddings",
        )


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
