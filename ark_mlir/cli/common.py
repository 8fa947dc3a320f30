"""Code that several commands share: parsers of arguments, and loading of programs and arrays."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import glob
import importlib
import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..devices import check_devices
from ..errors import InvalidUsageError, UnsupportedError
from ..progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..bundle import Buffer, Bundle
    from ..runtime import Executable
    from ..typing import Sources


class Commands(Protocol):
    """The type of the result of argparse's ``add_subparsers``."""

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        """Returns a new parser for one command."""
        ...


def add_command(
    commands: Commands, name: str, summary: str, example: str, run: Any
) -> argparse.ArgumentParser:
    """Returns a new parser for a command; `summary` is one sentence, `example` a command line."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    return parser


def name_value(text: str) -> tuple[str, str]:
    """Splits ``name=value``, for argparse."""
    name, found, value = text.partition("=")
    if not found or not name or not value:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    return name, value


def setting(text: str) -> tuple[str, Any]:
    """Splits ``name=value``, for argparse; the value is a number, true, false, none or a word.

    The value of ``tile`` becomes a dict: ``tile=fc1:32x64,fc2:8x8``.
    """
    name, value = name_value(text)
    if name == "tile":
        return name, dict(_tile(part) for part in value.split(","))
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return name, words[value.lower()]
    for parse in (int, float):
        with contextlib.suppress(ValueError):
            return name, parse(value)
    return name, value


def _tile(text: str) -> tuple[str, tuple[int, ...]]:
    """Splits ``name:32x64``; the name may contain colons."""
    name, found, extents = text.rpartition(":")
    if not found or not name or not re.fullmatch(r"[1-9]\d{0,8}(x[1-9]\d{0,8})*", extents):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a tile: expected the name of an op or group and extents, as in "
            "tile=fc1:32x64, or several, as in tile=fc1:32x64,fc2:8x8"
        )
    return name, tuple(map(int, extents.split("x")))


def port(text: str) -> int:
    """Parses the number of a port, for argparse."""
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 65535, got {text!r}")
    return int(text)


def count(text: str) -> int:
    """Parses a positive integer, for argparse."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got {text!r}")
    return value


def device_numbers(text: str) -> tuple[int, ...]:
    """Parses CUDA ordinals, such as ``0,1``, for argparse."""
    try:
        numbers = [int(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers, such as 0,1") from None
    try:
        # `device_options` checks for a GPU that is named twice, which --concurrent permits.
        return check_devices(numbers, concurrent=True)
    except InvalidUsageError as error:
        # The note names an argument that the command does not have.
        raise argparse.ArgumentTypeError(error.message) from None


def unique(pairs: Sequence[tuple[str, Any]], option: str) -> dict[str, Any]:
    """Returns pairs as a dict; raises InvalidUsageError if a name occurs twice."""
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise InvalidUsageError(f"{option} {name} is given twice")
        result[name] = value
    return result


# -- programs ------------------------------------------------------------------------------------


def add_compile_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of commands that compile."""
    parser.add_argument(
        "--target",
        metavar="T",
        help="machine to compile for, such as cpu, cpu:4 or cuda:sm_90a (default: the target that "
        "the program names, else ARK_TARGET)",
    )
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        type=setting,
        action="append",
        default=[],
        help="set an option of the compiler (scheduler=list, tile=fc1:32x64,fc2:8x8) or of the "
        "model (length=128); may be repeated",
    )


def compile_programs(path: str, options: argparse.Namespace) -> dict[str, Executable]:
    """Compiles the programs of an ``.mlir`` file or a model folder and returns them by name.

    Raises InvalidUsageError if the file does not exist or an option is unknown.
    """
    programs, settings = load_programs(path, options)
    # The compiler shows the progress, with its stages.
    return {
        name: import_compiler().compile(program, target=options.target, **settings)
        for name, program in programs.items()
    }


def load_programs(path: str, options: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the programs for `compile_programs`, by name, and the settings for the compiler.

    If several ranks share a model, the value of a name is the list of the programs of the ranks.
    """
    source = Path(path)
    if not source.exists():
        raise InvalidUsageError("no such file or folder", location=path)
    check_kind(source)
    settings = unique(options.settings, "--set")
    settings.update(
        {
            name: value
            for name in ("dump_dir", "trace", "profile")
            if (value := getattr(options, name, None))
        }
    )
    if not source.is_dir():
        return {source.stem: source}, settings
    model, chosen = load_model(path, settings)
    return {**model.programs, **model.ranks}, chosen


# Messages for files that the compiler cannot read, by file extension.
_OTHER_FILES = {
    ".py": "is a Python program, which the compiler does not run: call ark.compile(program, "
    "target) in it and save the result, or write the text of program.mlir to an .mlir file",
    ".arkbin": "is compiled already: use `ark run`, `ark check`, `ark show` or `ark info`",
    ".safetensors": "holds weights only: pass the model's folder, or use `ark run --params`",
    ".gguf": "is a model in another format: pass a folder with config.json and .safetensors files",
    ".onnx": "is a model in another format: export it from PyTorch with ark.from_torch",
}


# Messages for files that are not bundles, by file extension.
_OTHER_BUNDLES = {
    ".py": _OTHER_FILES[".py"],
    ".mlir": "is the text of a program: `ark compile FILE.mlir -o OUT.arkbin` writes its bundle",
    ".safetensors": "holds weights only: pass the bundle, and this file with --params",
}
# The name of a repository of the Hugging Face Hub.
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def open_bundle(path: str) -> Bundle:
    """Reads a bundle from a path of the command line.

    Raises InvalidUsageError if the path is evidently not a bundle, and BundleError if the file is
    missing or damaged.
    """
    from ..bundle import read_bundle

    check_bundle_path(path)
    return read_bundle(path)


def load_bundle(
    path: str, devices: Sequence[int] | None = None, *, concurrent: bool = False
) -> Executable:
    """Loads a bundle from a path of the command line; the result is ready for `bind` and `run`.

    Raises the errors of :func:`open_bundle` and of :func:`ark_mlir.load`.
    """
    from ..runtime import load

    check_bundle_path(path)
    return load(path, devices=devices, concurrent=concurrent)


def check_bundle_path(path: str) -> None:
    """Raises InvalidUsageError if the name or the kind of a file shows that it is not a bundle."""
    source = Path(path)
    if source.is_dir():
        raise InvalidUsageError(
            "is a folder: `ark compile FOLDER -o OUT.arkbin` writes the bundles of a model",
            location=path,
        )
    if source.is_file() and (problem := _OTHER_BUNDLES.get(source.suffix.lower())):
        raise InvalidUsageError(problem, location=path)
    if not source.exists():
        others = sorted(source.parent.glob(f"{glob.escape(source.stem)}.*{source.suffix}"))
        if source.suffix and others:
            names = ", ".join(map(str, others))
            raise InvalidUsageError(
                f"no such file; `ark compile` writes a bundle for each program of a model: {names}",
                location=path,
            )


def check_model_folder(path: str) -> None:
    """Raises InvalidUsageError if a path is not a folder with the file ``config.json``."""
    folder = Path(path)
    if folder.suffix == ".arkbin":
        problem = "is a bundle: pass the model folder, and the bundle with --bundle"
    elif folder.is_dir():
        if (folder / "config.json").exists():
            return
        problem = "has no config.json, so it is not a model folder"
    elif folder.exists():
        problem = "is a file: pass the model folder, with config.json and *.safetensors files"
    else:
        problem = "the model folder does not exist"
        if _HUB_NAME.fullmatch(path):
            problem += f"; ark downloads no models: `hf download {path} --local-dir FOLDER` does"
    raise InvalidUsageError(problem, location=path)


def check_kind(source: Path) -> None:
    """Raises InvalidUsageError for a file whose name shows that it is not MLIR text."""
    if source.is_file() and (problem := _OTHER_FILES.get(source.suffix.lower())):
        raise InvalidUsageError(problem, location=str(source))


def load_model(path: str, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Loads the model in a folder; returns it and the settings that are options of the compiler.

    All other settings are passed to the model, which rejects unknown ones.
    """
    known = {field.name for field in dataclasses.fields(import_compiler().CompileOptions)}
    chosen = {name: value for name, value in settings.items() if name in known}
    rest = {name: value for name, value in settings.items() if name not in known}
    with Progress(f"reading {path}"):
        return import_models().load(path, **rest), chosen


def import_compiler() -> Any:
    """Imports and returns `ark_mlir.compiler`; raises UnsupportedError if it is not installed."""
    return _built("ark_mlir.compiler")


def import_models() -> Any:
    """Imports and returns `ark_mlir.models`; raises UnsupportedError without the compiler."""
    return _built("ark_mlir.models")


def _built(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise UnsupportedError(
            f"the compiler is not installed here, only the runtime: {error}"
        ) from None


def open_program(path: str, options: argparse.Namespace) -> Executable:
    """Loads a bundle, or compiles an ``.mlir`` file or the program ``--program`` of a model.

    Raises InvalidUsageError if a model has several programs and ``--program`` names none of them,
    or if a bundle or a file has no program of this name.
    """
    from ..runtime import Executable

    if not Path(path).is_dir() and Path(path).suffix != ".mlir":
        bundle = open_bundle(path)
        refuse_compile_options(path, options)
        check_program(options.program, [bundle.manifest.program], path)
        return Executable(bundle)
    programs, settings = load_programs(path, options)
    if Path(path).is_dir():
        check_program(options.program, list(programs), path)
    name = options.program if options.program in programs else next(iter(programs))
    executable = import_compiler().compile(programs[name], target=options.target, **settings)
    if not Path(path).is_dir():
        check_program(options.program, [executable.name, *programs], path)
    return executable


def refuse_compile_options(path: str, options: argparse.Namespace) -> None:
    """Raises InvalidUsageError if a command that opens a bundle has options of the compiler."""
    for option, value in (("--target", options.target), ("--set", options.settings)):
        if value:
            raise InvalidUsageError(
                f"{option}: a bundle is compiled already; pass {option} to ark compile",
                location=path,
            )


def check_program(name: str | None, known: Sequence[str], path: str) -> None:
    """Raises InvalidUsageError if ``--program`` is not known, or necessary and not given."""
    if name is None and Path(path).is_dir() and len(known) > 1:
        problem = f"has programs {', '.join(known)}; choose one with --program"
    elif name is None or name in known:
        return
    else:
        problem = f"--program {name}: there is no such program; use {' or '.join(known)}"
    raise InvalidUsageError(problem, location=path)


def add_devices_option(parser: argparse.ArgumentParser) -> None:
    """Adds the options ``--devices`` and ``--concurrent``."""
    parser.add_argument(
        "--devices",
        type=device_numbers,
        metavar="N,…",
        help="numbers of the GPUs to run on: one for each rank, or one for all ranks (default: "
        "the first GPUs of the machine)",
    )
    parser.add_argument(
        "--concurrent",
        action="store_true",
        help="--devices may name a GPU for several ranks, as 0,0: each rank has a launch of its "
        "own on a part of the GPU",
    )


def device_options(options: argparse.Namespace) -> dict[str, Any]:
    """Returns `devices` and `concurrent` as keywords; those that are not given are left out.

    Raises InvalidUsageError if ``--concurrent`` has no ``--devices``, or if a GPU is named twice
    without ``--concurrent``.
    """
    devices = options.devices
    if options.concurrent and devices is None:
        raise InvalidUsageError("--concurrent needs --devices, such as --devices 0,0")
    if devices is None:
        return {}
    if options.concurrent:
        return {"devices": devices, "concurrent": True}
    if len(set(devices)) < len(devices):
        raise InvalidUsageError(
            f"--devices {','.join(map(str, devices))}: a GPU is named twice; --concurrent runs a "
            "launch for each rank"
        )
    return {"devices": devices}


# -- arrays --------------------------------------------------------------------------------------


def add_binding_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that bind parameters."""
    parser.add_argument(
        "--param",
        dest="parameters",
        metavar="NAME=FILE.npy",
        type=name_value,
        action="append",
        default=[],
        help="bind a parameter to the array in a file; may be repeated",
    )
    parser.add_argument(
        "--params",
        dest="files",
        metavar="FILE.safetensors",
        action="append",
        default=[],
        help="bind parameters to the tensors of a file by name; may be repeated",
    )
    parser.add_argument(
        "--allow-extra",
        action="store_true",
        help="ignore tensors of --params that are not parameters of the program",
    )


def read_array(path: str, buffer: Buffer | None) -> NDArray[Any]:
    """Reads an array from a ``.npy`` file; raises InvalidUsageError if it is not such a file."""
    import numpy as np

    try:
        array: NDArray[Any] = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InvalidUsageError(
            f"cannot be read: {error.strerror or error}", location=path
        ) from None
    except (ValueError, EOFError) as error:
        # The message of numpy recommends to load pickled objects, which may run code.
        reason = "" if "pickle" in str(error) else f": {error}"
        raise InvalidUsageError(f"is not a .npy file{reason}", location=path) from None
    if not isinstance(array, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidUsageError("holds several arrays; pass a .npy file", location=path)
    # .npy files cannot name bfloat16 and the 8-bit floats: numpy reads them as raw bytes.
    if buffer is not None and array.dtype.kind == "V" and array.itemsize == buffer.dtype.itemsize:
        from ..runtime.arrays.dlpack import reinterpret

        return reinterpret(array, buffer.dtype.numpy)
    return array


def bind_parameters(executable: Executable, options: argparse.Namespace) -> None:
    """Binds the arrays of the options of `add_binding_options`.

    Raises InvalidUsageError if the array of a parameter is missing.
    """
    from ..runtime.arrays.binding import read_sources

    buffers = {buffer.name: buffer for buffer in executable.bundle.manifest.buffers}
    arrays = {
        name: read_array(path, buffers.get(name))
        for name, path in unique(options.parameters, "--param").items()
    }
    if arrays or options.files or executable.parameters:
        sources = [_without_surplus(file, buffers) for file in options.files]
        values = read_sources([*sources, arrays])
        try:
            executable.bind(values, strict=not options.allow_extra)
        except InvalidUsageError as error:
            if not options.allow_extra and not set(values) <= set(buffers):
                error.notes += ("use --allow-extra to ignore other tensors",)
            if not arrays and not options.files:
                error.notes += ("--params FILE.safetensors binds parameters by name",)
            raise


def _without_surplus(path: str, buffers: Mapping[str, Buffer]) -> Sources:
    """Returns the tensors of a file.

    If the file belongs to a model folder, tensors that are not parameters of the program are left
    out: such files often have weights for outputs that the program does not compute.
    """
    from ..runtime.arrays.binding import read_sources

    if not Path(path).with_name("config.json").is_file():
        return path
    values = read_sources(path)
    # The names of several ranks begin with the rank.
    known = {*buffers, *(name.partition("/")[2] for name in buffers)}
    surplus = [name for name in values if name not in known]
    if surplus and len(surplus) < len(values):
        logging.getLogger("ark").info("%s: ignored: %s", path, ", ".join(sorted(surplus)))
        return {name: value for name, value in values.items() if name in known}
    return values
