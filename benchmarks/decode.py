"""One decode step on one GPU: ark against PyTorch, from the embedding to the next token.

    python benchmarks/decode.py --compile FOLDER                # where the compiler is
    python benchmarks/decode.py --bundles FOLDER [--output F]   # where the GPU is

The second needs the runtime half of the package, numpy, ml_dtypes, cuda-python and torch. All arms
have the same random bf16 weights and caches and take turns; a table has their medians.

graph            PyTorch's kernels in a CUDA graph
reduce-overhead  torch.compile in this mode; max-autotune is another arm. The faster of the two is
                 the baseline, and later settings omit the slower one
ark-1            one launch for each token
ark-128          128 tokens in one launch
eager            PyTorch without either

*ms* is the time on the device for one token: PyTorch's kernels run back to back, and events time
the kernels of ark. *host* is the time that a caller of ark waits for the logits of each launch. *of
the read limit* is the bandwidth of a step (the bytes that it must read, divided by its time) as a
share of that of a streaming read of 4 GiB in the same run.

Before the measurement, logits of a few positions are compared with PyTorch in fp32. If ark's
relative error is above that of PyTorch's own bf16, ark has no times and the exit status is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
from bundle_options import bundle_parser
from decode_arms import ArkArm, Arm, DeviceClock, TorchArm, error_of, load_ark
from decode_settings import FIGURES, SETTINGS, Setting
from table import table

import ark_mlir as ark

MODES = ("reduce-overhead", "max-autotune")
ARMS = ("graph", *MODES, "ark-1", "ark-128")
# Estimate of the seconds of torch.compile for a layer, until one has been measured.
COMPILE_SECONDS = {"reduce-overhead": 1.5, "max-autotune": 3.0}
CHECKED = 8
BEGUN = time.monotonic()


def main() -> int:
    options = parse()
    if options.compile is not None:
        made = [compile_setting(name, options.compile, options.target) for name in options.settings]
        return int(not all(made))
    session = Session(options)
    for name in options.settings:
        with session.guarded(name):
            session.measure(name)
    text = session.text()
    print(text)
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    return int(session.failed)


def parse() -> argparse.Namespace:
    parser = bundle_parser(__doc__)
    parser.add_argument(
        "--settings", type=names(SETTINGS), default=FIGURES, help=f"of {', '.join(SETTINGS)}"
    )
    parser.add_argument(
        "--arms", type=names((*ARMS, "eager")), default=ARMS, help="some of those above"
    )
    parser.add_argument("--tokens", type=int, default=128, help="of one sample, and of ark-128")
    parser.add_argument("--samples", type=int, default=7)
    parser.add_argument("--fused", action="store_true", help="PyTorch: one product for q, k and v")
    parser.add_argument(
        "--budget",
        type=float,
        default=150,
        help="seconds; what torch.compile would not finish by then is left out, and said",
    )
    return parser.parse_args()


def names(known: Any) -> Callable[[str], tuple[str, ...]]:
    """Returns a parser of a list of known names, separated by commas."""

    def read(text: str) -> tuple[str, ...]:
        if unknown := [name for name in text.split(",") if name not in known]:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}")
        return tuple(text.split(","))

    return read


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGUN:6.1f} s  {text}", flush=True)


# -- where the compiler is -------------------------------------------------------------------------


def compile_setting(name: str, folder: Path, target: str) -> bool:
    """Writes ``<name>.npz``, cosines and sines for PyTorch, and ``<name>.arkbin``, unless
    compilation fails."""
    from decode_programs import decoder_config, save_rope_tables

    from ark_mlir.models.decoder import build_decode

    setting = SETTINGS[name]
    config = decoder_config(setting)
    save_rope_tables(name, setting, folder)
    path = folder / f"{name}.arkbin"
    path.unlink(missing_ok=True)
    start = time.monotonic()
    try:
        program = build_decode(config, batch=setting.batch, max_length=setting.context)
        ark.compile(program, target, cache=False).save(path)
    except ark.ArkError as error:
        print(f"decode: {name}: {error}", file=sys.stderr, flush=True)
        return False
    size = path.stat().st_size / 1e6
    say(f"{name}: compiled in {time.monotonic() - start:.1f} s, {size:.1f} MB")
    return True


# -- one run ---------------------------------------------------------------------------------------


class Session:
    """The settings of a run, and their results."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.failed = False
        self.notes: list[str] = []
        self._rows: list[tuple[str, ...]] = []
        self._modes = [mode for mode in MODES if mode in options.arms]
        self._medians: dict[str, dict[str, float]] = {}
        self._compile_seconds = dict(COMPILE_SECONDS)
        self.device = "cuda" if self._is_cuda() else "cpu"
        self._limit = self._measure_limit()

    @contextlib.contextmanager
    def guarded(self, what: str) -> Generator[None]:
        """Records an error of the block, which costs only its own figures and the exit status."""
        try:
            yield
        except Exception as error:
            traceback.print_exc()
            self._fail(f"{what}: {error!r}"[:300])

    def _is_cuda(self) -> bool:
        """Returns True if the first bundle is for cuda."""
        for path in map(self._bundle, self.options.settings):
            if path.exists():
                return ark.load(path).bundle.manifest.target.backend == "cuda"
        raise SystemExit(f"decode: {self.options.bundles} has no bundle of these settings")

    def _bundle(self, name: str) -> Path:
        return self.options.bundles / f"{name}.arkbin"

    def _measure_limit(self) -> float | None:
        if self.device == "cpu":
            self.notes.append("The processor's memory has no read limit here.")
            return None
        import torch
        from read_limit import read_limit

        limit = read_limit()
        torch.cuda.empty_cache()
        device = torch.cuda.get_device_name()
        self.notes.append(
            f"{device}, PyTorch {torch.__version__}; streaming read {limit / 1e9:.0f} GB/s."
        )
        say(self.notes[-1])
        return limit

    def measure(self, name: str) -> None:
        """Adds the rows of one setting."""
        import torch
        from torch_decoder import TorchDecoder, make_caches, make_weights

        setting, options = SETTINGS[name], self.options
        say(f"{name}: {setting.what}")
        torch._dynamo.reset()
        weights = make_weights(setting.sizes, self.device)
        caches = make_caches(setting, self.device)
        tables = np.load(options.bundles / f"{name}.npz")
        rope = torch.from_numpy(tables["cos"]), torch.from_numpy(tables["sin"])
        tokens = np.random.default_rng(0).integers(
            0, setting.sizes.vocabulary, (CHECKED, setting.batch)
        )
        places = np.linspace(self._start(setting), setting.context - 1, CHECKED).astype(int)
        pairs = list(zip(tokens, places.tolist(), strict=True))

        def check(arm: Arm) -> Any:
            return np.stack([arm.logits(*pair) for pair in pairs])

        wide = TorchDecoder(setting, weights, caches, rope, torch.float32, options.fused)
        oracle = check(TorchArm(wide, wide))
        del wide
        model = TorchDecoder(setting, weights, caches, rope, fused=options.fused)
        eager = TorchArm(model, model)
        bound = error_of(check(eager), oracle)
        say(f"  relative error of PyTorch in bf16: {bound:.5f}")

        arms: dict[str, Arm] = {"eager": eager} if "eager" in options.arms else {}
        with torch.no_grad():
            arms |= self._torch_arms(name, model)
        mine = self._ark_arms(name, weights, caches)
        arms |= mine
        errors: dict[str, float] = {}
        for name_of_arm, arm in arms.items():
            model.restore(caches)
            errors[name_of_arm] = error_of(check(arm), oracle)
        self._refuse(name, arms, errors, bound)
        self._same_tokens(name, arms, tokens[0], setting)
        times = self._times(arms, tokens[0], setting) if arms else {}
        self._report(name, times, errors)
        for arm in mine.values():
            arm.close()
        del arms, mine, model, eager
        gc.collect()
        if self.device == "cuda":
            torch.cuda.empty_cache()

    def _start(self, setting: Setting) -> int:
        """Returns the position of the first token."""
        if self.options.tokens > setting.context:
            raise SystemExit(f"{self.options.tokens} tokens do not fit {setting.context} places")
        return setting.context - self.options.tokens

    def _torch_arms(self, name: str, model: Any) -> dict[str, Arm]:
        from torch_decoder import capture, compiled

        arms: dict[str, Arm] = {}
        if "graph" in self.options.arms:
            model.put(model.token, self._start(SETTINGS[name]))
            arms["graph"] = TorchArm(model, capture(model))
        layers = SETTINGS[name].sizes.layers
        for mode in self._modes:
            start = time.monotonic()
            if start - BEGUN + self._compile_seconds[mode] * layers > self.options.budget:
                self.notes.append(f"{name}: no time left for torch.compile, {mode}.")
                say(f"  {self.notes[-1]}")
                continue
            model.put(model.token, self._start(SETTINGS[name]))
            with self.guarded(f"{name}, {mode}"):
                arms[mode] = TorchArm(model, compiled(model, mode))
            seconds = time.monotonic() - start
            self._compile_seconds[mode] = seconds / layers
            say(f"  torch.compile, {mode}: {seconds:.1f} s")
        return arms

    def _ark_arms(self, name: str, weights: Any, caches: Any) -> dict[str, ArkArm]:
        wanted = [arm for arm in self.options.arms if arm.startswith("ark")]
        if wanted and not self._bundle(name).exists():
            self._fail(f"{name}: there is no bundle of it")
        if not wanted or not self._bundle(name).exists():
            return {}
        start = time.monotonic()
        executable = load_ark(self._bundle(name), weights, caches)
        say(f"  bundle and weights: {time.monotonic() - start:.1f} s")
        clock = DeviceClock(executable)
        return {arm: ArkArm(executable, clock, arm == "ark-1") for arm in wanted}

    def _refuse(
        self, name: str, arms: dict[str, Arm], errors: dict[str, float], bound: float
    ) -> None:
        """Removes arms with wrong results, whose times are meaningless."""
        for arm in list(arms):
            # PyTorch's own kernels may round in another order; ark's error must not be larger than
            # theirs.
            most = bound if arm.startswith("ark") else 1.5 * bound
            if not errors[arm] <= most:
                self._fail(f"{name}, {arm}: relative error {errors[arm]:.5f}, above {most:.5f}")
                del arms[arm]

    def _same_tokens(self, name: str, arms: dict[str, Arm], token: Any, setting: Setting) -> None:
        """Checks that ark's tokens do not depend on the number of tokens per launch."""
        made = [
            arm.made(token, self._start(setting), self.options.tokens)
            for arm in arms.values()
            if isinstance(arm, ArkArm)
        ]
        if any(not np.array_equal(other, made[0]) for other in made[1:]):
            self._fail(f"{name}: one launch and several make other tokens")
            for arm in [arm for arm in arms if arm.startswith("ark")]:
                del arms[arm]

    def _fail(self, what: str) -> None:
        self.failed = True
        self.notes.append(f"**WRONG** {what}.")
        print(f"decode: WRONG: {what}", file=sys.stderr, flush=True)

    def _times(
        self, arms: dict[str, Arm], token: Any, setting: Setting
    ) -> dict[str, tuple[float, float]]:
        """Returns the medians of all arms, whose samples are interleaved after a warm-up."""
        start, tokens = self._start(setting), self.options.tokens
        samples: dict[str, list[tuple[float, float]]] = {arm: [] for arm in arms}
        for sample in range(self.options.samples + 1):
            for arm, found in samples.items():
                seconds = arms[arm].run(token, start, tokens)
                if sample:
                    found.append(seconds)
        return {
            arm: (
                statistics.median(device for device, _ in found),
                statistics.median(host for _, host in found),
            )
            for arm, found in samples.items()
        }

    def _report(
        self, name: str, times: dict[str, tuple[float, float]], errors: dict[str, float]
    ) -> None:
        medians = self._medians[name] = {arm: device for arm, (device, _) in times.items()}
        best = min((mode for mode in MODES if mode in medians), key=medians.__getitem__, default="")
        if all(mode in medians for mode in self._modes) and best:
            self._modes = [best]
        bytes_read = SETTINGS[name].bytes_read(self.options.tokens)
        for arm, (device, host) in times.items():
            ratio = device / medians[best] if best else None
            share = bytes_read / device / self._limit if self._limit else None
            row = (
                name,
                arm,
                f"{1e3 * device:.3f}",
                f"{1e3 * host:.3f}" if arm.startswith("ark") else "",
                "-" if ratio is None else f"{ratio:.3f}",
                "-" if share is None else f"{100 * share:.1f} %",
                f"{errors[arm]:.5f}",
            )
            self._rows.append(row)
            say("  " + "  ".join(row[1:]))

    # -- what came of it -----------------------------------------------------------------------

    def text(self) -> str:
        """Returns the table and its conclusions, in Markdown."""
        header = ("setting", "arm", "ms", "host", "x torch.compile", "of the read limit", "error")
        what: list[str] = []
        for name in self.options.settings:
            size = SETTINGS[name].bytes_read(self.options.tokens)
            what.append(f"- {name}: {SETTINGS[name].what}; {size / 1e9:.3f} GB")
        notes = [*self.notes, *self._against_aims(), *self._against_batch_one()]
        return "\n".join(["", *notes, "", *what, "", table(header, self._rows), ""])

    def _ark(self, name: str) -> float | None:
        """Returns the faster of ark's arms."""
        medians = self._medians.get(name, {})
        return min((medians[arm] for arm in medians if arm.startswith("ark")), default=None)

    def _against_aims(self) -> list[str]:
        lines: list[str] = []
        for name, medians in self._medians.items():
            setting, mine = SETTINGS[name], self._ark(name)
            theirs = min((medians[mode] for mode in MODES if mode in medians), default=None)
            if setting.must is None or mine is None or theirs is None:
                continue
            lines.append(
                f"{name}: {mine / theirs:.3f} x torch.compile (must {setting.must}, "
                f"aim {setting.aim})."
            )
        return lines

    def _against_batch_one(self) -> list[str]:
        one, eight = self._ark("A"), self._ark("A-b8")
        if one is None or eight is None:
            return []
        return [f"Batch 8 of A: {eight / one:.3f} x batch 1 (must 1.25)."]


if __name__ == "__main__":
    sys.exit(main())
