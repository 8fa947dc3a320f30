"""Optimizers, learning-rate schedules and gradient utilities, as ops of a program.

The kernel executes these ops: weights, moments, counters and loss scales are states, so that
thousands of training steps need no host between them.

>>> with ark.Program("step") as program:
...     given, w = ark.input("given", (4, 64)), ark.state("w", (64,), init=1.0)
...     loss = ark.output("loss", ark.reduce_mean((given * w) ** 2.0, keepdims=False))
...     slopes, norm = ark.optim.clip_by_global_norm(ark.gradients(loss, [w]), 1.0)
...     ark.optim.AdamW([w], lr=1e-3).step(slopes)
>>> sorted(program.states)[:3]
['adamw.correction1', 'adamw.correction2', 'adamw.mean.w']
"""

from .accumulation import accumulate
from .adamw import AdamW
from .buckets import sum_over_ranks
from .clipping import clip_by_global_norm
from .optimizer import LearningRate, Optimizer
from .scaling import LossScaler
from .schedules import warmup_cosine, warmup_linear
from .sgd import SGD

__all__ = [
    "SGD", "AdamW", "LearningRate", "LossScaler", "Optimizer", "accumulate", "clip_by_global_norm",
    "sum_over_ranks", "warmup_cosine", "warmup_linear",
]  # fmt: skip
