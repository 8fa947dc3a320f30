#!/usr/bin/env python3
"""Writes the tables of docs/support.md: the targets, the ops, element types and models that test
cases cover, and the ATen ops that ark supports.

Takes the targets from the registry of backends and from the compiler. Builds every case of
tests/support/op_cases.py and records the element types with which the case calls functions of the
package. Loads a small folder of every model type in every element type; tests/host/models compares
the same folders with transformers.

A table lies between the comments `<!-- begin NAME -->` and `<!-- end NAME -->` of the page.

Usage: make_support.py <page> [--check]

With --check nothing is written; a page that differs is an error.
"""

from __future__ import annotations

import functools
import importlib
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import ark_mlir as ark
from ark_mlir.backends import BackendInfo, backend_info, backend_names
from ark_mlir.dtypes import ALL, DType
from ark_mlir.frontend import ops
from ark_mlir.pytorch import aten
from ark_mlir.targets.target import Target, look_up
from ark_mlir.units import size

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

Seen = dict[str, set[DType]]

FAMILIES = (
    "creation", "views", "elementwise", "conditions", "composed", "reductions", "linear",
    "channel_norms", "prefixes", "sorting", "quantized", "indexing", "scattering", "convolution",
    "transposed_convolution", "windows", "resampling", "sampling", "losses",
)  # fmt: skip
# Sizes of the small models.
ENCODER_SIZES = {"length": 8}
DECODER_SIZES = {"max_length": 16}
# Models of each type. Tests use small folders instead of the files of these models.
MODELS = {
    "llama": "Llama 2 and 3, SmolLM 2, Falcon 3", "mistral": "Mistral 7B", "qwen2": "Qwen 2, 2.5",
    "qwen3": "Qwen 3", "mixtral": "Mixtral", "qwen3_moe": "Qwen 3 with experts",
    "gpt_oss": "gpt-oss", "deepseek_v2": "DeepSeek-V2", "deepseek_v3": "DeepSeek-V3, R1",
    "qwen2_moe": "Qwen 1.5 and 2 with experts", "olmoe": "OLMoE", "granite": "Granite 3",
    "cohere": "Command R", "cohere2": "Command R7B, Command A", "starcoder2": "StarCoder 2",
    "glm": "GLM-4", "glm4": "GLM-4-0414", "glm4_moe": "GLM-4.5", "seed_oss": "Seed-OSS",
    "ernie4_5": "ERNIE 4.5",
    "gemma": "Gemma", "gemma2": "Gemma 2",
    "gemma3_text": "Gemma 3, text only (also of type `gemma3`)",
    "phi3": "Phi 3, 3.5, 4", "smollm3": "SmolLM 3", "olmo2": "OLMo 2", "olmo3": "OLMo 3",
    "stablelm": "StableLM", "phi": "Phi 1, 1.5, 2", "gpt2": "GPT-2",
    "bert": "BERT, MiniLM, BGE, E5", "roberta": "RoBERTa",
    "xlm-roberta": "XLM-R, BGE-M3, multilingual E5", "camembert": "CamemBERT",
    "distilbert": "DistilBERT", "modernbert": "ModernBERT", "nomic_bert": "nomic-embed-text",
}  # fmt: skip


def tensors(value: object) -> Iterator[ark.Tensor]:
    """Yields the tensors in arguments or results of a function."""
    if isinstance(value, ark.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors(item)


class Recorder:
    """Records the element types with which public functions are called while a case is built."""

    def __init__(self) -> None:
        self.seen: Seen = {}
        self.dtype: DType | None = None

    def install(self) -> None:
        """Replaces the functions of the package. Modules that import these functions must be
        imported afterwards."""
        for name in ops.__all__:
            setattr(ark, name, self.wrap(name, getattr(ark, name)))

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def recorded(*arguments: Any, **named: Any) -> Any:
            result = function(*arguments, **named)
            touched = {tensor.dtype for tensor in tensors([*arguments, *named.values(), result])}
            # The case does not cover the element types of indices and conditions.
            if self.dtype in touched:
                self.seen.setdefault(name, set()).add(self.dtype)
            return result

        return recorded


def record_cases() -> Seen:
    """Returns, for every function, the element types with which the cases of single ops call it."""
    recorder = Recorder()
    recorder.install()
    op_cases: Any = importlib.import_module("op_cases")
    for case in op_cases.CASES.values():
        for dtype in case.dtypes:
            recorder.dtype = dtype
            op_cases.build(case, dtype)
    # Cases use `cast` to make operands of other ops; a separate test covers all pairs of types.
    del recorder.seen["cast"]
    return recorder.seen


def record_models() -> Seen:
    """Returns, for every model type, the element types in which a folder can be loaded."""
    cases: Any = importlib.import_module("model_cases")
    recorded = cases.read_recorded()
    seen: Seen = {}
    for name, case in {**cases.DECODERS, **cases.MIXTURES, **cases.ENCODERS}.items():
        if case.kind in seen:
            continue
        sizes = ENCODER_SIZES if name in cases.ENCODERS else DECODER_SIZES
        with tempfile.TemporaryDirectory() as folder:
            cases.write_folder(Path(folder), recorded[name]["config"])
            seen[case.kind] = {dtype for dtype in ALL if loads(folder, dtype, sizes)}
    return seen


def loads(folder: str, dtype: DType, sizes: dict[str, Any]) -> bool:
    try:
        ark.models.load(folder, dtype=dtype.name, **sizes)
    except ark.InvalidUsageError:
        return False
    return True


def model_table(rows: Seen, columns: tuple[DType, ...]) -> str:
    """Returns the table of model types, with the names of models and a mark for ranks."""
    families: Any = importlib.import_module("ark_mlir.models.families").FAMILIES
    lines = table("model type", rows, columns).splitlines()
    for number, more in enumerate(("models | ranks", "---|:-:")):
        lines[number] += f" {more} |" if number == 0 else f"{more}|"
    for number, kind in enumerate(rows, start=2):
        mark = "✓" if kind in families and families[kind].ranks else " "
        lines[number] += f" {MODELS[kind]} | {mark} |"
    return "\n".join(lines) + "\n"


def table(title: str, rows: Seen, columns: tuple[DType, ...] = ALL) -> str:
    """Returns a table with a mark where a row has the element type of the column."""
    lines = [
        f"| {title} | " + " | ".join(dtype.name for dtype in columns) + " |",
        "|---|" + ":-:|" * len(columns),
    ]
    for name, dtypes in rows.items():
        marks = " | ".join("✓" if dtype in dtypes else " " for dtype in columns)
        lines.append(f"| `{name}` | {marks} |")
    return "\n".join(lines) + "\n"


def functions(family: str) -> list[str]:
    """Returns the public functions of a module of ops."""
    return importlib.import_module(f"ark_mlir.frontend.ops.{family}").__all__


def list_targets(backend: BackendInfo) -> list[str]:
    """Returns the names of the targets that the compiler knows.

    Only the compiler has the list of the architectures of GPUs. The error for an unknown
    architecture ends with it.
    """
    if not backend.is_gpu:
        return [backend.name]
    try:
        look_up(f"{backend.name}:unknown")
    except ark.InvalidUsageError as error:
        _, found, archs = error.message.rpartition("expected one of ")
        if found:
            return [f"{backend.name}:{arch}" for arch in archs.split(", ")]
    raise SystemExit(f"the compiler does not list the architectures of {backend.name}")


def target_table() -> str:
    """Returns the table of targets: the facts of machines, and the abilities of their backends."""
    lines = [
        "| target | SMs | shared memory | streaming reads | matrix products | ranks | processes "
        "| task packets | GPUs |",
        "|---|--:|--:|--:|--:|:-:|:-:|:-:|:-:|",
    ]
    for backend in map(backend_info, backend_names()):
        abilities = (
            backend.has_ranks, bool(backend.process_memory), backend.has_task_packets,
            backend.selects_devices,
        )  # fmt: skip
        marks = " | ".join("✓" if ability else " " for ability in abilities)
        for name in list_targets(backend):
            lines.append(f"| {describe_machine(name, backend, look_up(name))} | {marks} |")
    return "\n".join(lines) + "\n"


def describe_machine(name: str, backend: BackendInfo, target: Target) -> str:
    """Returns the first cells of a row: the name of a target and the facts of its machine."""
    if not backend.is_gpu:
        # The number of workers, and with it the rates, are those of the machine or of the caller.
        return f"`{name}`, `{name}:N` | N |   |   |  "
    return (
        f"`{name}` | {target.sms} | {size(target.shared_memory)} | {target.bandwidth:,} GB/s | "
        f"{target.flops // 1000:,} TFLOP/s"
    )


def make_tables() -> dict[str, str]:
    """Returns the generated parts of the page by name."""
    models = record_models()
    seen = record_cases()
    names = [name for family in FAMILIES for name in functions(family)]
    floats = tuple(dtype for dtype in ALL if any(dtype in kinds for kinds in models.values()))
    return {
        "targets": target_table(),
        "ops": table("function", {name: seen[name] for name in names if name in seen}),
        "other ops": enumerate_names(name for name in names if name not in seen),
        "collectives": enumerate_names(functions("collectives")),
        "models": model_table(models, floats),
        "aten": enumerate_names(
            dict.fromkeys(n.split(".")[1] for n in aten.names() if n.startswith("aten."))
        ),
    }


def enumerate_names(names: Iterable[str]) -> str:
    text = ", ".join(f"`{name}`" for name in names) + "."
    return textwrap.fill(text, 116, break_long_words=False, break_on_hyphens=False) + "\n"


def fill_in(page: str, tables: dict[str, str]) -> str:
    """Returns the page with its generated parts replaced."""
    for name, text in tables.items():
        begin, end = f"<!-- begin {name} -->\n", f"\n<!-- end {name} -->"
        head, found, rest = page.partition(begin)
        _, ended, tail = rest.partition(end)
        if not found or not ended:
            raise SystemExit(f"the page has no section named {name!r}")
        page = f"{head}{begin}\n{text}{end}{tail}"
    return page


def main(page: str, check: bool) -> int:
    path = Path(page)
    before = path.read_text(encoding="utf-8")
    after = fill_in(before, make_tables())
    if not check:
        path.write_text(after, encoding="utf-8")
    elif after != before:
        print(f"{page} is stale: run `make docs` and commit it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--check" in sys.argv[2:]))
