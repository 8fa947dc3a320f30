"""``ark train``: trains a decoder from a configuration, and writes it to a model folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import frontend as ark
from .. import optim
from ..dtypes import bf16, fp16, int32
from ..errors import InvalidUsageError
from ..frontend import Argument, Program, Tensor
from ..paths import as_path, replacing
from ..runtime.arrays.safetensors import read_safetensors, write_safetensors
from .config import TrainingConfig
from .corpus import TokenBatches, read_bytes
from .decoder import TrainableDecoder, initial_weights
from .loop import Loop
from .trainer import Trainer

__all__ = ["Recipe", "build_step", "train"]

# The states are in a subfolder, since a loader of models reads all *.safetensors of a folder.
_STATES = "training/states.safetensors"
_LAUNCH = 100


@dataclass(frozen=True)
class Recipe:
    """A training program and its parts.

    Attributes:
        program: the program of one step.
        loop: its loop.
        weights: the names of the model's weights, which are states.

    Example:
        >>> [field for field in ark.training.Recipe.__dataclass_fields__]
        ['program', 'loop', 'weights']
    """

    program: Program
    loop: Loop
    weights: dict[str, Argument]


def build_step(config: TrainingConfig, corpus: int) -> Recipe:
    """Builds the program of one training step of a decoder.

    Args:
        config: the configuration.
        corpus: the number of tokens of the parameter ``corpus``, from which a step takes sequences
            at the input ``starts`` int32 ``[batch]``.

    The tokens are in [0, 256); the loss is the mean cross-entropy of the next token.

    Raises InvalidUsageError if an op rejects the sizes of the configuration.

    Example:
        >>> entries = {"vocab_size": 256, "hidden_size": 32, "num_hidden_layers": 1,
        ...            "num_attention_heads": 2, "intermediate_size": 64,
        ...            "max_position_embeddings": 64}
        >>> config = ark.training.TrainingConfig.parse(
        ...     {"model": entries, "data": {"text": ["a.txt"]}, "train": {"length": 8, "batch": 2}})
        >>> sorted(ark.training.build_step(config, 1000).program.inputs)
        ['starts']
    """
    with ark.Program("train") as program:
        tokens = ark.parameter("corpus", (corpus,), int32)
        loop = Loop(steps=_LAUNCH)
        starts = loop.input("starts", (config.batch,), int32)
        positions = ark.reshape(starts, (config.batch, 1)) + ark.arange(config.length + 1)
        rows = ark.gather(tokens, positions, 0)
        model = TrainableDecoder(
            config.model, config.dtype, dropout=config.dropout, checkpoint=config.checkpoint
        )
        states = ark.trainable(model, masters=True)
        logits = model(rows[:, :-1], loop.step)
        loss = ark.cross_entropy(logits, rows[:, 1:])
        _update(config, loop, states, loss)
        weights = dict(model.named_parameters())
    return Recipe(program, loop, weights)


def _update(config: TrainingConfig, loop: Loop, states: list[Tensor], loss: Tensor) -> None:
    scaler = optim.LossScaler() if config.dtype == fp16 else None
    slopes = ark.gradients(loss if scaler is None else scaler.scale(loss), states)
    skip = loop.end(loss)
    if scaler is not None:
        slopes, overflow = scaler.unscale(slopes)
        skip = ark.logical_or(skip, overflow)
        # An infinity or NaN would stay in the sums of `accumulate`.
        slopes = [ark.where(overflow, 0, slope) for slope in slopes]
    if config.accumulate > 1:
        slopes, incomplete = optim.accumulate(slopes, config.accumulate)
        skip = ark.logical_or(skip, incomplete)
    if config.clip:
        slopes, _ = optim.clip_by_global_norm(slopes, config.clip)
    updates = max(1, config.steps // config.accumulate)
    warmup = min(config.warmup // config.accumulate, updates - 1)

    def rate(step: Tensor) -> Tensor:
        return optim.warmup_cosine(
            step, config.learning_rate, warmup, updates, config.final_learning_rate
        )

    betas = (config.beta1, config.beta2)
    # Weights of norms, and biases, have one dimension; they get no weight decay.
    for name, decay in (("adamw", config.weight_decay), ("adamw_plain", 0.0)):
        chosen = [
            (state, slope)
            for state, slope in zip(states, slopes, strict=True)
            if (state.ndim > 1) == (name == "adamw")
        ]
        if chosen:
            weights, parts = zip(*chosen, strict=True)
            optimizer = optim.AdamW(list(weights), rate, betas=betas, weight_decay=decay, name=name)
            optimizer.step(list(parts), skip=skip)


def train(
    config: TrainingConfig,
    folder: str | os.PathLike[str],
    *,
    resume: bool = False,
    plot: str | os.PathLike[str] | None = None,
) -> NDArray[np.float32]:
    """Trains a decoder and writes it to a folder that ``ark generate`` and ``ark.models`` read.

    Returns the losses of the steps of this call. The folder gets ``config.json``,
    ``model.safetensors`` and ``training/states.safetensors``, the states of the training.

    Args:
        config: the configuration.
        folder: the folder, which is created if it does not exist.
        resume: True continues from the states in the folder.
        plot: the page of the loss curve to write, or None.

    On Ctrl-C, the files are written before KeyboardInterrupt is raised. Raises InvalidUsageError if
    the folder has states and `resume` is False, or if `resume` is True and the folder has no states
    of this model; DeviceError if a loss is NaN or infinite; OSError if a file cannot be written.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("a.txt").write_text("to be or not to be " * 9)
        >>> entries = {"vocab_size": 256, "hidden_size": 16, "num_hidden_layers": 1,
        ...            "num_attention_heads": 2, "intermediate_size": 32,
        ...            "max_position_embeddings": 64}
        >>> config = ark.training.TrainingConfig.parse({
        ...     "model": entries, "data": {"text": ["a.txt"]},
        ...     "train": {"steps": 2, "length": 8, "batch": 2, "target": "cpu:2"}})
        >>> len(ark.training.train(config, "trained"))
        2
    """
    root = as_path(folder, "the folder of the model")
    states = root / _STATES
    if states.exists() and not resume:
        raise InvalidUsageError(
            f"has the states of a training, {_STATES}; pass resume=True (--resume), or another "
            "folder",
            location=str(root),
        )
    if resume and not states.exists():
        raise InvalidUsageError(f"has no {_STATES} to resume from", location=str(root))
    tokens = read_bytes(config.text)
    batches = TokenBatches(len(tokens), config.batch, config.length, config.seed)
    done = _steps_done(states) if resume else 0
    if done >= config.steps:
        raise InvalidUsageError(
            f"all {config.steps} steps are done; pass a larger number of steps to continue",
            location=str(root),
        )
    recipe = build_step(config, len(tokens))
    states.parent.mkdir(parents=True, exist_ok=True)
    first = initial_weights(recipe.weights, config.model.layers, config.seed)
    trainer = Trainer(
        recipe.program,
        recipe.loop,
        batches,
        target=config.target,
        bind={**first, "corpus": tokens},
        save=states,
        save_every=config.save_every,
        tokens=config.batch * config.length,
    )
    with trainer:
        if resume:
            trainer.load(states)
        try:
            return trainer.run(config.steps - done)
        finally:
            _write_model(config, recipe, trainer, root)
            if plot is not None and trainer.losses:
                trainer.plot(plot)


def _steps_done(states: Path) -> int:
    """Returns the number of steps in a file of states; raises InvalidUsageError without it."""
    count = read_safetensors(states).get("loop.step")
    if count is None or count.shape != () or count.dtype != np.int32:
        raise InvalidUsageError("is not a file of training states", location=str(states))
    return int(count)


def _write_model(config: TrainingConfig, recipe: Recipe, trainer: Trainer, root: Path) -> None:
    arrays = trainer.state_arrays()
    write_safetensors(
        root / "model.safetensors", {name: arrays[name] for name in recipe.weights}, durable=True
    )
    entries = {**config.entries, "torch_dtype": "bfloat16" if config.dtype == bf16 else "float32"}
    with replacing(root / "config.json") as file:
        file.write((json.dumps(entries, indent=2) + "\n").encode())
