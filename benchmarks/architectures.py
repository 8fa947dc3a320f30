"""Well-known architectures through ``torch.compile(backend="ark")``, on this machine.

    python benchmarks/architectures.py [--only NAME]... [--target T] [--device D] [--output F]
    python benchmarks/architectures.py --rounds 50 --threads 1 --target cpu:1 --output F
    python benchmarks/architectures.py --page docs/support.md

The weights are random; the ops and the structure are those of the real models. ResNet-18 has its
real sizes, and the others have small ones. The models of transformers come from their
configurations, the others from benchmarks/architecture_nets.py. The table has, for each
architecture:

parts   the programs of ark into which the graph was divided; one is best
ark     ATen ops in these programs
rest    ATen ops that PyTorch executes, without views
error   the largest difference from PyTorch in fp32, relative to its largest result
first   seconds of the first call
ark ms, eager ms  the medians of calls of both arms in turns
ratio   the median, over the rounds, of ark's time divided by eager's

Other work on the machine affects both calls of a round, so that the ratio is steadier than the
times. A line below the table has the conditions, with the load of the machine (the mean number of
processes that run or wait). With --page, nothing is timed, and the other columns replace the table
of a page.
"""

from __future__ import annotations

import argparse
import operator
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from architecture_nets import NETS

__all__ = ["CASES", "Row", "measure"]

_ROUNDS = 5
_WARM_UP = 3  # calls of each arm before the rounds


@dataclass
class Row:
    """The measurements of one architecture."""

    name: str
    parts: int = 0
    inside: int = 0
    rest: list[str] = field(default_factory=list)
    error: float = 0.0
    first: float = 0.0
    ark_ms: float = 0.0
    eager_ms: float = 0.0
    ratio: float = 0.0

    def cells(self) -> tuple[str, ...]:
        return (
            self.name,
            str(self.parts),
            str(self.inside),
            str(len(self.rest)),
            f"{self.error:.1e}",
            f"{self.first:.1f}",
            f"{self.ark_ms:.2f}",
            f"{self.eager_ms:.2f}",
            f"{self.ratio:.2f}",
        )


HEADER = ("architecture", "parts", "ark", "rest", "error", "first s", "ark ms", "eager ms", "ratio")
_UNTIMED = 5  # the number of columns before those of times
_BEGIN, _END = "<!-- begin architectures -->\n\n", "\n\n<!-- end architectures -->"


def _transformers(kind: str, **sizes: Any) -> Callable[[], Any]:
    def build() -> Any:
        import transformers

        name, _, suffix = kind.partition(":")
        config = getattr(transformers, f"{name}Config")(**sizes)
        return getattr(transformers, f"{name}{suffix or 'Model'}")(config)

    return build


def _ids(*shape: int) -> Callable[[], dict[str, Any]]:
    return lambda: {"input_ids": torch.randint(0, 90, shape)}


def _pixels(size: int = 32, name: str = "pixel_values") -> Callable[[], dict[str, Any]]:
    return lambda: {name: torch.randn(1, 3, size, size)}


_DECODER = {
    "vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "max_position_embeddings": 64, "pad_token_id": 0,
}  # fmt: skip
_GQA = {**_DECODER, "num_key_value_heads": 2, "use_cache": False}
_VISION = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "image_size": 32, "patch_size": 8,
}  # fmt: skip
_T5 = {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
_WHISPER = {
    "vocab_size": 99, "num_mel_bins": 16, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64, "max_source_positions": 32, "max_target_positions": 32,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip


def _decoder(name: str, **more: Any) -> tuple[Callable[[], Any], Callable[[], dict[str, Any]]]:
    return _transformers(f"{name}:ForCausalLM", **{**_GQA, **more}), _ids(1, 16)


def _gemma3() -> Any:
    import transformers

    return transformers.Gemma3ForCausalLM(transformers.Gemma3TextConfig(**_GQA, head_dim=8))


def _whisper_encoder() -> Any:
    return _transformers("Whisper", **_WHISPER)().encoder


# Builders of the module, and of its inputs.
CASES: Mapping[str, tuple[Callable[[], Any], Callable[[], dict[str, Any]]]] = {
    **NETS,
    "GPT-2": (
        _transformers(
            "GPT2:LMHeadModel",
            vocab_size=99,
            n_embd=32,
            n_layer=2,
            n_head=4,
            n_positions=64,
            use_cache=False,
            bos_token_id=1,
            eos_token_id=2,
        ),
        _ids(1, 16),
    ),
    "Llama": _decoder("Llama"),
    "Mistral": _decoder("Mistral"),
    "Qwen2": _decoder("Qwen2"),
    "Qwen3": _decoder("Qwen3", head_dim=8),
    "Qwen3-MoE": _decoder(
        "Qwen3Moe", head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16
    ),
    "Phi": _decoder("Phi"),
    "Phi-3": _decoder("Phi3"),
    "Gemma 2": _decoder("Gemma2", head_dim=8),
    "Gemma 3": (_gemma3, _ids(1, 16)),
    "Bloom": (
        _transformers(
            "Bloom:ForCausalLM",
            vocab_size=99,
            hidden_size=32,
            n_layer=2,
            n_head=4,
            use_cache=False,
        ),
        _ids(1, 16),
    ),
    "StableLM": _decoder("StableLm"),
    "OLMo 2": _decoder("Olmo2"),
    "OPT": (
        _transformers(
            "OPT:ForCausalLM",
            vocab_size=99,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            ffn_dim=64,
            max_position_embeddings=64,
            word_embed_proj_dim=32,
            use_cache=False,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
        ),
        _ids(1, 16),
    ),
    "Mixtral": _decoder("Mixtral", num_local_experts=4),
    "BERT": (_transformers("Bert", **_DECODER), _ids(2, 16)),
    "RoBERTa": (_transformers("Roberta", **_DECODER), _ids(2, 16)),
    "DistilBERT": (
        _transformers(
            "DistilBert",
            vocab_size=99,
            dim=32,
            n_layers=2,
            n_heads=4,
            hidden_dim=64,
            max_position_embeddings=64,
        ),
        _ids(2, 16),
    ),
    "ModernBERT": (_transformers("ModernBert", **_DECODER), _ids(1, 16)),
    "T5 encoder": (_transformers("T5:EncoderModel", **_T5), _ids(1, 16)),
    "T5": (
        _transformers(
            "T5:ForConditionalGeneration", **_T5, use_cache=False, decoder_start_token_id=0
        ),
        lambda: {
            "input_ids": torch.randint(1, 90, (1, 16)),
            "decoder_input_ids": torch.randint(1, 90, (1, 8)),
        },
    ),
    "CLIP text": (
        _transformers("CLIPText:Model", **_DECODER, bos_token_id=1, eos_token_id=2),
        _ids(1, 16),
    ),
    "ResNet-18": (
        _transformers(
            "ResNet:ForImageClassification",
            layer_type="basic",
            hidden_sizes=[64, 128, 256, 512],
            depths=[2, 2, 2, 2],
        ),
        _pixels(224),
    ),
    "ViT": (_transformers("ViT", **_VISION), _pixels()),
    "DINOv2": (
        _transformers(
            "Dinov2",
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            image_size=32,
            patch_size=8,
            mlp_ratio=2,
        ),
        _pixels(),
    ),
    "Swin": (
        _transformers(
            "Swin",
            image_size=32,
            patch_size=2,
            embed_dim=16,
            depths=[2, 2],
            num_heads=[2, 4],
            window_size=4,
        ),
        _pixels(),
    ),
    "ConvNeXt (transformers)": (
        _transformers("ConvNext", hidden_sizes=[16, 32], depths=[1, 1], num_stages=2),
        _pixels(),
    ),
    "SegFormer": (
        _transformers(
            "Segformer",
            num_encoder_blocks=2,
            depths=[1, 1],
            sr_ratios=[4, 2],
            hidden_sizes=[16, 32],
            patch_sizes=[7, 3],
            strides=[4, 2],
            num_attention_heads=[1, 2],
            mlp_ratios=[2, 2],
        ),
        _pixels(),
    ),
    "Whisper encoder": (
        _whisper_encoder,
        lambda: {"input_features": torch.randn(1, 16, 64)},
    ),
    "wav2vec 2": (
        _transformers(
            "Wav2Vec2",
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            conv_dim=[16, 16],
            conv_kernel=[5, 3],
            conv_stride=[4, 2],
            num_feat_extract_layers=2,
            num_conv_pos_embeddings=8,
            num_conv_pos_embedding_groups=4,
        ),
        lambda: {"input_values": torch.randn(1, 400)},
    ),
    "Mamba": (
        _transformers(
            "Mamba",
            vocab_size=99,
            hidden_size=16,
            num_hidden_layers=1,
            state_size=4,
            use_cache=False,
        ),
        _ids(1, 8),
    ),
}


@contextmanager
def _counting(row: Row) -> Iterator[None]:
    """Counts the parts of all graphs that are compiled meanwhile, and their ops."""
    from ark_mlir.pytorch import backend
    from ark_mlir.pytorch.aten import is_view

    fuse = backend.fuse

    def counted(module: Any, problems: Any) -> Any:
        fused = fuse(module, problems)
        for node in fused.graph.nodes:
            if node.op == "call_module" and node.target.startswith(backend.PREFIX):
                row.parts += 1
                part = fused.get_submodule(node.target)
                row.inside += sum(n.op == "call_function" for n in part.graph.nodes)
            elif node.op == "call_function" and node.target is not operator.getitem:
                row.rest += [] if is_view(str(node.target)) else [str(node.target)]
        return fused

    with mock.patch.object(backend, "fuse", counted):
        yield


def _tensors(result: Any) -> list[torch.Tensor]:
    if isinstance(result, Mapping):  # the dataclasses of transformers
        result = list(result.values())
    leaves = torch.utils._pytree.tree_leaves(result)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]


def _error(got: Any, wanted: Any) -> float:
    pairs = zip(_tensors(got), _tensors(wanted), strict=True)
    return max(float((a - b).abs().max() / b.abs().max().clamp_min(1e-30)) for a, b in pairs)


def _milliseconds(call: Callable[[], object], device: str) -> float:
    start = time.perf_counter()
    call()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3


def measure(name: str, target: str | None, device: str = "cpu", rounds: int = _ROUNDS) -> Row:
    """Returns the row of an architecture.

    Args:
        name: a key of `CASES`.
        target: target of ark; None for that of the device.
        device: ``cpu`` or ``cuda``.
        rounds: the number of timed calls of each arm; 0 measures no times.
    """
    from ark_mlir.pytorch.backend import backend

    torch.manual_seed(0)
    torch._dynamo.reset()
    torch._dynamo.config.allow_rnn = True  # else no backend gets an LSTM or a GRU
    build, make_inputs = CASES[name]
    module = build().eval().to(device)
    inputs = {key: value.to(device) for key, value in make_inputs().items()}
    row = Row(name)
    options: dict[str, Any] = {} if target is None else {"target": target}
    compiled = torch.compile(module, backend=backend, options=options)
    with torch.no_grad(), _counting(row):
        start = time.perf_counter()
        got = compiled(**inputs)
        row.first = time.perf_counter() - start
        row.error = _error(got, module(**inputs))
        if rounds:
            arms = [lambda: compiled(**inputs), lambda: module(**inputs)]
            ours, theirs = alternating(arms, rounds, device)
            row.ark_ms, row.eager_ms = statistics.median(ours), statistics.median(theirs)
            row.ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    return row


def alternating(
    arms: list[Callable[[], object]], rounds: int, device: str
) -> list[tuple[float, ...]]:
    """Returns the milliseconds of each arm's calls; which arm begins alternates."""
    for _ in range(_WARM_UP):
        for arm in arms:
            _milliseconds(arm, device)
    times: list[list[float]] = []
    for number in range(rounds):
        order = [0, 1] if number % 2 == 0 else [1, 0]
        taken = {index: _milliseconds(arms[index], device) for index in order}
        times.append([taken[0], taken[1]])
    return list(zip(*times, strict=True))


def conditions(target: str | None, device: str, rounds: int, loads: list[float]) -> str:
    """Returns a sentence with the conditions of a measurement."""
    where = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    return (
        f"{where}, {os.cpu_count()} cores; ark's target {target or device}, "
        f"{torch.get_num_threads()} threads of PyTorch {torch.__version__}; {rounds} rounds; "
        f"load {min(loads):.1f} to {max(loads):.1f}, median {statistics.median(loads):.1f}."
    )


def table(rows: list[Row], columns: int = len(HEADER)) -> str:
    """Returns the first columns of the rows as a table of Markdown."""
    lines = [HEADER, ("---",) + ("--:",) * (len(HEADER) - 1), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line[:columns]) + " |" for line in lines)


def write_page(page: Path, rows: list[Row]) -> None:
    """Replaces the table of a page, which lies between comments."""
    head, _, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    _, found, tail = rest.partition(_END)
    if not found:
        raise SystemExit(f"{page}: has no table of architectures")
    text = f"{head}{_BEGIN}{table(rows, _UNTIMED)}{_END}{tail}"
    page.write_text(text, encoding="utf-8")


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", choices=CASES, help="one architecture")
    parser.add_argument("--target", help="target of ark, by default that of the device")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--output", type=Path, help="file for the table")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="timed calls of each arm")
    parser.add_argument("--threads", type=int, help="threads of PyTorch")
    parser.add_argument("--page", type=Path, help="page whose table is replaced; times nothing")
    options = parser.parse_args()
    if options.page and options.only:
        parser.error("--page writes all architectures; --only selects some")
    if options.threads:
        torch.set_num_threads(options.threads)
    rounds = 0 if options.page else options.rounds
    rows: list[Row] = []
    loads: list[float] = []
    failed = 0
    for name in options.only or CASES:
        try:
            rows.append(measure(name, options.target, options.device, rounds))
        except Exception as error:
            failed += 1
            print(f"{name}: {type(error).__name__}: {error}".partition("\n")[0], file=sys.stderr)
            continue
        loads.append(os.getloadavg()[0])
        rest = ", ".join(sorted(set(rows[-1].rest)))
        print("  ".join(rows[-1].cells()), rest, file=sys.stderr, flush=True)
    print(table(rows))
    if options.page and not failed:
        write_page(options.page, rows)
    if options.output and rows:
        line = conditions(options.target, options.device, rounds, loads)
        options.output.write_text(f"{table(rows)}\n\n{line}\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
