"""Weights whose decoder generates known tokens, by a margin that rounding does not reach.

Logits of random weights are close, so that rounding decides between tokens, and two correct
programs generate different tokens. `decide` changes rows of the vocabulary head, and nothing else:
the decoder stays one of random weights, in which every product, every sum and the whole cache
contribute to the hidden states.

The construction runs the decoder in fp32 along a sequence of tokens that are drawn without
repetition. After each step it changes rows of the head, in units of the standard deviation of a
logit:

- The row of the next token gets the direction of the hidden state. Its logit is `BEST`. Hidden
  states of other steps have other directions, and smaller products with this row.
- Rows of a few *rivals* get this direction and a random one, which is orthogonal to it. Their
  logits are smaller than `BEST` by the margin. An error of the hidden state changes the logit of a
  rival by the relative error, times a normal random number.

The margin is ten times the relative error of PyTorch in bf16, or `LEAST_MARGIN` if this is more, so
that rounding changes no token. A wrong sum in one layer changes the hidden states of all steps by
much more than rounding, and in some step a rival wins. From then on, a program reads other tokens,
and makes other ones.

The head must not be tied to the table of embeddings: the next embedding would be a function of the
hidden state, and the hidden states of all steps would converge. `decode_settings.untied` gives a
setting a head of its own, which a step reads instead of the table, so that it reads as many bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from decode_settings import Setting
from torch import Tensor
from torch_decoder import TorchDecoder

# The logit of the right token, in standard deviations of a logit. The largest of all random logits
# is about five.
BEST = 16.0
# The margin in relative errors, and its lower bound in standard deviations: heads round logits to
# bf16, by up to 1/16 near BEST.
MARGIN_IN_ERRORS, LEAST_MARGIN = 10.0, 0.25
# Number of rivals of a token, at most.
MOST_RIVALS = 8


@dataclass(frozen=True)
class Decided:
    """The tokens that a decoder generates from each start.

    Attributes:
        tokens: int32 ``[starts, batch, steps]``.
        margin: the smallest difference of the two largest logits of a step in fp32, in standard
            deviations of a logit.
        rivals: the number of rivals of each token.
    """

    tokens: Any
    margin: float
    rivals: int


def decide(
    setting: Setting,
    weights: dict[str, Tensor],
    caches: Mapping[str, Tensor],
    rope: tuple[Tensor, Tensor],
    starts: Sequence[Any],
    first: int,
    error: float,
    seed: int = 2000,
) -> Decided:
    """Changes rows of the head in `weights`, so that each of `starts` decides the tokens after it.

    Args:
        weights: bf16, by name; the rows are changed in place.
        caches: keys and values of earlier tokens.
        rope: cosines and sines ``[context, head / 2]``.
        starts: the tokens at position `first`, int ``[batch]`` each.
        first: the position of the first step; steps go up to the end of the context.
        error: the relative error of logits in bf16.

    Raises ValueError if the head is tied or the vocabulary has too few tokens, and RuntimeError if
    a step of the changed decoder, in fp32, has another token, or a margin below half of the aim.
    """
    if setting.sizes.tied:
        raise ValueError("a head that is tied to the embeddings decides no sequence of tokens")
    aim = max(MARGIN_IN_ERRORS * error, LEAST_MARGIN)
    drawn = _draw(setting, starts, setting.context - first, seed)
    head = weights["lm_head.weight"]
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        model = TorchDecoder(setting, weights, caches, rope, torch.float32)
        deviation = float(head.float().norm(dim=-1).mean()) * setting.sizes.hidden**-0.5
        for start, tokens in zip(starts, drawn, strict=True):
            _restart(model, caches, start, first)
            for following in torch.from_numpy(tokens).to(head.device).unbind(1):
                direction = F.normalize(model.hidden(), dim=-1)
                rows = deviation * _rows(direction, following.shape[1], aim, generator)
                head[following] = rows.to(head.dtype)
                model.head[following] = head[following].float()
                model.advance(following[:, 0])
        right = drawn[..., 0].astype(np.int32)
        margin = min(
            _margin(model, caches, start, first, tokens)
            for start, tokens in zip(starts, right, strict=True)
        )
    if margin < aim / 2:
        raise RuntimeError(f"the margin of the tokens is {margin:.3f}, below half of {aim:.3f}")
    return Decided(right, margin, drawn.shape[-1] - 1)


def _draw(setting: Setting, starts: Sequence[Any], steps: int, seed: int) -> Any:
    """Draws tokens other than the starts, each of them once: ``[starts, batch, steps, count]``.

    The first of `count` tokens is the right one of its step; the others are rivals.
    """
    others = np.setdiff1d(np.arange(setting.sizes.vocabulary), np.concatenate(list(starts)))
    made = len(starts) * setting.batch * steps
    count = min(others.size // made, 1 + MOST_RIVALS)
    if count < 2:
        raise ValueError(
            f"{made} tokens and their rivals are more than the vocabulary's {others.size} others"
        )
    tokens = np.random.default_rng(seed).permutation(others)[: made * count]
    return tokens.reshape(len(starts), setting.batch, steps, count)


def _rows(direction: Tensor, count: int, margin: float, generator: torch.Generator) -> Tensor:
    """Returns the rows of a right token and of its rivals, ``[batch, count, hidden]``.

    The product of a row with a hidden state of length one, times the square root of its number of
    elements, is the logit.
    """
    batch, hidden = direction.shape
    noise = torch.randn((batch, count, hidden), generator=generator).to(direction.device)
    along = direction[:, None]
    noise -= (noise * along).sum(-1, keepdim=True) * along
    noise = F.normalize(noise, dim=-1) * hidden**0.5
    noise[:, 0] = 0
    best = torch.full((count, 1), BEST - margin, device=direction.device)
    best[0] = BEST
    return best * along + noise


def _restart(model: TorchDecoder, caches: Mapping[str, Tensor], start: Any, position: int) -> None:
    model.restore(caches)
    model.put(torch.from_numpy(np.asarray(start)), position)


def _margin(
    model: TorchDecoder, caches: Mapping[str, Tensor], start: Any, first: int, tokens: Any
) -> float:
    """Returns the smallest margin of the steps, whose tokens must be the right ones."""
    _restart(model, caches, start, first)
    margins: list[float] = []
    for step, right in enumerate(tokens.T):
        logits = model()
        if not np.array_equal(logits.argmax(-1).cpu().numpy(), right):
            raise RuntimeError(f"step {step} of the decoder in fp32 has another token")
        largest = logits.topk(2, dim=-1).values
        difference = (largest[:, 0] - largest[:, 1]) / largest[:, 0]
        margins.append(BEST * float(difference.min()))
    return min(margins)
