# %% [markdown]
# # One layer on two ranks
#
# Each rank has half of the weights of a feed-forward layer. The all-reduce at its end adds the
# partial results. In this notebook, both programs become one kernel. With `torchrun`, each rank is
# a process (examples/tensor_parallel.py). With `devices=[0, 1]`, each rank has a GPU of its own.

# %%
import numpy as np

import ark_mlir as ark

HIDDEN, INNER, RANKS = 32, 64, 2
PART = INNER // RANKS


def build(rank):
    """Returns the program of one rank."""
    with ark.Program("layer", rank=rank, world_size=RANKS) as program:
        x = ark.input("x", (4, HIDDEN))
        up = ark.parameter("up", (PART, HIDDEN))
        down = ark.parameter("down", (HIDDEN, PART))
        h = ark.relu(ark.matmul(x, up, transpose_other=True))
        ark.output("y", ark.all_reduce(ark.matmul(h, down, transpose_other=True)))
    return program


# %%
rng = np.random.default_rng(0)
up = rng.standard_normal((INNER, HIDDEN)).astype(np.float32)
down = rng.standard_normal((HIDDEN, INNER)).astype(np.float32)
x = rng.standard_normal((4, HIDDEN)).astype(np.float32)
parts = [slice(rank * PART, (rank + 1) * PART) for rank in range(RANKS)]

world = ark.compile([build(rank) for rank in range(RANKS)], target="cpu:4")
world.bind([{"up": up[part], "down": down[:, part]} for part in parts])
results = world.run(x=x)

# %% [markdown]
# All ranks get the whole result, with equal bits.

# %%
wanted = np.maximum(x.astype(np.float64) @ up.T, 0) @ down.T
error = np.abs(results[0]["y"] - wanted).max() / np.abs(wanted).max()
print(f"ranks: {len(results)}, largest difference: {error:.1e}")
assert np.array_equal(results[0]["y"], results[1]["y"])
assert error < 1e-5
