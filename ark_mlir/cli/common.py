"""Code that several commands share: parsers of arguments, loading programs."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import InvalidUsageError, UnsupportedError
from ..progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..bundle import Buffer
    from ..runtime import Executable


class Commands(Protocol):
    """The type of the result of argparse's ``add_subparsers``."""

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        """A parser of one command."""
        ...


def add_command(
    commands: Commands, name: str, summary: str, example: str, run: Any
) -> argparse.ArgumentParser:
    """A command's parser: `summary` in one sentence, `example` a line to copy."""
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
    """``name=value``, for argparse."""
    name, found, value = text.partition("=")
    if not found or not name or not value:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    return name, value


def setting(text: str) -> tuple[str, Any]:
    """``name=value`` with a value that is a number, true, false or a word."""
    name, value = name_value(text)
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return name, words[value.lower()]
    for parse in (int, float):
        with contextlib.suppress(ValueError):
            return name, parse(value)
    return name, value


def count(text: str) -> int:
    """A positive integer, for argparse."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got {text!r}")
    return value


def unique(pairs: Sequence[tuple[str, Any]], option: str) -> dict[str, Any]:
    """Pairs as a dict; raises InvalidUsageError when a name comes twice."""
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise InvalidUsageError(f"{option} {name} is given twice")
        result[name] = value
    return result


# -- programs ------------------------------------------------------------------------------------


def add_compile_options(parser: argparse.ArgumentParser) -> None:
    """Options of what compiles."""
    parser.add_argument(
        "--target",
        metavar="T",
        help="cpu, cpu:N, cuda, cuda:sm_90a, hip:gfx942 … (default: the program's own, else "
        "ARK_TARGET)",
    )
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        type=setting,
        action="append",
        default=[],
        help="an option of the compiler (scheduler=list), or of the model (length=128)",
    )


def compile_programs(path: str, options: argparse.Namespace) -> dict[str, Executable]:
    """The programs of an ``.mlir`` file or a model folder, compiled, by name.

    Raises InvalidUsageError when there is no such file or an option means nothing.
    """
    programs, settings = load_programs(path, options)
    # The compiler shows its own progress: it knows the stage.
    return {
        name: the_compiler().compile(program, target=options.target, **settings)
        for name, program in programs.items()
    }


def load_programs(path: str, options: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the programs for `compile_programs`, by name, and the settings for the compiler."""
    source = Path(path)
    if not source.exists():
        raise InvalidUsageError("no such file or folder", location=path)
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
    return dict(model.programs), chosen


def load_model(path: str, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The model in a folder, and those of the settings that are for the compiler.

    Whatever the compiler does not know is meant for the model, which says if it is not.
    """
    known = {field.name for field in dataclasses.fields(the_compiler().CompileOptions)}
    chosen = {name: value for name, value in settings.items() if name in known}
    rest = {name: value for name, value in settings.items() if name not in known}
    with Progress(f"reading {path}"):
        return the_models().load(path, **rest), chosen


def the_compiler() -> Any:
    """The package `ark_mlir.compiler`; raises UnsupportedError where only the runtime is there."""
    return _built("ark_mlir.compiler")


def the_models() -> Any:
    """The package `ark_mlir.models`, likewise."""
    return _built("ark_mlir.models")


def _built(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise UnsupportedError(
            f"the compiler is not installed here, only the runtime: {error}"
        ) from None


def open_program(path: str, options: argparse.Namespace) -> Executable:
    """Loads a bundle, or compiles an ``.mlir`` file or the program ``--program`` of a model."""
    from ..bundle import read_bundle
    from ..runtime import Executable

    if not Path(path).is_dir() and Path(path).suffix != ".mlir":
        return Executable(read_bundle(path))
    programs = compile_programs(path, options)
    if len(programs) == 1:
        return next(iter(programs.values()))
    if options.program not in programs:
        raise InvalidUsageError(
            f"has programs {', '.join(programs)}; choose one with --program", location=path
        )
    return programs[options.program]


# -- arrays --------------------------------------------------------------------------------------


def add_binding_options(parser: argparse.ArgumentParser) -> None:
    """Options that bind parameters."""
    parser.add_argument(
        "--param",
        dest="parameters",
        metavar="NAME=FILE.npy",
        type=name_value,
        action="append",
        default=[],
        help="a parameter (repeat for more)",
    )
    parser.add_argument(
        "--params",
        dest="files",
        metavar="FILE.safetensors",
        action="append",
        default=[],
        help="parameters by their names in a file (repeat for more)",
    )
    parser.add_argument(
        "--allow-extra",
        action="store_true",
        help="ignore tensors of --params that the program has not",
    )


def read_array(path: str, buffer: Buffer | None) -> NDArray[Any]:
    """An array from a ``.npy`` file; raises InvalidUsageError when it is none."""
    import numpy as np

    try:
        array: NDArray[Any] = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InvalidUsageError(
            f"cannot be read: {error.strerror or error}", location=path
        ) from None
    except (ValueError, EOFError) as error:
        raise InvalidUsageError(f"is no .npy file: {error}", location=path) from None
    if not isinstance(array, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidUsageError("holds several arrays; pass a .npy file", location=path)
    # numpy writes bfloat16 and the 8-bit floats as bytes without a type.
    if buffer is not None and array.dtype.kind == "V" and array.itemsize == buffer.dtype.itemsize:
        from ..runtime.arrays.dlpack import reinterpret

        return reinterpret(array, buffer.dtype.numpy)
    return array


def bind_parameters(executable: Executable, options: argparse.Namespace) -> None:
    """Binds what `add_binding_options` parsed; raises InvalidUsageError if an array is missing."""
    from ..runtime.arrays.binding import read_sources

    buffers = {buffer.name: buffer for buffer in executable.bundle.manifest.buffers}
    arrays = {
        name: read_array(path, buffers.get(name))
        for name, path in unique(options.parameters, "--param").items()
    }
    if arrays or options.files or executable.parameters:
        values = read_sources([*options.files, arrays])
        try:
            executable.bind(values, strict=not options.allow_extra)
        except InvalidUsageError as error:
            if not options.allow_extra and not set(values) <= set(buffers):
                error.notes += ("--allow-extra ignores tensors that the program has not",)
            raise
