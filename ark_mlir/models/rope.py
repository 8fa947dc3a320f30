"""Tables of rotary positions, and the scalings that stretch them to longer contexts.

A scaling changes the frequencies with which pairs of elements rotate, and may multiply cosines and
sines by a factor. The formulas are those of transformers (``modeling_rope_utils.py``).
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .config import Config

__all__ = [
    "Frequencies", "LinearScaling", "LongScaling", "Rope", "RopeScaling", "Scaling", "YarnScaling",
    "read_rope",
]  # fmt: skip

Frequencies = NDArray[np.float64]


class Scaling(Protocol):
    """Changes the frequencies of rotary positions."""

    def scale(
        self, frequencies: Frequencies, theta: float, length: int
    ) -> tuple[Frequencies, float]:
        """Returns the new frequencies, and the factor of cosines and sines.

        Args:
            frequencies: radians per position, one for each pair of elements.
            theta: the base of the frequencies.
            length: maximum number of tokens of a sequence of the program.
        """
        ...


@dataclass(frozen=True)
class LinearScaling:
    """Divides all frequencies by `factor`."""

    factor: float

    def scale(
        self, frequencies: Frequencies, theta: float, length: int
    ) -> tuple[Frequencies, float]:
        """See :class:`Scaling`."""
        return frequencies / self.factor, 1.0


@dataclass(frozen=True)
class RopeScaling:
    """Llama 3's scaling: divides low frequencies, keeps high ones, and blends between both."""

    factor: float
    low: float
    high: float
    original: int

    def scale(
        self, frequencies: Frequencies, theta: float, length: int
    ) -> tuple[Frequencies, float]:
        """See :class:`Scaling`."""
        rotations = self.original * frequencies / (2 * math.pi)  # within the original context
        blend = np.clip((rotations - self.low) / (self.high - self.low), 0, 1)
        return frequencies * (blend + (1 - blend) / self.factor), 1.0


@dataclass(frozen=True)
class YarnScaling:
    """YaRN (Peng et al., 2023): Llama 3's scaling, with a blend linear in the index of the pair.

    Attributes:
        fast, slow: rotations within the original context at both ends of the blend.
        attention: the factor of cosines and sines.
        scores: a further factor of scores, which only latent attention has.
        whole: True rounds the ends of the blend to integer indices.
    """

    factor: float
    fast: float
    slow: float
    original: int
    attention: float
    whole: bool = True
    scores: float = 1.0

    def scale(
        self, frequencies: Frequencies, theta: float, length: int
    ) -> tuple[Frequencies, float]:
        """See :class:`Scaling`."""
        pairs = frequencies.size

        def pair(rotations: float) -> float:
            """Returns the index of the pair that makes `rotations` turns within the context."""
            turns = self.original / (rotations * 2 * math.pi)
            return pairs * math.log(turns) / math.log(theta)

        first, last = pair(self.fast), pair(self.slow)
        if self.whole:
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0), min(last, 2 * pairs - 1)
        width = last - first or 0.001
        divided = np.clip((np.arange(pairs) - first) / width, 0, 1)
        return frequencies * (1 - divided) + frequencies / self.factor * divided, self.attention


@dataclass(frozen=True)
class LongScaling:
    """LongRoPE (Ding et al., 2024): divides each frequency by another number.

    A program whose sequences may be longer than `original` uses the divisors `long` for all
    sequences. Other programs use the divisors `short`. transformers selects the divisors by the
    length of each sequence instead, so that its results for short sequences differ from those of a
    program for long sequences.
    """

    short: tuple[float, ...]
    long: tuple[float, ...]
    original: int
    attention: float

    def scale(
        self, frequencies: Frequencies, theta: float, length: int
    ) -> tuple[Frequencies, float]:
        """See :class:`Scaling`."""
        return frequencies / (self.long if length > self.original else self.short), self.attention


@dataclass(frozen=True)
class Rope:
    """Rotary positions: elements `i` and ``i + size / 2`` of a head rotate as a pair.

    Attributes:
        size: number of elements that rotate, which come first; the others keep their values.
        theta: the base of the frequencies.
    """

    size: int
    theta: float
    scaling: Scaling | None = None

    def tables(self, length: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns cosines and sines of the first `length` positions: two ``[length, size / 2]``.

        Example:
            >>> cos, sin = Rope(4, 100.0).tables(3)
            >>> cos.shape, float(sin[0, 0])
            ((3, 2), 0.0)
        """
        exponents = np.arange(0, self.size, 2, dtype=np.float64) / self.size
        frequencies, factor = self.theta**-exponents, 1.0
        if self.scaling is not None:
            frequencies, factor = self.scaling.scale(frequencies, self.theta, length)
        angles = np.outer(np.arange(length, dtype=np.float64), frequencies)
        cos, sin = np.cos(angles) * factor, np.sin(angles) * factor
        return cos.astype(np.float32), sin.astype(np.float32)


# -- config.json ----------------------------------------------------------------------------------


def read_rope(
    config: Config, head: int, theta: float = 10000.0, share: float | None = None
) -> dict[str, Rope]:
    """Reads the rotary positions of a decoder: ``full`` for layers that attend to all tokens, and
    ``local`` for layers with a window.

    Args:
        head: number of elements of a head.
        theta: the default base.
        share: the default fraction of a head's elements that rotate; None if all must rotate.

    Newer files have one entry ``rope_parameters``, which may be divided by type of layer. Older
    files have ``rope_theta``, ``rope_scaling`` and ``partial_rotary_factor``; files of Gemma 3 also
    have ``rope_local_base_freq``. Raises InvalidUsageError if an entry is invalid or unknown.
    """
    theta = config.number("rope_theta", theta)
    if share is not None:
        share = config.number("partial_rotary_factor", share)
    section = config.section("rope_parameters")
    kinds = {"full": "full_attention", "local": "sliding_attention"}
    if section is not None and any(section.entries.get(kind) for kind in kinds.values()):
        ropes: dict[str, Rope] = {}
        for name, kind in kinds.items():
            part = section.section(kind)
            if part is not None:
                ropes[name] = _read_section(config, part, head, theta, share)
        section.check_known()
        first = next(iter(ropes.values()))
        return {name: ropes.get(name, first) for name in kinds}
    if section is not None:
        theta = section.number("rope_theta", theta)
    section = config.section("rope_scaling") or section
    full = _read_section(config, section, head, theta, share)
    local = config.number("rope_local_base_freq", 0.0)
    return {"full": full, "local": Rope(full.size, local) if local else full}


def _read_section(
    config: Config, section: Config | None, head: int, theta: float, share: float | None
) -> Rope:
    if section is None:
        return Rope(_rotated(config, head, share), theta)
    kind = section.word("rope_type", section.word("type", "default"))
    # Both names are in files of some models.
    section.word("type", kind)
    if kind not in _READERS:
        raise config.error(f"unknown rope scaling {kind!r}; known are {', '.join(_READERS)}")
    theta = section.number("rope_theta", theta)
    if share is not None:
        share = section.number("partial_rotary_factor", share)
    rope = Rope(_rotated(config, head, share), theta)
    result = replace(rope, scaling=_READERS[kind](config, section, rope))
    section.check_known()
    return result


def _rotated(config: Config, head: int, share: float | None) -> int:
    if share is None:
        return head
    size = int(head * share)
    if not 0 < size <= head:
        raise config.error(f"partial_rotary_factor {share} is not above 0 and at most 1")
    if size % 2:
        raise config.error(f"the number of rotated elements of a head, {size}, is odd")
    return size


def _factor(section: Config) -> float:
    factor = section.number("factor")
    if not factor > 0:
        raise section.error("the factor of a rope scaling must be above 0")
    return factor


def _read_none(config: Config, section: Config, rope: Rope) -> None:
    return None


def _read_linear(config: Config, section: Config, rope: Rope) -> Scaling:
    return LinearScaling(_factor(section))


def _read_llama3(config: Config, section: Config, rope: Rope) -> Scaling:
    scaling = RopeScaling(
        factor=section.number("factor"),
        low=section.number("low_freq_factor"),
        high=section.number("high_freq_factor"),
        original=section.count("original_max_position_embeddings"),
    )
    if not (scaling.factor > 0 and scaling.low < scaling.high):
        raise config.error(
            "llama3 scaling needs a factor above 0, and low_freq_factor below high_freq_factor"
        )
    return scaling


def _original(config: Config, section: Config) -> int:
    """Reads the number of positions before the scaling."""
    key = "original_max_position_embeddings"
    default = config.count(key, config.count("max_position_embeddings"))
    return section.count(key, default)


def _read_yarn(config: Config, section: Config, rope: Rope) -> Scaling:
    factor = _factor(section)

    def growth(weight: float) -> float:
        return 0.1 * weight * math.log(factor) + 1 if factor > 1 else 1.0

    scale, whole = section.number("mscale", 0.0), section.number("mscale_all_dim", 0.0)
    attention = growth(scale) / growth(whole) if scale and whole else growth(1.0)
    result = YarnScaling(
        factor=factor,
        fast=section.number("beta_fast", 32.0),
        slow=section.number("beta_slow", 1.0),
        original=_original(config, section),
        attention=section.number("attention_factor", attention),
        whole=section.flag("truncate", True),
        scores=growth(whole) ** 2 if whole else 1.0,
    )
    if not result.fast > result.slow > 0:
        raise config.error("yarn scaling needs a beta_slow above 0, and a larger beta_fast")
    if not rope.theta > 1:
        raise config.error("yarn scaling needs a rope_theta above 1")
    return result


def _read_long(config: Config, section: Config, rope: Rope) -> Scaling:
    original = _original(config, section)
    factor = section.number("factor", config.count("max_position_embeddings") / original)
    attention = 1.0
    if factor > 1 and original > 1:
        attention = math.sqrt(1 + math.log(factor) / math.log(original))
    divisors = {key: section.numbers(key) for key in ("short_factor", "long_factor")}
    for key, values in divisors.items():
        if len(values) != rope.size // 2 or not all(value > 0 for value in values):
            raise config.error(f"{key} must have {rope.size // 2} numbers above 0")
    return LongScaling(
        divisors["short_factor"],
        divisors["long_factor"],
        original,
        section.number("attention_factor", attention),
    )


_READERS = {
    "default": _read_none,
    "linear": _read_linear,
    "llama3": _read_llama3,
    "yarn": _read_yarn,
    "longrope": _read_long,
    "su": _read_long,  # the name in the first files of Phi-3
}
