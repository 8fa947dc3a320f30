"""Exports the model tests for a GPU machine: small models of every kind that ``ark.models`` loads,
with the interpreter's results.

For a decoder, the files are its programs and parameters, continuations of prompts token for token,
and every run of one prompt and of some tokens after it. Each run begins with the states of the
interpreter.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
import tiny_models
from compact import compact

import ark_mlir as ark

Arrays = dict[str, Any]
ENDS = 8


@dataclass(frozen=True)
class Decoder:
    """A decoder of the tests, with the options of its load and the prompts to continue.

    Attributes:
        kind: the model type.
        changes: entries of the configuration of ``tests/support/tiny_models.py`` that differ.
        options: arguments of ``ark.models.load``.
        prompts: lengths of the prompts that are continued. Empty for narrow dtypes, whose logits
            are often equal, so that tokens may differ.
        follow: the length of the prompt whose runs are all compared.
        scale: the scale of the weights; small if a model is wide or its dtype narrow.
        choices: options of sampling.
    """

    kind: str
    changes: dict[str, Any] = field(default_factory=dict[str, Any])
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    prompts: tuple[int, ...] = ()
    follow: int = 11
    scale: float = 1.0
    choices: tuple[dict[str, Any], ...] = ()


SHORT = {"max_length": 48, "chunk": 4}
MANY_HEADS = {"num_attention_heads": 8, "num_key_value_heads": 1, "vocab_size": 127}
ODD = {
    "num_attention_heads": 5, "num_key_value_heads": 5, "hidden_size": 30, "vocab_size": 41,
    "num_hidden_layers": 1, "intermediate_size": 7, "rope_scaling": None,
}  # fmt: skip
LONG = {"max_position_embeddings": 512}
WIDE = {
    "hidden_size": 256, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64,
    "intermediate_size": 512, "vocab_size": 509,
}  # fmt: skip
CHOICES = (
    {"temperature": 1.3, "top_k": 20, "top_p": 0.95, "seed": 7},
    {"temperature": 0.7, "top_k": 0, "top_p": 0.9, "seed": 2**40 + 1},
    {"temperature": 2.0, "top_k": 5, "top_p": 1.0, "seed": 8},
    {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "seed": 0},
)

DECODERS = {
    "llama": Decoder("llama", options=SHORT, prompts=(1, 3, 4, 5, 11, 30)),
    "llama, untied, one key head": Decoder(
        "llama",
        {**MANY_HEADS, "tie_word_embeddings": False},
        {"max_length": 48, "chunk": 7},
        prompts=(2, 7, 8, 40),
    ),
    "llama, odd": Decoder("llama", ODD, {"max_length": 48, "chunk": 7}, prompts=(6, 40)),
    "llama, long cache": Decoder(
        "llama", LONG, {"max_length": 512, "chunk": 16}, prompts=(5, 400), follow=130
    ),
    "llama, drawn": Decoder(
        "llama", options={**SHORT, "sampling": True}, prompts=(4, 13), choices=CHOICES
    ),
    "qwen3": Decoder("qwen3", options=SHORT, prompts=(1, 4, 11, 30)),
    "qwen3, tied": Decoder(
        "qwen3", {"tie_word_embeddings": True}, {"max_length": 40, "chunk": 5}, prompts=(5, 12)
    ),
    "qwen3, drawn": Decoder(
        "qwen3", options={**SHORT, "sampling": True}, prompts=(9,), choices=CHOICES
    ),
    "mixtral": Decoder("mixtral", options=SHORT, prompts=(1, 4, 11, 30)),
    "qwen3_moe": Decoder("qwen3_moe", options=SHORT, prompts=(1, 5, 11)),
    "wide mixtral in bf16": Decoder(
        "mixtral", WIDE, {"max_length": 64, "chunk": 16, "dtype": "bf16"}, follow=37, scale=0.1
    ),
    "llama in bf16": Decoder("llama", options={**SHORT, "dtype": "bf16"}, scale=0.3),
    "qwen3 in fp16": Decoder("qwen3", options={**SHORT, "dtype": "fp16"}, scale=0.3),
    "wide llama in bf16": Decoder(
        "llama", WIDE, {"max_length": 64, "chunk": 16, "dtype": "bf16"}, follow=37, scale=0.1
    ),
    "wide qwen3 in bf16": Decoder(
        "qwen3", WIDE, {"max_length": 64, "chunk": 32, "dtype": "bf16"}, follow=37, scale=0.1
    ),
}


def export_models(root: Path, target: str, report: Callable[[str], None]) -> int:
    """Exports all models, each in its own folder; returns their number."""
    for name, case in DECODERS.items():
        report(name)
        export_decoder(root / name, case, target)
    for name, (options, changes) in ENCODERS.items():
        report(name)
        export_encoder(root / name, options, changes, target)
    return len(DECODERS) + len(ENCODERS)


def load(kind: str, changes: Mapping[str, Any], options: Mapping[str, Any], scale: float) -> Any:
    """Loads a model whose arrays do not depend on the folder that it came from."""
    arrays = {
        name: array if "norm" in name.lower() else array * np.float32(scale)
        for name, array in tiny_models.weights(kind, dict(changes)).items()
    }
    with tempfile.TemporaryDirectory() as folder:
        tiny_models.write_model(Path(folder), kind, arrays, dict(changes))
        model = ark.models.load(folder, **options)
        model.parameters = {name: np.array(array) for name, array in model.parameters.items()}
    return model


def as_bytes(array: Any) -> Any:
    """Views bf16 as bytes, since numpy's file format lacks bf16."""
    return np.frombuffer(np.asarray(array).tobytes(), np.uint8)


def save_programs(model: Any, folder: Path, target: str) -> Arrays:
    """Saves the bundles; returns the arrays of their parameters."""
    folder.mkdir(parents=True)
    for name, program in model.programs.items():
        with ark.compile(program, target=target) as executable:
            executable.save(folder / f"{name}.arkbin")
    return {f"parameter.{name}": as_bytes(array) for name, array in model.parameters.items()}


# -- decoders -------------------------------------------------------------------------------------


def export_decoder(folder: Path, case: Decoder, target: str) -> None:
    model = load(case.kind, case.changes, case.options, case.scale)
    arrays = save_programs(model, folder, target)
    generations = [
        continuation(model, prompt_of(model, length), choice)
        for length in case.prompts
        for choice in case.choices or ({},)
    ]
    generations += [
        ended(generation) for generation in generations if len(set(generation["tokens"])) > 1
    ]
    steps = Steps(model)
    choice = model._choice(**case.choices[0]) if case.choices else {}
    steps.follow(prompt_of(model, case.follow), 4, choice)
    contents = {"generations": generations, "steps": steps.names}
    (folder / "cases.json").write_text(json.dumps(contents), encoding="utf-8")
    np.savez_compressed(folder / "arrays.npz", **arrays, **steps.arrays)


def prompt_of(model: Any, length: int) -> list[int]:
    return [(7 * i + 3) % model.vocabulary for i in range(length)]


def continuation(model: Any, prompt: list[int], choice: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a prompt and its continuation by the interpreter."""
    count = min(24, model.max_length - len(prompt))
    tokens = model.generate(prompt, count, stop=(), reference=True, **choice)
    return {"prompt": prompt, "count": count, "ends": [], "choice": choice, "tokens": tokens}


def ended(generation: dict[str, Any]) -> dict[str, Any]:
    """Cuts the continuation at the token whose first occurrence is latest, which becomes the end
    token."""
    tokens = generation["tokens"]
    last = max(tokens.index(token) for token in set(tokens))
    # More end tokens, which never occur.
    others = sorted({0, 1, 2, 3} - set(tokens))
    return {**generation, "ends": [*others, tokens[last]], "tokens": tokens[: last + 1]}


class Steps:
    """Every run of a prompt and of tokens after it, with bounds of the logits that hold in
    practice (``ark.reference.error_spread``).

    Attributes:
        names: the names of the programs that ran, in order.
        arrays: for every run, by its number: inputs, states before it, logits and their bounds.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.names: list[str] = []
        self.arrays: Arrays = {}
        self._states: Arrays = {}

    def follow(self, prompt: list[int], tokens: int, choice: Arrays) -> None:
        inputs: Arrays = {"ends": np.full(ENDS, -1, np.int32), **choice}
        self.model._prefill(np.array(prompt, np.int32), inputs, self.run)
        for _ in range(tokens):
            self.run("decode", inputs)

    def run(self, name: str, inputs: Mapping[str, Any]) -> None:
        program, number = self.model.programs[name], len(self.names)
        arrays = {**self.model.parameters_of(name), **inputs}
        states = {
            n: self._states.get(n, np.zeros(t.shape, t.dtype.numpy))
            for n, t in program.states.items()
        }
        wanted = ark.reference.error_spread(program, arrays, states)
        logits, bound = wanted.outputs["logits"], wanted.bounds["logits"]
        # An infinite bound would test nothing.
        assert bound.max() < 0.5 * np.abs(logits).max(), (name, number, bound.max())
        for kind, some in (("input", inputs), ("state", states)):
            for n, array in some.items():
                self.arrays[f"{number}.{kind}.{n}"] = as_bytes(array)
        (
            self.arrays[f"{number}.output.logits"],
            self.arrays[f"{number}.bound.logits"],
        ) = compact(logits, bound)
        self.names.append(name)
        # The next run begins with the states as their dtype stores them.
        self._states = {
            n: array.astype(program.states[n].dtype.numpy) for n, array in wanted.states.items()
        }


# -- encoders -------------------------------------------------------------------------------------

BATCH = {"batch": 3, "length": 12}
LARGE = {
    "hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 256, "vocab_size": 211,
    "max_position_embeddings": 64,
}  # fmt: skip
ENCODERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bert": (BATCH, {}),
    "bert, first token": ({**BATCH, "pooling": "cls", "normalize": False}, {}),
    "bert, pooler": ({**BATCH, "pooling": "pooler", "normalize": False}, {}),
    "bert, all tokens": ({**BATCH, "pooling": "none", "normalize": False}, {}),
    "bert in fp16": ({"batch": 8, "length": 32, "dtype": "fp16"}, LARGE),
    "bert in bf16": ({"batch": 4, "length": 64, "dtype": "bf16"}, LARGE),
}


def export_encoder(
    folder: Path, options: Mapping[str, Any], changes: Mapping[str, Any], target: str
) -> None:
    model = load("bert", changes, options, 0.2 if changes else 1.0)
    arrays = save_programs(model, folder, target)
    program = model.programs["embed"]
    inputs = padded(*program.inputs["ids"].shape, model.vocabulary)
    wanted = ark.reference.error_spread(program, {**model.parameters_of("embed"), **inputs})
    value, bound = wanted.outputs["embedding"], wanted.bounds["embedding"]
    if value.ndim == 3:  # values at padding are undefined
        bound = np.where(inputs["mask"][..., None], bound, np.inf)
    assert bound[np.isfinite(bound)].max() < 0.1 * np.abs(value).max()
    arrays |= {f"input.{name}": as_bytes(array) for name, array in inputs.items()}
    arrays["output.embedding"], arrays["bound.embedding"] = compact(value, bound)
    np.savez_compressed(folder / "arrays.npz", **arrays)


def padded(batch: int, length: int, vocabulary: int) -> Arrays:
    """Returns prompts of unequal lengths from one token to the maximum, one of two sentences, and
    one with a hole in its mask."""
    ids, types = np.full((batch, length), vocabulary - 1, np.int32), np.zeros((batch, length), int)
    mask = np.zeros((batch, length), np.bool_)
    for row in range(batch):
        used = 1 + row * (length - 1) // (batch - 1)
        ids[row, :used] = [(5 * i + 7 * row + 1) % vocabulary for i in range(used)]
        types[row, used // 2 : used] = 1
        mask[row, :used] = True
    mask[-1, length // 3] = False
    return {"ids": ids, "mask": mask, "types": types.astype(np.int32)}
