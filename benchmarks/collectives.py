"""Collectives between GPUs: ark in its kernel, NCCL, and PyTorch's symmetric memory.

    python benchmarks/collectives.py --compile FOLDER [--ranks N]              # with the compiler
    python benchmarks/collectives.py --bundles FOLDER [--ranks N] [--output F] # with N GPUs

The second command needs ark's runtime, numpy, ml_dtypes, PyTorch, and cuda-python or hip-python.
PyTorch for ROCm has RCCL under the name of NCCL. Every arm runs a chain of collectives of bf16 on N
GPUs, in which each collective needs the result of the one before: an operand is the mean over the
ranks of the previous result. A time is the median over the samples of the additional time of a
longer chain, divided by the number of additional collectives. `bytes` are those of the whole
tensor: the operand of an all-reduce or of a reduce-scatter, the result of an all-gather.

nccl      NCCL, in a CUDA graph for each rank
one-shot  the one-shot all-reduce of PyTorch's symmetric memory, in such graphs
two-shot  its two-shot all-reduce
symm-mem  its reduce-scatter; for an all-gather, copies from the memory of each peer
ark       one launch for each GPU, which runs several iterations of a chain

Events around the replays measure PyTorch's time without its local steps, on the slowest rank. The
caller measures ark's time. For each size, one run measures all arms, a sample of each in turn.
NVLink multicast is off in all arms. Before an arm is measured, its result is checked: the mean of
1, 2, ... N, which bf16 holds exactly. An arm that fails has no figures, and the exit status is 1.

With --one-gpu, both commands are for all ranks on one GPU, in one launch, each with an equal part
of the SMs. Only ark has this arm, since NCCL and symmetric memory need a GPU for each rank; the
columns of several GPUs are "not measured".
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

# NVLink multicast may disturb GPUs that others use.
os.environ.update(
    NCCL_NVLS_ENABLE="0", TORCH_SYMM_MEM_DISABLE_MULTICAST="1", NVSHMEM_DISABLE_NVLS="1"
)

import numpy as np
from bundle_options import NOT_MEASURED, add_one_gpu, bundle_parser, device_options, torch_device
from table import table

import ark_mlir as ark
from ark_mlir.bundle import read_bundle

if TYPE_CHECKING:
    from collectives_torch import Case
    from torch_ranks import RankProcesses

# Elements of the whole tensor, and the number of collectives in the longer chain. The shorter chain
# has a third as many.
CHAINS = {1 << 10: 33, 1 << 13: 33, 1 << 16: 33, 1 << 19: 15, 1 << 23: 6, 1 << 25: 6}
# PyTorch's arms of each collective.
PEERS = {
    "all_reduce": ("nccl", "one-shot", "two-shot"),
    "all_gather": ("nccl", "symm-mem"),
    "reduce_scatter": ("nccl", "symm-mem"),
}
OPS = tuple(PEERS)
ALGORITHMS = ("auto", "one-shot", "two-shot", "ring")
# Bytes that all collectives of the shorter of two launches move, and bounds of its iterations. The
# time of a launch varies by some hundredths of a millisecond.
BYTES = 4 << 30
ITERATIONS = (16, 200)
# Upper bounds of ark's time for an all-reduce in µs, by elements and ranks.
AIMS = {
    2: {1 << 10: 2.0, 1 << 13: 2.0, 1 << 16: 3.5, 1 << 19: 7.0, 1 << 23: 52.0, 1 << 25: 192.0},
    4: {1 << 10: 2.5, 1 << 13: 2.5, 1 << 16: 4.5, 1 << 19: 10.0, 1 << 23: 80.0},
    8: {1 << 10: 3.0, 1 << 13: 3.0, 1 << 16: 6.0, 1 << 19: 12.0, 1 << 23: 95.0},
}
# Upper bound of the time of the other collectives, relative to that of an all-reduce.
AIM_OF_PARTS = 0.55
MOST_RANKS = 8


def aim_of(op: str, ranks: int, elements: int) -> float | None:
    """Returns the upper bound of ark's time in µs, or None for a size without one."""
    aim = AIMS.get(ranks, {}).get(elements)
    return aim if aim is None or op == "all_reduce" else AIM_OF_PARTS * aim


def main() -> int:
    options = parse()
    if options.compile is not None:
        compile_chains(options)
        return 0
    session = Session(options)
    session.measure()
    return int(session.failed)


def parse() -> argparse.Namespace:
    parser = bundle_parser(__doc__)
    parser.add_argument("--ranks", type=rank_count, default=2, help="number of GPUs (default 2)")
    parser.add_argument("--samples", type=positive, default=9, help="samples of a time (default 9)")
    parser.add_argument("--ops", type=words(OPS), default=OPS, help=f"some of {', '.join(OPS)}")
    parser.add_argument(
        "--algorithms",
        type=words(ALGORITHMS),
        default=("auto",),
        help=f"ark's algorithms: some of {', '.join(ALGORITHMS)} (default auto)",
    )
    parser.add_argument(
        "--elements", type=sizes, default=tuple(CHAINS), help="sizes, some of those of the table"
    )
    parser.add_argument("--no-torch", action="store_true", help="measure only ark")
    add_one_gpu(parser)
    return parser.parse_args()


def words(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """Returns a parser of words that commas separate."""

    def read(text: str) -> tuple[str, ...]:
        for word in text.split(","):
            if word not in known:
                raise argparse.ArgumentTypeError(f"unknown {word!r}; known: {', '.join(known)}")
        return tuple(text.split(","))

    return read


def sizes(text: str) -> tuple[int, ...]:
    for word in text.split(","):
        if not word.isdecimal() or int(word) not in CHAINS:
            known = ", ".join(map(str, CHAINS))
            raise argparse.ArgumentTypeError(f"no size {word!r}; sizes in elements: {known}")
    return tuple(int(word) for word in text.split(","))


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def rank_count(text: str) -> int:
    if not 2 <= positive(text) <= MOST_RANKS:
        raise argparse.ArgumentTypeError(f"{text} ranks; expected 2 to {MOST_RANKS}")
    return int(text)


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


# -- with the compiler -----------------------------------------------------------------------------


def bundle_path(
    folder: Path, one_gpu: bool, op: str, ranks: int, elements: int, algorithm: str, count: int
) -> Path:
    """Returns the file of a chain of `count` collectives; `one_gpu` as the option."""
    suffix = "-one-gpu" if one_gpu else ""
    return folder / f"{op}-{ranks}x{elements}-{algorithm}-{count}{suffix}.arkbin"


def chain_lengths(elements: int) -> tuple[int, int]:
    """Returns the number of collectives in the shorter and in the longer chain."""
    most = CHAINS[elements]
    return most // 3, most


def build_chain(op: str, rank: int, ranks: int, elements: int, count: int) -> ark.Program:
    """Builds a chain of collectives, each of which takes the mean over the ranks of the previous
    result.
    """
    part = elements // ranks
    with ark.Program(f"{op}s", rank=rank, world_size=ranks) as program:
        x = ark.input("x", (part if op == "all_gather" else elements,), ark.bf16)
        for _ in range(count):
            if op == "all_reduce":
                x = ark.all_reduce(x) * (1 / ranks)
            elif op == "all_gather":
                x = ark.reduce_mean(ark.all_gather(ark.reshape(x, (1, part)), 0), 0, keepdims=False)
            else:
                own = ark.reduce_scatter(x, 0) * (1 / ranks)
                rows = ark.broadcast_to(ark.reshape(own, (1, part)), (ranks, part))
                x = ark.reshape(rows, (elements,))
        ark.output("y", x)
    return program


def compile_chains(options: argparse.Namespace) -> None:
    """Compiles a short and a long chain of every size."""
    options.compile.mkdir(parents=True, exist_ok=True)
    ranks = options.ranks
    for op in options.ops:
        for elements in options.elements:
            for algorithm in options.algorithms:
                for count in chain_lengths(elements):
                    programs = [
                        build_chain(op, rank, ranks, elements, count) for rank in range(ranks)
                    ]
                    path = bundle_path(
                        options.compile, options.one_gpu, op, ranks, elements, algorithm, count
                    )
                    ark.compile(
                        programs,
                        target=options.target,
                        collectives=algorithm,
                        cache=False,
                        **device_options(options),
                    ).save(path)
            say(f"{op}, {ranks} ranks, {elements} elements")


# -- ark -------------------------------------------------------------------------------------------


class Chain:
    """A bundle of a chain on all ranks, with tensors on the GPUs of the ranks."""

    def __init__(self, path: Path, ranks: int) -> None:
        self._world: Any = ark.load(path)
        try:
            manifest = self._world.bundle.manifest
            self._device = torch_device(self._world.bundle)
            self._gpus = [0 if manifest.shares_device else rank for rank in range(ranks)]
            self._inputs = [self._full(rank, 1 + rank) for rank in range(ranks)]
            outputs = self._world.run(self._inputs)
            for output in outputs:
                if not bool((self._numbers(output["y"]) == (ranks + 1) / 2).all()):
                    raise RuntimeError(f"{path.name} gives wrong numbers")
            self._out = outputs
        except BaseException:
            self._world.close()
            raise

    def seconds(self, iterations: int) -> float:
        """Returns the seconds of a launch."""
        begin = time.perf_counter()
        self._world.run(self._inputs, iterations=iterations, out=self._out)
        self._synchronize()
        return time.perf_counter() - begin

    def close(self) -> None:
        self._world.close()

    def _full(self, rank: int, value: int) -> dict[str, Any]:
        buffer = self._world.inputs[rank]
        if self._device != "cuda":
            return {"x": np.full(buffer.shape, value, buffer.dtype.numpy)}
        import torch

        shape, device = tuple(buffer.shape), f"cuda:{self._gpus[rank]}"
        result = torch.full(shape, value, dtype=torch.bfloat16, device=device)
        torch.cuda.synchronize(device)
        return {"x": result}

    def _numbers(self, array: Any) -> Any:
        if isinstance(array, np.ndarray):
            return array.astype(np.float32)
        return array.float().cpu().numpy()

    def _synchronize(self) -> None:
        if self._device == "cuda":
            import torch

            for gpu in self._gpus:
                torch.cuda.synchronize(gpu)


class ArkArm:
    """The two chains of one size and algorithm."""

    def __init__(self, options: argparse.Namespace, op: str, elements: int, algorithm: str) -> None:
        self._lengths = chain_lengths(elements)
        self._chains: list[Chain] = []
        least, most = ITERATIONS
        moved = 2 * elements * self._lengths[1]
        self._iterations = max(least, min(most, BYTES // moved))
        try:
            for count in self._lengths:
                folder, ranks = options.bundles, options.ranks
                path = bundle_path(folder, options.one_gpu, op, ranks, elements, algorithm, count)
                self._chains.append(Chain(path, ranks))
            for chain in self._chains:
                chain.seconds(self._iterations)
        except BaseException:
            self.close()
            raise

    def seconds(self) -> float:
        """Returns the seconds of one collective."""
        few, many = self._iterations, 3 * self._iterations
        short, long = (
            (chain.seconds(many) - chain.seconds(few)) / (many - few) for chain in self._chains
        )
        return (long - short) / (self._lengths[1] - self._lengths[0])

    def close(self) -> None:
        for chain in self._chains:
            chain.close()


# -- one run ---------------------------------------------------------------------------------------


class TorchArm:
    """An arm of PyTorch, in the processes of all ranks."""

    def __init__(self, ranks: RankProcesses, case: Case) -> None:
        self._ranks, self._case = ranks, case
        ranks.ask("prepare", case)

    def seconds(self) -> float:
        """Returns the seconds of one collective, on the slowest rank."""
        return max(self._ranks.ask("sample", self._case))

    def close(self) -> None:
        self._ranks.ask("release", self._case)


class Session:
    """The collectives and sizes of a run, and their results."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.failed = False
        self._device = self._device_of_bundles()
        self._tables: list[str] = []

    def measure(self) -> None:
        """Measures all sizes; prints the tables, and writes them after each collective."""
        with self._torch_ranks() as others:
            for op in self.options.ops:
                self._measure_op(op, others)
                if self.options.output is not None:
                    text = "\n\n".join(self._tables)
                    self.options.output.write_text(text + "\n", encoding="utf-8")

    def _device_of_bundles(self) -> str:
        for path in sorted(self.options.bundles.glob(f"*-{self.options.ranks}x*.arkbin")):
            return torch_device(read_bundle(path))
        raise SystemExit(
            f"collectives: {self.options.bundles} has no bundle of {self.options.ranks} ranks"
        )

    @contextmanager
    def _torch_ranks(self) -> Iterator[RankProcesses | None]:
        if self.options.no_torch or self.options.one_gpu:
            yield None
            return
        from collectives_torch import PORT, Job, make_commands
        from torch_ranks import RankProcesses

        ranks = self.options.ranks
        job = Job(ranks, self._device)
        with RankProcesses(ranks, self._device, PORT, make_commands, job) as processes:
            yield processes

    def _fail(self, problem: str) -> None:
        self.failed = True
        print(f"collectives: {problem}", file=sys.stderr, flush=True)

    def _measure_op(self, op: str, others: RankProcesses | None) -> None:
        several = (*PEERS[op], "ark on several GPUs") if self.options.one_gpu else ()
        peers = PEERS[op] if others is not None else ()
        own = [name if name == "auto" else f"ark {name}" for name in self.options.algorithms]
        own = ["ark" if name == "auto" else name for name in own]
        ranks = self.options.ranks
        rows: list[list[str]] = []
        for elements in self.options.elements:
            times = self._measure_size(op, elements, others)
            mine = min((times[name] for name in own if name in times), default=None)
            best = min((times[name] for name in peers if name in times), default=None)
            names = (*several, *peers, *own)
            cells = [f"{times[n]:.1f}" if n in times else NOT_MEASURED for n in names]
            ratio = "" if mine is None or best is None else f"{mine / best:.2f}"
            aim = aim_of(op, ranks, elements)
            rows.append([f"{2 * elements:,}", *cells, ratio, "" if aim is None else f"{aim:.1f}"])
            say(f"{op}  " + "  ".join(rows[-1]))
        where = " on one GPU" if self.options.one_gpu else ""
        shown = (*several, *peers, *(f"{name}{where}" for name in own))
        aims = f"aim{' on several GPUs' if where else ''}, µs"
        head = ("bytes", *(f"{name}, µs" for name in shown), "ark / best", aims)
        self._tables.append(f"{op}, {ranks} ranks{where}\n\n{table(head, rows)}")
        print(self._tables[-1], flush=True)

    def _measure_size(
        self, op: str, elements: int, others: RankProcesses | None
    ) -> dict[str, float]:
        """Returns the median microseconds of one collective for each arm with right results."""
        arms: dict[str, ArkArm | TorchArm] = {}
        for name, make in self._makers(op, elements, others).items():
            try:
                arms[name] = make()
            except Exception as error:
                self._fail(f"{op}, {elements} elements, {name}: {error}")
        samples: dict[str, list[float]] = {name: [] for name in arms}
        for _ in range(self.options.samples):
            for name in list(samples):
                try:
                    samples[name].append(arms[name].seconds())
                except Exception as error:
                    self._fail(f"{op}, {elements} elements, {name}: {error}")
                    del samples[name]
        for name, arm in arms.items():
            try:
                arm.close()
            except Exception as error:
                self._fail(f"{op}, {elements} elements, {name}: {error}")
        return {name: 1e6 * statistics.median(values) for name, values in samples.items()}

    def _makers(
        self, op: str, elements: int, others: RankProcesses | None
    ) -> dict[str, Callable[[], ArkArm | TorchArm]]:
        makers: dict[str, Callable[[], ArkArm | TorchArm]] = {}
        if others is not None:
            from collectives_torch import Case

            for arm in PEERS[op]:
                case = Case(op, arm, elements, 2 * CHAINS[elements])
                makers[arm] = lambda case=case: TorchArm(others, case)
        for algorithm in self.options.algorithms:
            name = "ark" if algorithm == "auto" else f"ark {algorithm}"
            makers[name] = lambda chosen=algorithm: ArkArm(self.options, op, elements, chosen)
        return makers


if __name__ == "__main__":
    sys.exit(main())
