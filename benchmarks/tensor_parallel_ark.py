"""ark's decoder of benchmarks/tensor_parallel.py, and the problem that all arms solve."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from decode_settings import SETTINGS, untied
from protocol.comparison import error_of

import ark_mlir as ark

if TYPE_CHECKING:
    from decided_weights import Decided

# Number of positions at which logits are checked.
CHECKED = 4


def bundle_path(folder: Path, name: str, ranks: int, one_gpu: bool = False) -> Path:
    """Returns the file of a bundle; `one_gpu` is True if all ranks share one GPU."""
    return folder / f"{name}-{ranks}-ranks{'-one-gpu' if one_gpu else ''}.arkbin"


class ArkRanks:
    """The decoder of a bundle on all of its ranks."""

    def __init__(self, path: Path, tensors: Mapping[str, Any]) -> None:
        self._executable = ark.load(path)
        manifest = self._executable.bundle.manifest
        states = manifest.states
        try:
            self._executable.bind(
                {
                    buffer.name: as_bound(
                        rank_part(buffer, tensors),
                        0 if manifest.shares_device else rank_of(buffer),
                        copied=buffer in states,
                    )
                    for buffer in (*self._executable.parameters, *states)
                    if buffer.name.rpartition("/")[2] in tensors
                }
            )
        except BaseException:
            self._executable.close()
            raise
        self._ends = np.full(8, -1, np.int32)

    def logits(self, token: Any, position: int) -> Any:
        """Returns the logits of one step on rank 0, fp32 ``[batch, vocabulary]``."""
        self._put(token, position)
        return np.asarray(self._outputs(1)[0]["logits"], np.float32)

    def seconds(self, token: Any, steps: int) -> float:
        """Returns the seconds of a launch of the first steps."""
        self._put(token, 0)
        begin = time.perf_counter()
        self._outputs(steps)
        return time.perf_counter() - begin

    def tokens(self) -> list[Any]:
        """Returns the tokens so far of each rank."""
        states = self._executable.states
        return [states[name] for name in states if name.rpartition("/")[2] == "tokens"]

    def generate(self, token: Any, position: int, steps: int) -> tuple[Any, Any]:
        """Runs steps from a position on, with the caches of the problem.

        Returns the tokens, int32 ``[batch, steps]``, and the logits of the last step on rank 0,
        fp32 ``[batch, vocabulary]``. Raises RuntimeError if ranks have other tokens.
        """
        self._executable.reset()
        self._put(token, position)
        logits = np.asarray(self._outputs(steps)[0]["logits"], np.float32)
        return self.same_tokens()[:, position : position + steps], logits

    def same_tokens(self) -> Any:
        """Returns the tokens so far; raises RuntimeError if ranks have other tokens."""
        first, *others = self.tokens()
        if any(not np.array_equal(first, other) for other in others):
            raise RuntimeError("ranks have different tokens")
        return first

    def close(self) -> None:
        self._executable.close()

    def _put(self, token: Any, position: int) -> None:
        array = np.array(position, np.int32)
        self._executable.bind({"token": token.astype(np.int32)[:, None], "position": array})

    def _outputs(self, iterations: int) -> list[dict[str, Any]]:
        outputs: Any = self._executable.run(ends=self._ends, iterations=iterations)
        return outputs if isinstance(outputs, list) else [outputs]


def rank_of(buffer: Any) -> int:
    """Returns the rank of a buffer ``rank<n>/<name>``, 0 if the name has no rank."""
    rank, _, _ = buffer.name.rpartition("/")
    return int(rank.removeprefix("rank")) if rank else 0


def rank_part(buffer: Any, tensors: Mapping[str, Any]) -> Any:
    """Returns the part of a tensor that a rank's buffer holds."""
    from tensor_parallel_torch import part

    _, _, name = buffer.name.rpartition("/")
    return part(tensors[name], buffer.shape, rank_of(buffer))


def as_bound(tensor: Any, gpu: int, *, copied: bool) -> Any:
    """Returns a tensor on a GPU, which is used in place.

    Without GPUs, or if the value is `copied` into memory of ark's own, returns an array in host
    memory.
    """
    import torch
    from decode_arms import as_array

    if not tensor.is_cuda or copied:
        return as_array(tensor.contiguous())
    result = tensor.to(f"cuda:{gpu}").contiguous()
    torch.cuda.synchronize(result.device)
    return result


class Problem:
    """The weights, caches and correct logits of a setting.

    Args:
        decides: True for weights whose tokens do not depend on rounding (decided_weights.py). The
            vocabulary head is then a weight of its own.

    Attributes:
        tensors: weights and caches, on the first GPU if there are GPUs.
        bound: the relative error of PyTorch in bf16 on one device.
        decided: the tokens after the token of each pair, or None.
    """

    def __init__(self, name: str, folder: Path, device: str, decides: bool = False) -> None:
        self.name, self.rope = name, folder / f"{name}.npz"
        self.setting = setting = untied(SETTINGS[name]) if decides else SETTINGS[name]
        generator = np.random.default_rng(0)
        tokens = generator.integers(0, setting.sizes.vocabulary, (CHECKED, setting.batch))
        positions = np.linspace(self.first, setting.context - 1, CHECKED).astype(int)
        self.pairs = list(zip(tokens, positions.tolist(), strict=True))
        self.decided: Decided | None = None
        self.tensors, self._right, found = self._compute(device, decides)
        self.bound = self.error_of(found)
        if device == "cuda":
            import torch

            torch.cuda.empty_cache()  # the models of :meth:`_compute`, which is at its end

    def _compute(self, device: str, decides: bool) -> tuple[dict[str, Any], Any, Any]:
        """Returns weights and caches, and the logits in fp32 and in bf16."""
        import torch
        from decode_arms import TorchArm as OneDevice
        from torch_decoder import TorchDecoder, make_caches, make_weights

        setting, tables = self.setting, np.load(self.rope)
        rope = torch.from_numpy(tables["cos"]), torch.from_numpy(tables["sin"])
        weights, caches = make_weights(setting.sizes, device), make_caches(setting, device)

        def logits(dtype: torch.dtype) -> Any:
            model = TorchDecoder(setting, weights, caches, rope, dtype)
            arm = OneDevice(model, model)
            return np.stack([arm.logits(*pair) for pair in self.pairs])

        exact, rounded = logits(torch.float32), logits(torch.bfloat16)
        if decides:
            from decided_weights import decide

            starts, error = [token for token, _ in self.pairs], error_of(rounded, exact)
            self.decided = decide(setting, weights, caches, rope, starts, self.first, error)
            exact, rounded = logits(torch.float32), logits(torch.bfloat16)
        return {**weights, **caches}, exact, rounded

    @property
    def first(self) -> int:
        """Returns the position of the first step that is timed."""
        return self.setting.context // 5

    @property
    def steps(self) -> int:
        """Returns the number of steps that are timed."""
        return self.setting.context - self.first

    def error_of(self, logits: Any) -> float:
        """Returns the relative error of logits."""
        return error_of(logits, self._right)


class ArkArm:
    """ark's kernel on all ranks."""

    def __init__(self, ranks: ArkRanks, problem: Problem) -> None:
        self._ranks, self._problem = ranks, problem

    def logits(self) -> Any:
        """Returns the logits of the problem's pairs."""
        return np.stack([self._ranks.logits(*pair) for pair in self._problem.pairs])

    def seconds_of_token(self) -> float:
        """Returns the mean seconds of a step; raises RuntimeError if ranks have other tokens."""
        problem, token = self._problem, self._problem.pairs[0][0]
        few = self._ranks.seconds(token, problem.first)
        many = self._ranks.seconds(token, problem.setting.context)
        self._ranks.same_tokens()
        return (many - few) / problem.steps
