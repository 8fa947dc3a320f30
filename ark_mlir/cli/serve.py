"""``ark serve``: a model behind HTTP, with the endpoints of OpenAI's API."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import socket
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

from ..errors import InvalidUsageError, UnsupportedError
from ..progress import Progress
from .common import (
    Commands,
    add_command,
    add_compile_options,
    add_devices_option,
    check_model_folder,
    count,
    device_options,
    load_model,
    port,
    unique,
)

# Seconds that requests may go on after Ctrl-C, before they are cancelled.
_SHUTDOWN_SECONDS = 10


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "serve",
        "serve a model over HTTP, with the endpoints of OpenAI's API",
        "ark serve models/llama --port 8000 --set max_length=2048",
        run,
    )
    parser.add_argument(
        "folder", metavar="FOLDER", help="model folder in the format of Hugging Face"
    )
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="address to listen on (default: 127.0.0.1, which other machines cannot reach). The "
        "server has neither passwords nor encryption",
    )
    parser.add_argument("--port", metavar="N", type=port, default=8000, help="port (default: 8000)")
    parser.add_argument(
        "--name", metavar="NAME", help="name of the model in requests (default: that of FOLDER)"
    )
    parser.add_argument(
        "--queue",
        metavar="N",
        type=count,
        default=64,
        help="maximum number of requests that wait; others get status 429 (default: 64)",
    )
    parser.add_argument(
        "--bundle",
        metavar="OUT.arkbin",
        help="run the bundles that `ark compile FOLDER -o OUT.arkbin` wrote; needs no "
        "compiler; for a decoder, with --set sampling=true",
    )
    add_devices_option(parser)
    add_compile_options(parser)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    from ..http.app import make_app
    from ..text import Tokenizer

    try:
        uvicorn: Any = importlib.import_module("uvicorn")
        importlib.import_module("fastapi")
    except ImportError:
        raise UnsupportedError(
            "ark serve needs the packages fastapi and uvicorn, which are not installed; run `pip "
            "install 'ark-mlir[serve]'`"
        ) from None
    # Errors are cheaper here than after compilation.
    check_model_folder(options.folder)
    _check_tokenizer(options.folder)
    Tokenizer(options.folder)
    with _bind(options.host, options.port) as listener:
        model = _load(options)
        name = options.name or Path(options.folder).resolve().name
        config = uvicorn.Config(
            make_app(model, name, options.queue),
            log_level="warning",
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        with _as_usage(options.host, options.port):
            listener.listen()
        where = f"[{options.host}]" if ":" in options.host else options.host
        print(f"ark: {name} at http://{where}:{options.port}/v1", file=sys.stderr, flush=True)
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def _check_tokenizer(folder: str) -> None:
    """Raises InvalidUsageError if the folder has no ``tokenizer.json``."""
    if not (Path(folder) / "tokenizer.json").is_file():
        raise InvalidUsageError(
            "has no tokenizer.json, which the server needs: copy it from the original model, or "
            f"write it with transformers.AutoTokenizer.from_pretrained({folder!r})"
            f".save_pretrained({folder!r})",
            location=folder,
        )


def _bind(host: str, port: int) -> socket.socket:
    """Returns a socket at an address; clients can connect after its method `listen`.

    Raises InvalidUsageError if the port is in use, or the address is not one of this machine.
    """
    with _as_usage(host, port):
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            # A server that ended leaves connections, which must not keep the next one out.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    return listener


@contextlib.contextmanager
def _as_usage(host: str, port: int) -> Generator[None]:
    """Converts errors of a socket to InvalidUsageError, with the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            problem = f"port {port} of {host} is in use; choose another one with --port"
        elif error.errno == errno.EACCES:
            problem = f"port {port} is not permitted here; choose one above 1023 with --port"
        else:
            problem = f"--host {host}: {error.strerror}; choose an address of this machine"
        raise InvalidUsageError(problem) from None


def _load(options: argparse.Namespace) -> Any:
    """Returns the compiled model."""
    settings = unique(options.settings, "--set")
    placement = device_options(options)
    if options.bundle is not None:
        from ..models import load_compiled

        with Progress(f"reading {options.bundle}"):
            return load_compiled(options.folder, options.bundle, **placement)
    from ..models.config import read_config

    # Encoders have no option for sampling. Decoders sample unless a request has temperature 0.
    kind = read_config(options.folder).word("model_type")
    model, chosen = load_model(options.folder, _with_sampling(kind, settings))
    chosen |= placement
    model.compile(options.target, **chosen)
    return model


def _with_sampling(kind: str, settings: dict[str, Any]) -> dict[str, Any]:
    from .common import import_models

    import_models()
    from ..models.families import FAMILIES, WITH_IMAGES

    return {"sampling": True, **settings} if kind in {*FAMILIES, *WITH_IMAGES} else settings
