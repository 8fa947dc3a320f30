"""Training: a loop of many steps in one launch, with data, progress, saving and resuming.

>>> with ark.Program("fit") as program:
...     loop = ark.training.Loop(steps=50)
...     given = loop.input("given", (8, 4))
...     w = ark.state("w", (4,))
...     loss = ark.reduce_mean((ark.matmul(given, w) - 1.0) ** 2.0, keepdims=False)
...     slopes = ark.gradients(loss, [w])
...     ark.optim.SGD([w], lr=0.1).step(slopes, skip=loop.end(loss))
>>> batch = lambda step: {"given": np.random.default_rng(step).random((8, 4), np.float32)}
>>> with ark.training.Trainer(program, loop, batch, target="cpu:2") as trainer:
...     losses = trainer.run(100)
>>> bool(losses[-1] < losses[0])
True
"""

# Without PyTorch, parts of the type of from_torch are unknown.
# pyright: reportUnknownVariableType=false

from .config import TrainingConfig, read_config
from .corpus import TokenBatches, read_bytes
from .curve import write_curve
from .decoder import TrainableDecoder, initial_weights
from .encoder import TrainableEncoder
from .loop import Loop
from .pipeline import Pipeline
from .queue import Queue
from .recipe import Recipe, build_step, train
from .torch_optimizers import MakeOptimizer
from .torch_trainer import TorchBatch, TorchTrainer, from_torch
from .trainer import Batch, Trainer

__all__ = [
    "Batch", "Loop", "MakeOptimizer", "Pipeline", "Queue", "Recipe", "TokenBatches", "TorchBatch",
    "TorchTrainer", "TrainableDecoder", "TrainableEncoder", "Trainer", "TrainingConfig",
    "build_step", "from_torch", "initial_weights", "read_bytes", "read_config", "train",
    "write_curve",
]  # fmt: skip
