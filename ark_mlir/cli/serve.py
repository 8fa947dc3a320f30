"""``ark serve``: a model behind HTTP, with the endpoints of OpenAI's API."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from ..errors import UnsupportedError
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
    check_model_folder(options.folder)
    Tokenizer(options.folder)  # an error here is cheaper than after compilation
    model = _load(options)
    name = options.name or Path(options.folder).resolve().name
    app = make_app(model, name, options.queue)
    print(f"ark: {name} at http://{options.host}:{options.port}/v1", file=sys.stderr, flush=True)
    uvicorn.run(
        app,
        host=options.host,
        port=options.port,
        log_level="warning",
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    return 0


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
