"""``ark run``: runs a bundle once; reads inputs from files and writes outputs to files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InvalidUsageError
from ..progress import Progress
from .common import (
    Commands,
    add_binding_options,
    add_command,
    add_devices_option,
    bind_parameters,
    count,
    device_options,
    load_bundle,
    name_value,
    read_array,
    unique,
)

if TYPE_CHECKING:
    from ..bundle import Buffer
    from ..runtime import Executable


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "run",
        "run a bundle with inputs from files",
        "ark run mlp.arkbin --params mlp.safetensors --input x=x.npy --output y=y.npy",
        run,
    )
    parser.add_argument("bundle", metavar="BUNDLE", help="bundle written by `ark compile`")
    add_input_option(parser)
    parser.add_argument(
        "--output",
        dest="outputs",
        metavar="NAME=FILE.npy",
        type=name_value,
        action="append",
        default=[],
        help="write an output to a file; may be repeated. Other outputs are summarised on the "
        "terminal",
    )
    add_binding_options(parser)
    parser.add_argument(
        "--iterations", type=count, default=1, metavar="N", help="iterations per run (default: 1)"
    )
    parser.add_argument(
        "--trace", metavar="FILE", help="write a trace of the tasks, for https://ui.perfetto.dev"
    )
    add_devices_option(parser)
    parser.add_argument("--report", action="store_true", help="print a report of the program")


def add_input_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option ``--input``."""
    parser.add_argument(
        "--input",
        dest="inputs",
        metavar="NAME=FILE.npy",
        type=name_value,
        action="append",
        default=[],
        help="read an input from a file; may be repeated. A scalar may be NAME=INTEGER",
    )


def read_inputs(executable: Executable, options: argparse.Namespace) -> dict[str, Any]:
    """Returns the inputs that ``--input`` gives, by name."""
    buffers = {buffer.name: buffer for buffer in executable.inputs}
    return {
        name: _read_input(value, buffers.get(name))
        for name, value in unique(options.inputs, "--input").items()
    }


def _read_input(value: str, buffer: Buffer | None) -> Any:
    if buffer is not None and buffer.kind == "scalar":
        try:
            return int(value)
        except ValueError:
            pass
    return read_array(value, buffer)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    import numpy as np

    with load_bundle(options.bundle, **device_options(options)) as executable:
        outputs = unique(options.outputs, "--output")
        known = [buffer.name for buffer in executable.outputs]
        if unknown := [name for name in outputs if name not in known]:
            raise InvalidUsageError(
                f"there is no output {unknown[0]!r}; the outputs are {', '.join(known)}",
                location=options.bundle,
            )
        inputs = read_inputs(executable, options)
        bind_parameters(executable, options)
        with Progress(f"running {executable.name}"):
            results = run_once(executable, inputs, options)
        if options.report:
            print(executable.report())
    for name, array in results.items():
        if name in outputs:
            with Path(outputs[name]).open("wb") as file:
                np.save(file, array)
        else:
            print(summary(name, array))
    return 0


def run_once(
    executable: Executable, inputs: dict[str, Any], options: argparse.Namespace
) -> dict[str, Any]:
    """Returns the outputs of a run by their names in the bundle, such as ``rank1/y``."""
    from ..runtime import World
    from ..runtime.ranks.naming import qualified

    if not isinstance(executable, World):
        return executable.run(inputs, iterations=options.iterations, trace=options.trace)
    by_rank = executable.run(inputs, iterations=options.iterations, trace=options.trace)
    return {
        qualified(rank, executable.size, name): array
        for rank, outputs in enumerate(by_rank)
        for name, array in outputs.items()
    }


def summary(name: str, array: Any) -> str:
    """Returns a line with dtype, shape, minimum, mean and maximum of an array."""
    import numpy as np

    text = f"{name}: {array.dtype.name} {list(array.shape)}"
    if not array.size:
        return text
    numbers = np.asarray(array, np.float64)
    return f"{text} min {numbers.min():.6g} mean {numbers.mean():.6g} max {numbers.max():.6g}"
