"""Greedy decoding and sampling of the next token.

Sampling uses the Gumbel-max trick: it adds Gumbel noise to each logit and takes the argmax, which
selects each token with its probability. The noise of row ``b`` and token ``v``, for the token after
position ``t``, is ``-log(-log(u))``. There ``u = (n + 0.5) / 2^23``, and ``n`` is the upper 23 bits
of ``philox(b * vocabulary + v, counter=t, seed)``; see :func:`ark_mlir.philox`. A token therefore
depends on the seed, its position and the logits alone, and not on the chunks of the prompt. In a
batch with padding, ``b`` is 0 and ``t`` the position in the row's own sequence: a row has the
tokens that it has alone.
"""

from __future__ import annotations

import math

from .. import frontend as ark
from ..dtypes import fp32, int32, int64
from ..frontend import Tensor

__all__ = ["draw"]

# Below this temperature, sampling selects the most probable token.
_MIN_TEMPERATURE = 1e-6
_BITS = 23
_EXCLUDED = -3e38


def draw(logits: Tensor, position: Tensor, padding: Tensor | None = None) -> Tensor:
    """Samples a token for each row of `logits`, fp32 ``[batch, vocabulary]``: int32 ``[batch]``.

    The tokens follow `position` ``[]``; row b is ``padding[b]`` positions behind it.

    Adds the inputs ``temperature`` and ``top_p`` (fp32) and the scalars ``top_k`` and ``seed`` to
    the program. Temperature zero selects the most probable token.
    """
    temperature = ark.input("temperature", (), fp32)
    top_p = ark.input("top_p", (), fp32)
    top_k = ark.scalar("top_k", int32)
    scaled = ark.div(logits, ark.maximum(temperature, _MIN_TEMPERATURE), name="scaled")
    probabilities = ark.softmax(scaled, name="probabilities")
    least = ark.top_threshold(probabilities, top_k, top_p, name="least")
    drawn = ark.add(scaled, _noise(logits.shape, position, padding), name="drawn")
    drawn = ark.where(probabilities >= least, drawn, ark.full((), _EXCLUDED, fp32), name="drawn")
    scores = ark.where(temperature > 0.0, drawn, logits, name="scores")
    return ark.argmax(scores, -1, name="token")


def _noise(shape: tuple[int, ...], position: Tensor, padding: Tensor | None) -> Tensor:
    seed = ark.scalar("seed", int64)
    if padding is None:
        index = ark.reshape(ark.arange(math.prod(shape), dtype=int64), shape)
    else:
        index = ark.arange(shape[-1], dtype=int64)
        position = ark.sub(position, ark.reshape(padding, (shape[0], 1)), name="own_positions")
    bits = ark.philox(index, ark.cast(position, int64), seed, name="bits")
    whole = ark.cast(ark.div(bits, 1 << 32 - _BITS), fp32, name="uniform")
    uniform = ark.mul(ark.add(whole, 0.5), 2.0**-_BITS, name="uniform")
    return ark.neg(ark.log(ark.neg(ark.log(uniform))), name="noise")
