"""The server: OpenAI's endpoints as an application of FastAPI.

The server converts requests to jobs of the worker, and results to responses. Sequences run one
after another. A request gets status 429 if the queue is full, and 503 if the server shuts down. A
request ends if its client disconnects.
"""

# FastAPI is optional, and has no types here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import base64
import contextlib
import importlib
import json
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArkError, InvalidUsageError, UnsupportedError
from ..json_checks import Document, parse_json
from ..text import GrowingText
from .requests import read_choice, read_input, read_messages, read_prompt, refuse_unknown
from .worker import Job, StoppedError, Worker

__all__ = ["make_app"]

# Seconds between two checks for a client that has disconnected.
_POLL_SECONDS = 0.5
_BODY = Document("", "the body", InvalidUsageError)
# Largest body of a request, in bytes: some million tokens.
_MOST_BYTES = 16 << 20
# The server closes the connection after this number of bytes.
_MOST_DROPPED = 16 * _MOST_BYTES
# The endpoints of each kind of model.
_DECODER = ("/v1/completions", "/v1/chat/completions")
_ENCODER = ("/v1/embeddings",)


@dataclass(frozen=True)
class Ended:
    """The end of a generation."""

    reason: str
    tokens: int


@dataclass
class ApiError(Exception):
    """An error with the status and the type that OpenAI's clients expect."""

    status: int
    message: str
    kind: str = "invalid_request_error"
    code: str | None = None

    def body(self) -> dict[str, Any]:
        """Returns the body of the response."""
        return {
            "error": {"message": self.message, "type": self.kind, "param": None, "code": self.code}
        }


def make_app(model: Any, name: str, queue: int = 64) -> Any:
    """Returns the application for a compiled model.

    Args:
        model: a GenerativeModel or an EmbeddingModel.
        name: the name of the model in requests.
        queue: maximum number of requests that wait.

    Raises UnsupportedError if the package fastapi is not installed.
    """
    try:
        fastapi: Any = importlib.import_module("fastapi")
        responses: Any = importlib.import_module("fastapi.responses")
    except ImportError:
        raise UnsupportedError(
            "a server needs the package fastapi, which is not installed; run `pip install "
            "'ark-mlir[serve]'`"
        ) from None
    worker = Worker(queue)
    server = Server(model, name, worker)

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> AsyncGenerator[None]:
        worker.start()
        try:
            yield
        finally:
            worker.stop()

    app: Any = fastapi.FastAPI(title="ark", lifespan=lifespan)

    async def on_error(_: Any, error: ApiError) -> Any:
        headers = {"Retry-After": "1"} if error.status in (429, 503) else None
        return responses.JSONResponse(error.body(), error.status, headers)

    async def on_route(request: Any, error: Any) -> Any:
        problem = server.no_route(request.method, request.url.path, error.status_code)
        return responses.JSONResponse(problem.body(), problem.status, error.headers)

    app.add_exception_handler(ApiError, on_error)
    app.add_exception_handler(404, on_route)
    app.add_exception_handler(405, on_route)

    def post(path: str, answer: Any) -> None:
        async def endpoint(request: Any) -> Any:
            body = await read_body(request)
            result = await answer(body, request)
            if isinstance(result, dict):
                return responses.JSONResponse(result)
            return responses.StreamingResponse(result, media_type="text/event-stream")

        # FastAPI reads the annotation at run time.
        endpoint.__annotations__ = {"request": fastapi.Request}
        app.post(path, response_model=None)(endpoint)

    answers = {
        "/v1/completions": server.complete,
        "/v1/chat/completions": server.chat,
        "/v1/embeddings": server.embed,
    }
    for path in server.endpoints:
        post(path, answers[path])
    app.get("/v1/models")(server.models)
    app.get("/v1/models/{wanted:path}")(server.describe)
    app.get("/health")(lambda: {"status": "ok"})
    return app


async def read_body(request: Any) -> dict[str, Any]:
    """Returns the body of a request, a JSON object; raises ApiError if it is not one, or too long.

    Most clients read no response before they have sent the body: the rest of a body that is too
    long is read, but not kept.
    """
    data, size = bytearray(), 0
    async for part in request.stream():
        size += len(part)
        if size <= _MOST_BYTES:
            data += part
        elif size > _MOST_DROPPED:
            break
    if size > _MOST_BYTES:
        raise ApiError(413, f"the body exceeds {_MOST_BYTES >> 20} MiB; send fewer inputs")
    try:
        return parse_json(bytes(data), _BODY).mapping()
    except InvalidUsageError as error:
        raise ApiError(400, error.message) from None


class Server:
    """The endpoints of one model."""

    def __init__(self, model: Any, name: str, worker: Worker) -> None:
        self.model, self.name, self.worker = model, name, worker
        self.endpoints = _DECODER if hasattr(model, "stream") else _ENCODER

    def models(self) -> dict[str, Any]:
        """Answers ``GET /v1/models``."""
        return {"object": "list", "data": [self.describe(self.name)]}

    def describe(self, wanted: str) -> dict[str, Any]:
        """Answers ``GET /v1/models/NAME``."""
        self._check_model({"model": wanted})
        return {"id": self.name, "object": "model", "created": 0, "owned_by": "ark"}

    def no_route(self, method: str, path: str, status: int) -> ApiError:
        """Returns the error of a request whose path (404) or method (405) has no endpoint."""
        posts = ", ".join(f"POST {each}" for each in self.endpoints)
        if status == 405:
            right = "POST" if path in self.endpoints else "GET"
            return ApiError(405, f"{path} takes {right}, not {method}", code="method_not_allowed")
        if path in (*_DECODER, *_ENCODER):
            kind = "a decoder" if self.endpoints is _DECODER else "an encoder"
            message = f"the model {self.name!r} is {kind}, which has no {path}; use {posts}"
        else:
            message = f"there is no {method} {path}; this server has {posts}, GET /v1/models"
        return ApiError(404, message, code="unknown_url")

    async def complete(self, body: dict[str, Any], request: Any) -> Any:
        """Answers ``POST /v1/completions``."""
        return await self._generate(body, request, "text_completion", read_prompt, 16)

    async def chat(self, body: dict[str, Any], request: Any) -> Any:
        """Answers ``POST /v1/chat/completions``."""
        return await self._generate(body, request, "chat.completion", read_messages, None)

    async def _generate(
        self, body: dict[str, Any], request: Any, kind: str, read: Any, default: int | None
    ) -> Any:
        self._check_model(body)
        with as_api_errors():
            refuse_unknown(body, chat=kind == "chat.completion")
            ids = self.model.encode(read(body)).tolist()
            room = self.model.max_length - len(ids)
            choice, stops, count = read_choice(body, default or max(room, 1))
        if not ids:
            raise ApiError(400, "the prompt has no token")
        if count > room:
            raise ApiError(
                400, f"the prompt of {len(ids)} tokens and {count} new tokens exceed the model's "
                f"{self.model.max_length} tokens", code="context_length_exceeded",
            )  # fmt: skip
        choice.setdefault("seed", secrets.randbits(31))
        job = self._submit(lambda: self._deltas(ids, count, choice, stops))
        reply = Reply(kind, self.name, len(ids))
        if body.get("stream"):
            usage = (body.get("stream_options") or {}).get("include_usage", False)
            # The headers wait for the first delta, so that an error before it has its status.
            deltas = job.results()
            return reply.events(await next_result(deltas, request), deltas, bool(usage))
        async with contextlib.aclosing(job.results()) as deltas:
            text = ""
            while not isinstance(delta := await next_result(deltas, request), Ended):
                text += delta
        return reply.whole(text, delta)

    def _deltas(
        self, ids: list[int], count: int, choice: Any, stops: list[str]
    ) -> Iterator[str | Ended]:
        """Yields deltas of text, then the end; runs in the worker's thread."""
        text, made, reason = GrowingText(self.model.tokenizer.decode, stops), 0, "length"
        with contextlib.closing(self.model.stream(ids, count, **choice)) as tokens:
            for token in tokens:
                made += 1
                if delta := text.add(token):
                    yield delta
                if text.stopped or token in self.model.ends:
                    reason = "stop"
                    break
        if rest := text.end():
            yield rest
        yield Ended(reason, made)

    async def embed(self, body: dict[str, Any], request: Any) -> dict[str, Any]:
        """Answers ``POST /v1/embeddings``."""
        self._check_model(body)
        with as_api_errors():
            inputs = read_input(body)
            rows = [
                self.model.tokenizer.encode(each) if isinstance(each, str) else each
                for each in inputs
            ]
        job = self._submit(lambda: iter([self.model.embed(rows)]))
        async with contextlib.aclosing(job.results()) as results:
            vectors = await next_result(results, request)
        encoded = body.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": index, "embedding": as_json(vector, encoded)}
            for index, vector in enumerate(vectors)
        ]
        tokens = sum(map(len, rows))
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": self.name, "usage": usage}

    def _check_model(self, body: Mapping[str, Any]) -> None:
        wanted = body.get("model", self.name)
        if wanted != self.name:
            raise ApiError(
                404, f"there is no model {wanted!r}; this server has {self.name!r}",
                code="model_not_found",
            )  # fmt: skip

    def _submit(self, work: Any) -> Job:
        job = Job(work)
        try:
            accepted = self.worker.submit(job)
        except StoppedError as error:
            raise as_error(error) from None
        if not accepted:
            raise ApiError(429, "too many requests wait; try again", "rate_limit_error")
        return job


@contextlib.contextmanager
def as_api_errors() -> Generator[None]:
    """Converts InvalidUsageError to status 400, and other errors of ark to status 500."""
    try:
        yield
    except InvalidUsageError as error:
        raise ApiError(400, error.message) from None
    except ArkError as error:
        raise ApiError(500, error.message, "server_error") from None


def as_error(error: Exception) -> ApiError:
    """Returns the response of an exception in the worker."""
    if isinstance(error, StoppedError):
        return ApiError(503, f"{error}; try again", "server_error")
    status = 400 if isinstance(error, InvalidUsageError) else 500
    kind = "invalid_request_error" if status == 400 else "server_error"
    return ApiError(status, getattr(error, "message", None) or str(error), kind)


async def next_result(results: AsyncIterator[Any], request: Any) -> Any:
    """Returns the next result of a job; raises ApiError if there is an error instead, or the client
    disconnects while the job waits or runs."""
    task = asyncio.ensure_future(anext(results))
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=_POLL_SECONDS)
            if not task.done() and await request.is_disconnected():
                raise ApiError(499, "the client has disconnected")
        if await request.is_disconnected():
            raise ApiError(499, "the client has disconnected")
        return task.result()
    except ApiError:
        raise
    except Exception as error:
        raise as_error(error) from None
    finally:
        task.cancel()


def as_json(vector: Any, encoded: bool) -> Any:
    """Returns a vector as numbers, or as base64 of its bytes in fp32."""
    if not encoded:
        return [float(value) for value in vector]
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()


class Reply:
    """The bodies of one generation."""

    def __init__(self, kind: str, model: str, prompt: int) -> None:
        self.kind, self.prompt = kind, prompt
        self.is_chat = kind == "chat.completion"
        prefix = "chatcmpl" if self.is_chat else "cmpl"
        self.head: dict[str, Any] = {
            "id": f"{prefix}-{secrets.token_hex(12)}", "created": int(time.time()), "model": model,
        }  # fmt: skip

    def whole(self, text: str, end: Ended) -> dict[str, Any]:
        """Returns the body of a response that is not streamed."""
        content: dict[str, Any] = {"text": text}
        if self.is_chat:
            content = {"message": {"role": "assistant", "content": text}}
        choice = {"index": 0, **content, "logprobs": None, "finish_reason": end.reason}
        return {**self.head, "object": self.kind, "choices": [choice], "usage": self._usage(end)}

    async def events(
        self, first: Any, deltas: AsyncIterator[Any], usage: bool
    ) -> AsyncIterator[str]:
        """Yields the events of a stream."""
        if self.is_chat:
            yield self._event({"role": "assistant", "content": ""}, None)
        try:
            delta = first
            while not isinstance(delta, Ended):
                yield self._event({"content": delta} if self.is_chat else delta, None)
                delta = await anext(deltas)
        except Exception as error:  # the status is sent already
            yield f"data: {json.dumps(as_error(error).body())}\n\n"
            return
        finally:
            closing: Any = deltas
            await closing.aclose()
        yield self._event({} if self.is_chat else "", delta.reason)
        if usage:
            body = {
                **self.head,
                "object": self._chunk(),
                "choices": [],
                "usage": self._usage(delta),
            }
            yield f"data: {json.dumps(body)}\n\n"
        yield "data: [DONE]\n\n"

    def _chunk(self) -> str:
        return "chat.completion.chunk" if self.is_chat else self.kind

    def _event(self, content: Any, reason: str | None) -> str:
        part = {"delta": content} if self.is_chat else {"text": content}
        choice = {"index": 0, **part, "logprobs": None, "finish_reason": reason}
        body = {**self.head, "object": self._chunk(), "choices": [choice]}
        return f"data: {json.dumps(body)}\n\n"

    def _usage(self, end: Ended) -> dict[str, int]:
        total = self.prompt + end.tokens
        return {
            "prompt_tokens": self.prompt, "completion_tokens": end.tokens, "total_tokens": total,
        }  # fmt: skip
