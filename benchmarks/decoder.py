"""A decoder on the CPU: ark against PyTorch eager, same weights and threads.

    python benchmarks/decoder.py [--threads N] [--prompt 128] [--samples 15]

The model is a Llama of 100 million random parameters in bf16. Measured are one decode step after
the prompt, and the prompt itself. Needs the packages torch and transformers. Samples of the two
arms alternate, so that both have the same noise; medians and their ratio are printed. Logits of
both are compared with those of transformers in fp32, from the same weights. A lower bound of a
decode step is one read of its weights.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from encoder import measure
from table import print_table

import ark_mlir as ark
from ark_mlir.models.decoder import DecoderConfig, build_decode, build_prefill

SIZES = DecoderConfig(
    vocabulary=32000,
    hidden=768,
    layers=12,
    heads=12,
    kv_heads=4,
    head=64,
    intermediate=2048,
    theta=10000.0,
    tied=True,
)
NEEDS = ("torch", "transformers")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--samples", type=int, default=15)
    options = parser.parse_args()
    if missing := [name for name in NEEDS if importlib.util.find_spec(name) is None]:
        print(f"decoder: needs {' and '.join(missing)}", file=sys.stderr)
        return 1
    eager = TorchDecoder(options.threads)
    mine = ArkDecoder(eager.weights(), options.threads, options.prompt)
    prompt = np.random.default_rng(0).integers(0, SIZES.vocabulary, (1, options.prompt))
    token = np.array([[7]])
    oracle = eager.oracle(prompt, token)
    rows: list[tuple[str, ...]] = []
    for name, arms in {
        f"prefill of {options.prompt}": {
            "ark": lambda: mine.prefill(prompt),
            "torch eager": lambda: eager.prefill(prompt),
        },
        "decode": {
            "ark": lambda: mine.decode(token),
            "torch eager": lambda: eager.decode(token),
        },
    }.items():
        rows += compare(name, arms, oracle[name.split()[0]], options.samples)
    print_table(("step", "arm", "ms", "ratio to torch", "largest error of a logit"), rows)
    size = eager.parameters()
    print(f"{size / 1e6:.1f} M parameters, {2e-6 * size:.0f} MB in bf16")
    print(mine.decoding.report())
    return 0


def compare(
    name: str, arms: dict[str, Callable[[], Any]], oracle: Any, samples: int
) -> list[tuple[str, ...]]:
    """Prints a row for each arm."""
    errors = {arm: float(np.abs(run() - oracle).max()) for arm, run in arms.items()}
    medians = measure(arms, samples)
    return [
        (
            name,
            arm,
            f"{seconds * 1e3:.1f}",
            f"{seconds / medians['torch eager']:.2f}",
            f"{errors[arm]:.4f}",
        )
        for arm, seconds in medians.items()
    ]


class ArkDecoder:
    """The programs for prompts and for decode steps; `decode` continues with the states of
    `prefill`.
    """

    def __init__(self, weights: dict[str, Any], threads: int, prompt: int) -> None:
        length = 2 * prompt
        target = f"cpu:{threads}"
        self.prompt = prompt
        self.filling = ark.compile(build_prefill(SIZES, chunk=prompt, max_length=length), target)
        self.decoding = ark.compile(build_decode(SIZES, max_length=length), target)
        for executable in (self.filling, self.decoding):
            executable.bind(weights, strict=False)
        self.decoding.share_states(self.filling)
        self.ends = np.full(8, -1, np.int32)

    def prefill(self, prompt: Any) -> Any:
        ids = prompt.astype(np.int32)
        inputs = {"begin": 0, "last": self.prompt - 1, "ends": self.ends}
        return np.asarray(self.filling.run(ids=ids, **inputs)["logits"], np.float32)

    def decode(self, token: Any) -> Any:
        # Every sample decodes the same position.
        position = np.array(self.prompt, np.int32)
        self.decoding.bind({"token": token.astype(np.int32), "position": position})
        return np.asarray(self.decoding.run(ends=self.ends)["logits"], np.float32)


class TorchDecoder:
    """transformers' Llama, with random weights."""

    def __init__(self, threads: int) -> None:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.set_num_threads(threads)
        torch.manual_seed(0)
        self.torch = torch
        config = LlamaConfig(
            vocab_size=SIZES.vocabulary,
            hidden_size=SIZES.hidden,
            num_hidden_layers=SIZES.layers,
            num_attention_heads=SIZES.heads,
            num_key_value_heads=SIZES.kv_heads,
            intermediate_size=SIZES.intermediate,
            rms_norm_eps=SIZES.eps,
            rope_theta=SIZES.theta,
            tie_word_embeddings=True,
        )
        self.model = LlamaForCausalLM(config).to(torch.bfloat16).eval()
        self.cache: Any = None

    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    def weights(self) -> dict[str, Any]:
        """Returns the arrays by their names, in bf16."""
        return {
            name: tensor.detach().view(self.torch.uint16).numpy().view(ark.bf16.numpy)
            for name, tensor in self.model.named_parameters()
        }

    def oracle(self, prompt: Any, token: Any) -> dict[str, Any]:
        """Returns the logits of both steps in fp32."""
        self.model.float()
        logits = {"prefill": self.prefill(prompt), "decode": self.decode(token)}
        self.model.bfloat16()
        return logits

    def prefill(self, prompt: Any) -> Any:
        self.cache = None
        return self._last(prompt)

    def decode(self, token: Any) -> Any:
        logits = self._last(token)
        # Restores the position for the next sample.
        self.cache.crop(-1)
        return logits

    def _last(self, ids: Any) -> Any:
        with self.torch.inference_mode():
            result = self.model(
                input_ids=self.torch.from_numpy(ids).long(),
                past_key_values=self.cache,
                use_cache=True,
                logits_to_keep=1,
            )
        self.cache = result.past_key_values
        return result.logits[0, -1:].float().numpy()


if __name__ == "__main__":
    sys.exit(main())
