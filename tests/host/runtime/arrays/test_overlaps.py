"""Arrays in `out=` that overlap other memory of a run raise an error that names both."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import pytest
from internals import storage_of
from ring_worlds import bound_world, inputs, weights

import ark_mlir as ark
from ark_mlir.bundle import Bundle
from ark_mlir.runtime import Executable
from ark_mlir.runtime.arrays.dlpack import Exporter
from ark_mlir.runtime.arrays.overlaps import Span, Spans, find_overlap
from ark_mlir.testing.fake_gpu import FakeCuda, fake_executable
from ark_mlir.testing.toy import ToyProgram, ring_program, run

Array = np.ndarray[Any, Any]
Arrays = dict[str, Any]
# Runs a program with inputs and `out=`.
Run = Callable[[Arrays, Arrays], Arrays]
SIZE = 128
BYTES = 4 * SIZE


class OnGpu:
    """An array of the host that claims to be on a GPU of the stand-in; there is no copy."""

    def __init__(self, array: Array, number: int = 0) -> None:
        self.array = array
        self._number = number

    def __dlpack__(self, *, stream: object = None, **arguments: Any) -> Any:
        return Exporter(self.array).__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self._number


class Block:
    """Memory for ten arrays of fp32 ``[128]``, which may overlap: an array begins at any byte."""

    def __init__(self) -> None:
        memory = np.zeros(10 * BYTES + 256, np.uint8)
        start = -memory.ctypes.data % 256
        self._bytes = memory[start : start + 10 * BYTES]

    def array(self, begin: float, value: float | None = None) -> Array:
        """Returns the array that begins `begin` arrays after the first byte."""
        first = int(begin * BYTES)
        array = self._bytes[first : first + BYTES].view(np.float32)
        if value is not None:
            array[...] = value
        return array


def as_is(array: Array) -> Any:
    return array


# -- one rank --------------------------------------------------------------------------------


def program() -> ToyProgram:
    """Returns ``y = x + w``, ``z = w + w`` and ``t = s``, a state; arrays are fp32 ``[128]``."""
    toy = ToyProgram(sms=1)
    x = toy.buffer("x", "input", "fp32", [SIZE])
    w = toy.buffer("w", "parameter", "fp32", [SIZE])
    s = toy.buffer("s", "state", "fp32", [SIZE])
    y, z, t = (toy.buffer(name, "output", "fp32", [SIZE]) for name in "yzt")
    tasks = [
        toy.task("add", 8, [(y, 0), (x, 0), (w, 0)]),
        toy.task("add", 8, [(z, 0), (w, 0), (w, 0)]),
        toy.task("copy", 8, [(t, 0), (s, 0)]),
    ]
    toy.lane(0, [run(task, 0, 8) for task in tasks])
    return toy


@contextmanager
def launches(exe: Executable, cuda: FakeCuda) -> Iterator[Run]:
    yield lambda inputs, out: exe.run(inputs, out=out)


@contextmanager
def rings(exe: Executable, cuda: FakeCuda) -> Iterator[Run]:
    with exe.resident() as resident:
        yield lambda inputs, out: resident.run(inputs, out=out)


@contextmanager
def captures(exe: Executable, cuda: FakeCuda) -> Iterator[Run]:
    stream = cuda.new_stream()

    def capture(inputs: Arrays, out: Arrays) -> Arrays:
        exe.run(x=np.zeros(SIZE, np.float32))
        cuda.begin_capture(stream)
        try:
            outputs = exe.run(inputs, out=out, stream=stream)
        finally:
            replay = cuda.end_capture(stream)
        replay(0)
        cuda.synchronize(0)
        return outputs

    yield capture


WAYS = {
    "cpu": launches,
    "cpu resident": rings,
    "cuda": launches,
    "cuda resident": rings,
    "cuda graph": captures,
}


class Setting:
    """The program in one of WAYS; its parameter ``w``, the array 0 of a block, is all 3.

    Attributes:
        copies: True if the run copies an array of the host.
    """

    def __init__(
        self, exe: Executable, run: Run, block: Block, convert: Callable[[Array], Any], copies: bool
    ) -> None:
        self.exe, self._run, self.block = exe, run, block
        self.convert, self.copies = convert, copies
        self._others = {"z": self.at(8), "t": self.at(9)}

    def at(self, begin: float, value: float | None = None) -> Any:
        """Returns an array of the block, where the program runs."""
        return self.convert(self.block.array(begin, value))

    def refuses(self, one: str, other: str, x: Any, **out: Any) -> None:
        """Checks the error of a run, and that the next run is right."""
        with pytest.raises(ark.InvalidUsageError) as caught:
            self._run({"x": x}, {**self._others, **out})
        assert str(caught.value) in [
            f"cannot run 'toy': {a} overlaps {b} in memory; pass another array in out=, or omit it"
            for a, b in ((one, other), (other, one))
        ]
        self.computes(self.at(5, 4), self.at(6), 7)

    def computes(self, x: Any, y: Any, expected: float) -> None:
        """Checks the results of a run."""
        self._run({"x": x}, {**self._others, "y": y})
        for out, value in ((y, expected), (self._others["z"], 6), (self._others["t"], 0)):
            assert set(getattr(out, "array", out).tolist()) == {value}


@pytest.fixture
def vendor() -> Any:
    """The class of the stand-in for GPUs: addresses are compared alike for all vendors."""
    return FakeCuda


@pytest.fixture(params=WAYS)
def setting(request: pytest.FixtureRequest, kernel: bytes, cuda: FakeCuda) -> Iterator[Setting]:
    way: str = request.param
    block, convert = Block(), as_is
    with ExitStack() as stack:
        if way.startswith("cuda"):
            exe, convert = fake_executable(cuda, kernel, program()), OnGpu
        else:
            exe = Executable.from_parts(*program().parts(kernel))
        stack.enter_context(exe).bind({"w": convert(block.array(0, 3))})
        run_once = stack.enter_context(WAYS[way](exe, cuda))
        yield Setting(exe, run_once, block, convert, way == "cpu resident")
    assert cuda.held == 0


@pytest.mark.parametrize("begin", [1, 1.5, 0.5], ids=["equal", "later", "earlier"])
def test_an_output_and_an_input(setting: Setting, begin: float) -> None:
    x, y = setting.at(2, 1), setting.at(1 + begin)
    if setting.copies:
        # The input is copied before the kernel writes.
        setting.computes(x, y, 4)
    else:
        setting.refuses("output 'y'", "input 'x'", x, y=y)


@pytest.mark.parametrize("begin", [0, 0.25], ids=["equal", "partly"])
def test_an_output_and_a_parameter(setting: Setting, begin: float) -> None:
    setting.refuses("output 'y'", "parameter 'w'", setting.at(5, 1), y=setting.at(begin))
    assert setting.block.array(0).tolist() == [3] * SIZE


def test_an_output_and_a_state(setting: Setting) -> None:
    states = storage_of(setting.exe).states
    record = {"version": 3, "shape": (SIZE,), "typestr": "<f4"}
    record["data"] = (states.memories["s"].address, False)
    state = np.asarray(type("State", (), {"__array_interface__": record})())
    setting.refuses("output 'y'", "state 's'", setting.at(5, 1), y=setting.convert(state))


@pytest.mark.parametrize("begin", [3, 3.25], ids=["equal", "partly"])
def test_two_outputs(setting: Setting, begin: float) -> None:
    y, z, t = setting.at(6), setting.at(3), setting.at(begin)
    setting.refuses("output 'z'", "output 't'", setting.at(5, 1), y=y, z=z, t=t)
    y, z, t = t, setting.at(6), setting.at(3)
    setting.refuses("output 'y'", "output 't'", setting.at(5, 1), y=y, z=z, t=t)


def test_arrays_that_only_touch(setting: Setting) -> None:
    setting.computes(setting.at(1, 4), setting.at(2), 7)
    setting.computes(setting.at(2, 4), setting.at(1), 7)


def test_an_input_that_overlaps_no_output(setting: Setting) -> None:
    """The kernel writes neither inputs nor parameters, so these may overlap each other."""
    setting.computes(setting.at(0), setting.at(1), 6)


# A resident program binds nothing.
@pytest.mark.parametrize("setting", ["cpu", "cuda", "cuda graph"], indirect=True)
def test_parameters_that_are_bound_again(setting: Setting) -> None:
    """The memory of the previous parameters may be written, that of the new ones may not."""
    setting.computes(setting.at(5, 4), setting.at(6), 7)
    setting.exe.bind({"w": setting.at(7, 3)})
    setting.computes(setting.at(5, 4), setting.at(0), 7)
    setting.refuses("output 'y'", "parameter 'w'", setting.at(5, 1), y=setting.at(7))


def test_an_input_that_is_copied_on_cpu(kernel: bytes) -> None:
    """The kernel reads a copy of an array that is not aligned, so an output may overlap it."""
    block = Block()
    with Executable.from_parts(*program().parts(kernel)) as exe:
        exe.bind({"w": np.full(SIZE, 3, np.float32)})
        x, y = block.array(1 + 4 / BYTES, 4), block.array(1)
        assert exe.run(x=x, out={"y": y})["y"].tolist() == [7] * SIZE
        strided = np.lib.stride_tricks.as_strided(block.array(1, 4), (SIZE,), (0,))
        assert exe.run(x=strided, out={"y": y})["y"].tolist() == [7] * SIZE


@pytest.mark.parametrize("way", [launches, rings], ids=["launch", "resident"])
def test_an_input_that_is_copied_to_the_gpu(kernel: bytes, cuda: FakeCuda, way: Any) -> None:
    """Host and GPU may share memory (managed memory); the copy is complete before the kernel."""
    block = Block()
    with fake_executable(cuda, kernel, program()) as exe:
        exe.bind({"w": np.full(SIZE, 3, np.float32)})
        with way(exe, cuda) as run_once:
            run_once({"x": block.array(1, 4)}, {"y": OnGpu(block.array(1))})
    assert block.array(1).tolist() == [7] * SIZE


def test_parameters_of_another_program(kernel: bytes) -> None:
    """An output that overlaps a parameter of the lender changes it for both programs."""
    block = Block()
    made = [Executable.from_parts(*program().parts(kernel)) for _ in range(2)]
    with made[0] as lender, made[1] as borrower:
        lender.bind({"w": block.array(0, 3)})
        borrower.share_states(lender, parameters=True)
        with pytest.raises(ark.InvalidUsageError, match="output 'y' overlaps parameter 'w'"):
            borrower.run(x=block.array(1, 1), out={"y": block.array(0)})


# -- several ranks ---------------------------------------------------------------------------


def run_all(world: ark.World, given: list[Arrays], out: list[Arrays]) -> None:
    world.run(given, out=out)


def run_resident(world: ark.World, given: list[Arrays], out: list[Arrays]) -> None:
    with world.resident() as resident:
        resident.run(given, out=out)


def run_threads(world: ark.World, given: list[Arrays], out: list[Arrays]) -> None:
    """Runs each rank in its own thread; raises the error of a rank that does not name another."""
    errors: list[ark.ArkError] = []

    def work(rank: int) -> None:
        try:
            world.rank(rank).run(given[rank], out=out[rank])
        except ark.RankFailedError:
            pass
        except ark.ArkError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(world.size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    if errors:
        raise errors[0]


RANKS = {"run": run_all, "resident": run_resident, "threads": run_threads}
# The arrays of the block that the two ranks use: x, w and y of rank 0, then of rank 1.
APART = (0, 1, 2, 3, 4, 5)
TOGETHER: dict[str, tuple[tuple[float, ...], str, str]] = {
    "own input": ((0, 1, 0, 3, 4, 5), "rank0/y", "rank0/x"),
    "other input": ((0, 1, 2.5, 3, 4, 6), "rank0/y", "rank1/x"),
    "own parameter": ((0, 1, 2, 3, 4, 4), "rank1/y", "rank1/w"),
    "other parameter": ((0, 1, 2, 3, 4, 1), "rank1/y", "rank0/w"),
    "two outputs": ((0, 1, 5.25, 3, 4, 5), "rank0/y", "rank1/y"),
}


@pytest.mark.parametrize("call", RANKS.values(), ids=list(RANKS))
@pytest.mark.parametrize("case", TOGETHER)
@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_a_world(kernel: bytes, two: FakeCuda, target: str, case: str, call: Any) -> None:
    block = Block()

    def convert(array: Array, rank: int) -> Any:
        return array if target == "cpu" else OnGpu(array, rank)

    def arrays(begins: tuple[float, ...]) -> list[list[Arrays]]:
        """The inputs, parameters and outputs of both ranks."""
        kinds: list[list[Arrays]] = [[], [], []]
        for rank in range(2):
            values = (inputs(2)[rank]["x"], weights(2)[rank]["w"], None)
            for kind, name, value in zip(kinds, "xwy", values, strict=True):
                array = block.array(begins[3 * rank + kinds.index(kind)])
                if value is not None:
                    array[...] = value
                kind.append({name: convert(array, rank)})
        return kinds

    if target == "cpu":
        parts = ring_program(2).parts(kernel, ranks=2)
        world = ark.World(Bundle.from_parts(*parts))
    else:
        world = bound_world(two, kernel)
    begins, one, other = TOGETHER[case]
    with world:
        given, bound, out = arrays(begins)
        world.bind(bound)
        copies = target == "cpu" and call is run_resident
        if not (copies and other.endswith("/x")):
            with pytest.raises(ark.InvalidUsageError, match="overlaps") as caught:
                call(world, given, out)
            assert f"{one!r}" in str(caught.value)
            assert f"{other!r}" in str(caught.value)
        given, bound, out = arrays(APART)
        world.bind(bound)
        call(world, given, out)
        for rank in range(2):
            source = inputs(2)[1 - rank]["x"] + weights(2)[1 - rank]["w"] + np.float32(0.5)
            np.testing.assert_array_equal(block.array(APART[3 * rank + 2]), source)


# -- the search ------------------------------------------------------------------------------


def test_the_search_finds_what_all_pairs_find() -> None:
    """Random spans, some of them empty, in a small range of addresses."""
    random = np.random.default_rng(0)

    def overlap(one: Span, other: Span) -> bool:
        return max(one[0], other[0]) < min(one[1], other[1])

    found = 0
    for _ in range(3000):
        count = random.integers(0, 5, 3)
        begins = random.integers(0, 60, count.sum())
        ends = begins + random.integers(0, 6, count.sum())
        spans: list[Span] = [
            (int(begin), int(end), slot)
            for slot, (begin, end) in enumerate(zip(begins, ends, strict=True))
        ]
        written = spans[: count[0]]
        read = spans[count[0] : count[0] + count[1]]
        kept = spans[count[0] + count[1] :]
        pairs = {
            frozenset((one[2], other[2]))
            for one in written
            for other in spans
            if one is not other and overlap(one, other)
        }
        result = find_overlap(written, read, Spans(kept))
        assert (result is None) == (not pairs)
        assert result is None or frozenset(result) in pairs
        found += bool(pairs)
    assert 500 < found < 2500
