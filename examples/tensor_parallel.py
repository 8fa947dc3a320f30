"""A layer that several processes share: each has a part of the weights, all get the whole result.

torchrun --nproc-per-node 2 examples/tensor_parallel.py
mpirun -n 2 python examples/tensor_parallel.py
for r in 0 1; do RANK=$r WORLD_SIZE=2 python examples/tensor_parallel.py & done; wait
"""

from __future__ import annotations

import json

import numpy as np

import ark_mlir as ark

HIDDEN, INNER = 64, 256


def main() -> None:
    # All ranks generate the same random weights; those of a model would come from its files.
    rng = np.random.default_rng(0)
    up = rng.standard_normal((INNER, HIDDEN)).astype(np.float32)
    down = rng.standard_normal((HIDDEN, INNER)).astype(np.float32)
    x = rng.standard_normal((4, HIDDEN)).astype(np.float32)

    with ark.distributed.init() as world:
        part = INNER // world.world_size
        own = slice(world.rank * part, (world.rank + 1) * part)
        with ark.Program("mlp", rank=world.rank, world_size=world.world_size) as program:
            tokens = ark.input("x", x.shape)
            up_part = ark.parameter("up", (part, HIDDEN))
            down_part = ark.parameter("down", (HIDDEN, part))
            inner = ark.relu(ark.matmul(tokens, up_part, transpose_other=True))
            ark.output("y", ark.all_reduce(ark.matmul(inner, down_part, transpose_other=True)))

        executable = ark.compile(program)  # all ranks together; each gets its own part
        executable.bind({"up": up[own], "down": down[:, own]})
        y = executable.run(x=x)["y"]

        wanted = np.maximum(x.astype(np.float64) @ up.T, 0) @ down.T
        error = float(np.abs(y - wanted).max() / np.abs(wanted).max())
        print(json.dumps({"ranks": world.world_size, "largest difference": error}))


if __name__ == "__main__":
    main()
