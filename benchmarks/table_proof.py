"""Measures the time of the proof of a bundle's tables, as a share of the time of compilation.

    python benchmarks/table_proof.py [--samples 5]

Compiles three programs, alternately with and without the proof of the tables, and prints medians:
a decoder (Llama-3.2-1B shapes, 16 layers) for cuda:sm_90a, an encoder (MiniLM shapes) for cpu:8,
and a training step (one layer of width 768, 2,048 tokens, 8,192 rows of the embedding) for cpu:8.
Times are processor times, including child processes, since wall-clock times depend on other load.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from dataclasses import astuple
from unittest import mock

import decoder_compile
import encoder_gpu
from table import print_table

import ark_mlir as ark
from ark_mlir.compiler import bundles
from ark_mlir.compiler.table_proof import TableProof, prove
from ark_mlir.models.encoder import EncoderConfig, build
from ark_mlir.training import TrainingConfig
from ark_mlir.training.recipe import build_step

TRAINING = TrainingConfig.parse(
    {
        "model": {
            "vocab_size": 8192,
            "hidden_size": 768,
            "num_hidden_layers": 1,
            "num_attention_heads": 12,
            "intermediate_size": 3072,
            "max_position_embeddings": 512,
        },
        "data": {"text": ["corpus.txt"]},
        "train": {"batch": 4, "length": 512},
    }
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=5)
    options = parser.parse_args()
    programs = {
        "decoder, cuda:sm_90a": (decoder_compile.decode(16), "cuda:sm_90a"),
        "encoder, cpu:8": (build(EncoderConfig(*astuple(encoder_gpu.MINILM), "gelu")), "cpu:8"),
        "training step, cpu:8": (build_step(TRAINING, 100_000).program, "cpu:8"),
    }
    rows: list[tuple[str, ...]] = []
    for name, (program, target) in programs.items():
        with_proof, without, proofs = measure(program, target, options.samples)
        rows.append(
            (
                name,
                f"{with_proof:.2f}",
                f"{without:.2f}",
                f"{proofs:.3f}",
                f"{proofs / without:.1%}",
            )
        )
    print_table(("program", "with, s", "without, s", "proof, s", "share"), rows)
    return 0


def measure(program: ark.Program, target: str, samples: int) -> tuple[float, float, float]:
    """Returns median seconds: compilation with the proof, without it, and the proof alone."""
    with_proof: list[float] = []
    without: list[float] = []
    proofs: list[float] = []
    nothing = TableProof(0, 0, 0, 0.0)
    for _ in range(samples):
        start = cpu_seconds()
        with mock.patch.object(bundles, "prove", return_value=nothing):
            ark.compile(program, target, cache=False)
        without.append(cpu_seconds() - start)
        start = cpu_seconds()
        executable = ark.compile(program, target, cache=False)
        with_proof.append(cpu_seconds() - start)
        start = cpu_seconds()
        prove(executable.bundle)
        proofs.append(cpu_seconds() - start)
    return (
        statistics.median(with_proof),
        statistics.median(without),
        statistics.median(proofs),
    )


def cpu_seconds() -> float:
    """Returns the processor time of this process and of its ended children, in seconds."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    sys.exit(main())
