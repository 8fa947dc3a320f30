"""``ark train``: trains a model from a configuration, and writes it to a model folder."""

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
from ..frontend import Argument, Module, Program, Tensor
from ..models.decoder_config import DecoderConfig
from ..models.encoder import EncoderConfig
from ..models.expert_weights import unstack_experts
from ..paths import as_path, replacing
from ..runtime.arrays.safetensors import read_safetensors, write_safetensors
from ..text import Tokenizer
from .config import TrainingConfig
from .corpus import TokenBatches, read_bytes, read_tokens
from .decoder import TrainableDecoder, initial_weights
from .encoder import TrainableEncoder, pair_loss
from .folder import copy_text_files, folder_weights
from .loop import Loop
from .pairs import PairBatches, read_pairs, tokenize_pairs
from .trainer import Batch, Trainer

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
        weights: the model's weights, which are states.
        constants: parameters of the model that are not trained; their values are zeros, or those
            of the model folder.

    Example:
        >>> [field for field in ark.training.Recipe.__dataclass_fields__]
        ['program', 'loop', 'weights', 'constants']
    """

    program: Program
    loop: Loop
    weights: dict[str, Argument]
    constants: dict[str, Argument]


def build_step(config: TrainingConfig, corpus: int) -> Recipe:
    """Builds the program of one training step.

    Args:
        config: the configuration.
        corpus: for a decoder, the number of tokens of the parameter ``corpus``, from which a step
            takes sequences at the input ``starts`` int32 ``[batch]``. For an encoder, the number of
            pairs of the parameters ``ids`` int32 ``[2 * corpus, length]`` and ``lengths`` int32
            ``[2 * corpus]``, from which a step takes those of the input ``pairs`` int32
            ``[batch]``; the second sentences follow all first ones.

    The loss of a decoder is the mean cross-entropy of the next token; for a decoder with experts,
    the auxiliary loss of the routers is added to it, times ``config.router_loss``. The loss of an
    encoder is the mean cross-entropy of the choice of each first sentence among all second
    sentences of the batch, by 20 times the cosine of their vectors.

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
        loop = Loop(steps=_LAUNCH)
        if isinstance(config.model, EncoderConfig):
            model, states, loss = _encoder_loss(config, config.model, loop, corpus)
            constants: dict[str, Argument] = {}
        else:
            model, states, loss = _decoder_loss(config, config.model, loop, corpus)
            constants = model.constants
        _update(config, loop, states, loss)
        weights = dict(model.named_parameters())
    return Recipe(program, loop, weights, constants)


def _decoder_loss(
    config: TrainingConfig, sizes: DecoderConfig, loop: Loop, corpus: int
) -> tuple[TrainableDecoder, list[Tensor], Tensor]:
    """Returns the decoder, its weights as states, and the loss of one step."""
    tokens = ark.parameter("corpus", (corpus,), int32)
    starts = loop.input("starts", (config.batch,), int32)
    positions = ark.reshape(starts, (config.batch, 1)) + ark.arange(config.length + 1)
    rows = ark.gather(tokens, positions, 0)
    model = TrainableDecoder(
        sizes, config.dtype, dropout=config.dropout, checkpoint=config.checkpoint
    )
    states = ark.trainable(model, masters=True)
    logits = model(rows[:, :-1], loop.step)
    loss = ark.cross_entropy(logits, rows[:, 1:])
    if model.router_loss is not None and config.router_loss:
        loss = loss + config.router_loss * model.router_loss
    return model, states, loss


def _encoder_loss(
    config: TrainingConfig, sizes: EncoderConfig, loop: Loop, corpus: int
) -> tuple[Module, list[Tensor], Tensor]:
    """Returns the encoder, its weights as states, and the loss of one step."""
    tokens = ark.parameter("ids", (2 * corpus, config.length), int32)
    lengths = ark.parameter("lengths", (2 * corpus,), int32)
    chosen = loop.input("pairs", (config.batch,), int32)
    rows = ark.concat([chosen, chosen + corpus], 0)
    counts = ark.reshape(ark.gather(lengths, rows, 0), (2 * config.batch, 1))
    mask = ark.less(ark.arange(config.length), counts)
    model = TrainableEncoder(
        sizes, config.dtype, config.pooling, dropout=config.dropout, checkpoint=config.checkpoint
    )
    states = ark.trainable(model, masters=True)
    vectors = model(ark.gather(tokens, rows, 0), mask, None, loop.step)
    return model, states, pair_loss(vectors)


def _update(config: TrainingConfig, loop: Loop, states: list[Tensor], loss: Tensor) -> None:
    scaler = optim.LossScaler() if config.dtype == fp16 else None
    slopes = ark.gradients(loss if scaler is None else scaler.scale(loss), states)
    waits: list[Tensor] = []
    if scaler is not None:
        slopes, overflow = scaler.unscale(slopes)
        waits.append(overflow)
        # An infinity or NaN would stay in the sums of `accumulate`.
        slopes = [ark.where(overflow, 0, slope) for slope in slopes]
    if config.accumulate > 1:
        slopes, incomplete = optim.accumulate(slopes, config.accumulate)
        waits.append(incomplete)
    clipped, norm = optim.clip_by_global_norm(slopes, config.clip or 1.0)
    if config.clip:
        slopes = clipped
    skip = loop.end(loss, norm)
    for each in waits:
        skip = ark.logical_or(skip, each)
    updates = max(1, config.steps // config.accumulate)
    warmup = min(config.warmup // config.accumulate, updates - 1)

    def rate(step: Tensor) -> Tensor:
        return optim.warmup_cosine(
            step, config.learning_rate, warmup, updates, config.final_learning_rate
        )

    betas = (config.beta1, config.beta2)
    # Weights of norms, and biases, get no weight decay. Biases of experts have two dimensions.
    for name, decay in (("adamw", config.weight_decay), ("adamw_plain", 0.0)):
        chosen = [
            (state, slope)
            for state, slope in zip(states, slopes, strict=True)
            if (state.ndim > 1 and not state.name.endswith("bias")) == (name == "adamw")
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
    explain: bool = False,
    plot: str | os.PathLike[str] | None = None,
) -> NDArray[np.float32]:
    """Trains a model and writes it to a folder that ``ark.models`` reads.

    Returns the losses of the steps of this call. The folder gets ``config.json``,
    ``model.safetensors`` and ``training/states.safetensors``, the states of the training.

    Args:
        config: the configuration.
        folder: the folder, which is created if it does not exist.
        resume: True continues from the states in the folder.
        explain: True names the op that made the first value that is not finite if a loss is NaN or
            infinite.
        plot: the page of the loss curve to write, or None.

    On Ctrl-C, the files are written before KeyboardInterrupt is raised. After an error, the files
    stay those of the last save. Raises InvalidUsageError if
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
    data = _read_data(config)
    done = _steps_done(states) if resume else 0
    if done >= config.steps:
        raise InvalidUsageError(
            f"all {config.steps} steps are done; pass a larger number of steps to continue",
            location=str(root),
        )
    recipe = build_step(config, data.count)
    first = _first_weights(config, recipe)
    states.parent.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(
        recipe.program,
        recipe.loop,
        data.batches,
        target=config.target,
        bind={**first, **data.arrays},
        save=states,
        save_every=config.save_every,
        tokens=data.tokens,
        explain=explain,
        memory=config.memory,
    )
    constants = {name: first[name] for name in recipe.constants}
    with trainer:
        if resume:
            trainer.load(states)
        try:
            losses = trainer.run(config.steps - done)
        except KeyboardInterrupt:
            if trainer.failed is None:
                _write_model(config, recipe, constants, trainer, root)
            raise
        finally:
            if plot is not None and trainer.losses:
                trainer.plot(plot)
        _write_model(config, recipe, constants, trainer, root)
        return losses


@dataclass(frozen=True)
class _Data:
    """The data of a training: the arrays to bind, the number of tokens or pairs in them, the
    batches, and the number of tokens of a step."""

    arrays: dict[str, NDArray[np.int32]]
    count: int
    batches: Batch
    tokens: int


def _read_data(config: TrainingConfig) -> _Data:
    length, batch, seed = config.length, config.batch, config.seed
    tokenizer = Tokenizer(str(config.folder)) if config.has_tokenizer else None
    if isinstance(config.model, DecoderConfig):
        tokens = read_bytes(config.text) if tokenizer is None else read_tokens(
            config.text, lambda text: tokenizer.encode(text, special=False)
        )  # fmt: skip
        _check_tokens(tokens, config)
        batches = TokenBatches(len(tokens), batch, length, seed)
        return _Data({"corpus": tokens}, len(tokens), batches, batch * length)
    pairs = read_pairs(config.pairs)

    def encode(text: str) -> list[int]:
        if tokenizer is None:
            return list(text.encode()[:length])
        return tokenizer.encode(text, length=length)

    ids, lengths = tokenize_pairs(pairs, encode, length)
    _check_tokens(ids, config)
    return _Data(
        {"ids": ids, "lengths": lengths},
        len(pairs),
        PairBatches(len(pairs), batch, seed),
        2 * batch * length,
    )


def _check_tokens(tokens: NDArray[np.int32], config: TrainingConfig) -> None:
    if (most := int(tokens.max())) >= config.model.vocabulary:
        raise InvalidUsageError(
            f"the tokenizer has token {most}, but the model has {config.model.vocabulary} tokens",
            location=str(config.folder),
        )


def _first_weights(config: TrainingConfig, recipe: Recipe) -> dict[str, NDArray[np.float32]]:
    """Returns the weights of the model folder, or random ones."""
    if config.folder is not None and config.source is not None:
        wanted = {**recipe.weights, **recipe.constants}
        return folder_weights(config.folder, config.source, config.model, wanted)
    plus_one = isinstance(config.model, DecoderConfig) and config.model.norm == "rms_plus_one"
    # Gemma adds one to the weights of norms.
    norm = 0.0 if plus_one else 1.0
    first = initial_weights(recipe.weights, config.model.layers, config.seed, norm=norm)
    zeros = {name: np.zeros(each.shape, np.float32) for name, each in recipe.constants.items()}
    return {**first, **zeros}


def _steps_done(states: Path) -> int:
    """Returns the number of steps in a file of states; raises InvalidUsageError without it."""
    count = read_safetensors(states).get("loop.step")
    if count is None or count.shape != () or count.dtype != np.int32:
        raise InvalidUsageError("is not a file of training states", location=str(states))
    return int(count)


def _write_model(
    config: TrainingConfig,
    recipe: Recipe,
    constants: dict[str, NDArray[np.float32]],
    trainer: Trainer,
    root: Path,
) -> None:
    arrays = trainer.state_arrays()
    tensors = {**{name: arrays[name] for name in recipe.weights}, **constants}
    if isinstance(config.model, DecoderConfig) and config.model.experts is not None:
        tensors = unstack_experts(config.model.experts, tensors)
    write_safetensors(root / "model.safetensors", tensors, durable=True)
    entries = {**config.entries, "torch_dtype": "bfloat16" if config.dtype == bf16 else "float32"}
    entries.pop("quantization_config", None)
    entries.pop("dtype", None)
    if config.folder is not None:
        copy_text_files(config.folder, root)
    with replacing(root / "config.json") as file:
        file.write((json.dumps(entries, indent=2) + "\n").encode())
