"""Tensor-parallel decode on several GPUs: ark in its kernel, NCCL, and PyTorch's symmetric memory.

    python benchmarks/tensor_parallel.py --compile FOLDER              # with the compiler
    python benchmarks/tensor_parallel.py --bundles FOLDER [--output F] # with the GPUs

Both commands have the option --one-gpu, which tensor_parallel_one_gpu.py describes.

The second command needs ark's runtime, numpy, ml_dtypes, cuda-python and PyTorch.
All arms have the same random bf16 weights and caches, divided among the ranks, and are measured in
one run; a table has the medians of their times for one token.

nccl      PyTorch's kernels and NCCL's all-reduce, in a CUDA graph for each rank; with one rank a
          graph without an all-reduce
one-shot  the same with the one-shot all-reduce of PyTorch's symmetric memory
two-shot  the same with its two-shot all-reduce
ark       one launch for each GPU, which exchanges partial sums itself

Events around the replays measure PyTorch's time, on the slowest rank. The caller measures ark's
time: the additional time of a launch of all steps over a launch of their first fifth, divided by
the number of additional steps. All arms are measured on steps at the same positions. NVLink
multicast is off in all arms.

Rows for more ranks than the machine has GPUs are "not measured". Before the measurement, logits of
a few positions are compared with PyTorch in fp32 on one GPU: an arm whose relative error is above
twice that of PyTorch's bf16 on one GPU has no times, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

# NVLink multicast may disturb GPUs that others use.
os.environ.update(
    NCCL_NVLS_ENABLE="0", TORCH_SYMM_MEM_DISABLE_MULTICAST="1", NVSHMEM_DISABLE_NVLS="1"
)

from bundle_options import NOT_MEASURED, add_one_gpu, bundle_parser, device_options, torch_device
from decode_settings import SETTINGS, untied
from table import table
from tensor_parallel_ark import ArkArm, ArkRanks, Problem, bundle_path

import ark_mlir as ark
from ark_mlir.bundle import read_bundle

if TYPE_CHECKING:
    from tensor_parallel_one_gpu import OneGpuSession

SYMMETRIC = ("one-shot", "two-shot")
ARMS = ("nccl", *SYMMETRIC, "ark")
# Upper bounds of ark's time for a token in ms, by setting and ranks.
AIMS = {("A", 2): 0.46, ("A", 4): 0.34, ("Qwen3-8B", 2): 1.95, ("Qwen3-8B", 4): 1.15}
MOST_RANKS = 8


def main() -> int:
    options = parse()
    if options.compile is not None:
        return compile_settings(options)
    session = make_session(options)
    for name in options.settings:
        session.measure(name)
    text = session.text()
    print(text)
    if options.output is not None:
        options.output.write_text(text + "\n", encoding="utf-8")
    return int(session.failed)


def make_session(options: argparse.Namespace) -> Session | OneGpuSession:
    """Returns the measurements on several GPUs, or on one."""
    if not options.one_gpu:
        return Session(options)
    from tensor_parallel_one_gpu import OneGpuSession

    return OneGpuSession(options, options.settings, options.ranks)


def parse() -> argparse.Namespace:
    parser = bundle_parser(__doc__)
    parser.add_argument(
        "--settings",
        type=listed(setting_name),
        default=("A", "Qwen3-8B"),
        help=f"some of {', '.join(SETTINGS)} (default A,Qwen3-8B)",
    )
    parser.add_argument(
        "--ranks", type=listed(rank_count), default=(1, 2, 4), help="worlds (default 1,2,4)"
    )
    parser.add_argument("--samples", type=positive, default=9, help="samples of a time (default 9)")
    add_one_gpu(parser)
    return parser.parse_args()


def listed(read: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Returns a parser of values that commas separate."""
    return lambda text: tuple(read(word) for word in text.split(","))


def setting_name(text: str) -> str:
    if text not in SETTINGS:
        raise argparse.ArgumentTypeError(f"unknown setting {text!r}; known: {', '.join(SETTINGS)}")
    return text


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def rank_count(text: str) -> int:
    if positive(text) > MOST_RANKS:
        raise argparse.ArgumentTypeError(f"{text} ranks; at most {MOST_RANKS} share a decoder")
    return int(text)


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


# -- with the compiler -----------------------------------------------------------------------------


def compile_settings(options: argparse.Namespace) -> int:
    """Compiles a bundle for each setting and world, and writes the tables of PyTorch's arms.

    Returns 1 if one of them cannot be compiled.
    """
    from decode_programs import save_rope_tables

    status = 0
    for name in options.settings:
        save_rope_tables(name, SETTINGS[name], options.compile)
        for ranks in options.ranks:
            try:
                compile_world(name, ranks, options)
            except ark.ArkError as error:
                print(f"tensor_parallel: {name}, ranks {ranks}: {error}", file=sys.stderr)
                status = 1
    return status


def compile_world(name: str, ranks: int, options: argparse.Namespace) -> None:
    """Compiles the bundle of one setting for a number of ranks."""
    from decode_programs import decoder_config

    from ark_mlir.models.decoder import build_decode, divide

    setting = untied(SETTINGS[name]) if options.one_gpu else SETTINGS[name]
    config = decoder_config(setting)
    path = bundle_path(options.compile, name, ranks, options.one_gpu)
    path.unlink(missing_ok=True)
    programs = [
        build_decode(each, batch=setting.batch, max_length=setting.context)
        for each in (divide(config, ranks) if ranks > 1 else [config])
    ]
    begin = time.monotonic()
    ark.compile(
        programs if ranks > 1 else programs[0],
        target=options.target,
        cache=False,
        **(device_options(options) if ranks > 1 else {}),
    ).save(path)
    say(f"{name}, ranks {ranks}: compiled in {time.monotonic() - begin:.1f} s")


# -- one run ---------------------------------------------------------------------------------------


class Session:
    """The settings of a run, and their results."""

    def __init__(self, options: argparse.Namespace) -> None:
        import torch

        self.options = options
        self.failed = False
        self._rows: list[tuple[str, ...]] = []
        self._one_gpu: dict[str, float] = {}
        self._device = self._device_of_bundles()
        self._gpus = torch.cuda.device_count() if self._device == "cuda" else MOST_RANKS
        device = torch.cuda.get_device_name() if self._device == "cuda" else "cpu"
        self._machine = f"{self._gpus} x {device}, PyTorch {torch.__version__}"

    def _device_of_bundles(self) -> str:
        for name in self.options.settings:
            for ranks in self.options.ranks:
                path = bundle_path(self.options.bundles, name, ranks)
                if path.exists():
                    return torch_device(read_bundle(path))
        raise SystemExit(f"tensor_parallel: {self.options.bundles} has no bundle of these settings")

    def measure(self, name: str) -> None:
        """Adds the rows of one setting."""
        worlds = [ranks for ranks in self.options.ranks if self._can_run(name, ranks)]
        problem = Problem(name, self.options.bundles, self._device) if worlds else None
        for ranks in self.options.ranks:
            times: dict[str, float] = {}
            if problem is not None and ranks in worlds:
                say(f"{name}, ranks {ranks}")
                times = self._measure_world(problem, ranks)
            self._add_row(name, ranks, times)

    def _can_run(self, name: str, ranks: int) -> bool:
        if ranks > self._gpus:
            return False
        path = bundle_path(self.options.bundles, name, ranks)
        if not path.exists():
            self._fail(f"there is no {path}")
        return path.exists()

    def _fail(self, message: str) -> None:
        self.failed = True
        print(f"tensor_parallel: {message}", file=sys.stderr, flush=True)

    def _measure_world(self, problem: Problem, ranks: int) -> dict[str, float]:
        """Returns the median seconds of a token for each arm with correct results."""
        from tensor_parallel_torch import Job, TorchRanks

        mine: ArkRanks | None = None
        job = Job(problem.name, ranks, problem.rope, self._device)
        with TorchRanks(job) as others:
            arms: dict[str, Arm] = {"nccl": TorchArm(others, "nccl", problem)}
            if ranks > 1 and self._device == "cuda":
                arms |= {name: TorchArm(others, name, problem) for name in SYMMETRIC}
            try:
                path = bundle_path(self.options.bundles, problem.name, ranks)
                mine = ArkRanks(path, problem.tensors)
                arms["ark"] = ArkArm(mine, problem)
            except Exception as error:
                self._fail(f"{problem.name}, ranks {ranks}, ark: {error}")
            try:
                return self._medians(problem, ranks, arms)
            finally:
                if mine is not None:
                    mine.close()

    def _medians(self, problem: Problem, ranks: int, arms: dict[str, Arm]) -> dict[str, float]:
        samples: dict[str, list[float]] = {}
        for name, arm in arms.items():
            try:
                error = problem.error_of(arm.logits())
            except Exception as failure:
                self._fail(f"{problem.name}, ranks {ranks}, {name}: {failure}")
                continue
            say(f"  {name}: relative error {error:.5f}")
            if not error <= 2 * problem.bound:
                message = f"relative error {error:.5f}, above {2 * problem.bound:.5f}"
                self._fail(f"{problem.name}, ranks {ranks}, {name}: WRONG: {message}")
                continue
            samples[name] = []
        for sample in range(self.options.samples + 1):
            for name in list(samples):
                try:
                    seconds = arms[name].seconds_of_token()
                except Exception as failure:
                    self._fail(f"{problem.name}, ranks {ranks}, {name}: {failure}")
                    del samples[name]
                    continue
                if sample:  # the first one is a warm-up
                    samples[name].append(seconds)
        medians = {name: statistics.median(values) for name, values in samples.items()}
        for name, seconds in medians.items():
            say(f"  {name}: {1e3 * seconds:.3f} ms")
        return medians

    def _add_row(self, name: str, ranks: int, times: dict[str, float]) -> None:
        cells = [f"{1e3 * times[arm]:.3f}" if arm in times else NOT_MEASURED for arm in ARMS]
        if ranks == 1:
            for arm in SYMMETRIC:
                cells[ARMS.index(arm)] = ""
        mine = times.get("ark")
        if mine is not None and ranks == 1:
            self._one_gpu[name] = mine
        best = min((times[arm] for arm in times if arm != "ark"), default=None)
        ratio = "" if mine is None or best is None else f"{mine / best:.2f}"
        gain = (
            "" if mine is None or name not in self._one_gpu else f"{self._one_gpu[name] / mine:.2f}"
        )
        aim = AIMS.get((name, ranks))
        row = (name, str(ranks), *cells, ratio, gain, "" if aim is None else f"{aim:.2f}")
        self._rows.append(row)
        say("  ".join(row))

    def text(self) -> str:
        """Returns the machine and the table, in Markdown."""
        head = (
            "setting",
            "ranks",
            *(f"{arm}, ms" for arm in ARMS),
            "ark / best",
            "one rank / ark",
            "aim, ms",
        )
        return f"{self._machine}\n\n{table(head, self._rows)}"


class TorchArm:
    """An arm of PyTorch, in the processes of all ranks."""

    def __init__(self, ranks: Any, name: str, problem: Problem) -> None:
        self._ranks, self._name, self._problem = ranks, name, problem

    def logits(self) -> Any:
        """Returns the logits of the problem's pairs."""
        return self._ranks.logits(self._name, self._problem.pairs)

    def seconds_of_token(self) -> float:
        """Returns the mean seconds of a step."""
        problem = self._problem
        return self._ranks.time(self._name, problem.pairs[0][0], problem.first, problem.steps)


Arm = TorchArm | ArkArm

if __name__ == "__main__":
    sys.exit(main())
