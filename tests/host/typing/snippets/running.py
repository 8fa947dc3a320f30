"""Compiling and running."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Unpack, assert_type

import ark_mlir as ark


class Framework:
    """An array of a framework that numpy does not know."""

    def __dlpack__(self, *, stream: int | None = None) -> object:
        return self, stream

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def traced(
    source: ark.typing.Source, **options: Unpack[ark.compiler.CompileKeywords]
) -> ark.Executable:
    return ark.compile(source, "cpu:2", **{**options, "trace": True})


def right(program: ark.Program, array: NDArray[np.float32], other: Framework) -> None:
    exe = ark.compile(program, target="cpu:4", tile={"fc": (32, 64)}, dump_dir=Path("dump"))
    assert_type(exe, ark.Executable)
    assert_type(ark.compile([program, program], options=ark.CompileOptions(trace=True)), ark.World)
    exe = traced("mlp.mlir", scheduler="list").bind({"w": array}, strict=False)
    exe = ark.load("mlp.arkbin").bind(["w.safetensors", {"w": other}])
    assert_type(exe.run({"x": array}, n=3, trace="trace.json"), dict[str, NDArray[Any]])
    assert_type(exe.run(x=other, out={"y": other}, stream=0), dict[str, Any])
    assert_type(exe.report(), ark.runtime.Report)
    with exe.resident() as resident:
        resident.run(x=array)
    world = ark.compile([program, program])
    world.bind([{"w": array}, "w.safetensors"]).run([{"x": array}, {"x": other}])[1]["y"]
    assert_type(world.rank(0).run(x=array), dict[str, NDArray[Any]])
    both = ark.reference.run(program, {"x": array}, return_states=True)
    assert_type(both, tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]])
    with ark.tuning.tune(program, "cpu", inputs={"x": array}, runs=3, opt_level=2) as tuned:
        assert_type(tuned.best.median, float)
    with ark.distributed.init(timeout=5) as member:
        assert_type(member.rank, int)


def wrong(program: ark.Program, exe: ark.Executable, array: NDArray[np.float32]) -> None:
    ark.compile(3)  # error: No overloads for "compile"
    ark.compile(array)  # error: No overloads for "compile"
    ark.compile([program, 3])  # error: No overloads for "compile"
    ark.compile()  # error: No overloads for "compile"
    ark.compile(program, target=90)  # error: No overloads for "compile"
    ark.compile(program, tarce=True)  # error: No overloads for "compile"
    ark.compile(program, trace="yes")  # error: No overloads for "compile"
    ark.compile(program, scheduler="fifo")  # error: No overloads for "compile"
    ark.compile(program, opt_level=4)  # error: No overloads for "compile"
    ark.compile(program, tile={"fc": 32})  # error: No overloads for "compile"
    ark.compile(program, options={"trace": True})  # error: No overloads for "compile"
    ark.CompileOptions(tarce=True)  # error: No parameter named "tarce"
    ark.CompileOptions(cpu="x86-64-v9")  # error: "Literal['x86-64-v9']" is not assignable
    ark.compiler.check(program, options=True)  # error: "Literal[True]" is not assignable
    ark.load(program)  # error: reportArgumentType
    exe.bind({"w": [1.0, 2.0]})  # error: reportArgumentType
    exe.bind(array)  # error: reportArgumentType
    exe.run([1.0, 2.0])  # error: No overloads for "run"
    exe.run(x=[1.0, 2.0])  # error: No overloads for "run"
    exe.run(x="x.npy")  # error: No overloads for "run"
    exe.run(x=2.5)  # error: No overloads for "run"
    exe.run(x=array, iterations="2")  # error: No overloads for "run"
    exe.run(x=array, stream="default")  # error: No overloads for "run"
    exe.run(x=array, out=array)  # error: No overloads for "run"
    _ = exe.run(x=array)["y"].foo  # error: Cannot access attribute "foo"
    _ = exe.run(x=array).y  # error: Cannot access attribute "y"
    exe.save(3)  # error: reportArgumentType
    exe.rank(0)  # error: Cannot access attribute "rank"
    exe.run(x=program.inputs["x"])  # error: No overloads for "run"
    ark.reference.run(program, [array])  # error: No overloads for "run"
    ark.tuning.tune(program, runs="3")  # error: "Literal['3']" is not assignable to "int"
    ark.tuning.tune(program, schedular="list")  # error: No parameter named "schedular"
    ark.distributed.init(rank="0")  # error: "Literal['0']" is not assignable to "int"
