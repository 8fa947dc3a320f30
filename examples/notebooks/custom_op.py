# %% [markdown]
# # A fused custom op
#
# `ark.custom_op` takes the grid of vCTAs, the part of each tensor that a vCTA reads or writes, and
# a body on these parts. The result is one task of the persistent kernel. The op of this notebook is
# the gated activation of a feed-forward layer, with the norm before it.

# %%
import numpy as np

import ark_mlir as ark

ROWS, WIDTH, PART = 16, 64, 4


def gated_norm(x, gate, weight):
    """One vCTA: PART rows of x and gate, and all of weight."""
    return ark.rmsnorm(x, weight) * ark.silu(gate)


def build(step=PART):
    """Returns the program; rows of vCTAs overlap if `step` is less than PART."""
    rows = ark.Region((PART, WIDTH), lambda i: (step * i, 0))
    with ark.Program("gated") as program:
        x, gate = (ark.input(name, (ROWS, WIDTH)) for name in ("x", "gate"))
        weight = ark.parameter("weight", (WIDTH,))
        y = ark.custom_op(
            "gated_norm", gated_norm, [x, gate, weight],
            grid=(ROWS - PART) // step + 1, regions=[rows, rows, None],
            shape=(ROWS, WIDTH), out_region=rows,
        )  # fmt: skip
        ark.output("y", y)
    return program


# %% [markdown]
# The interpreter of ark runs the body in float64, and bounds the error of each element.

# %%
program = build()
rng = np.random.default_rng(0)
arrays = {
    name: rng.standard_normal(shape).astype(np.float32)
    for name, shape in {"x": (ROWS, WIDTH), "gate": (ROWS, WIDTH), "weight": (WIDTH,)}.items()
}
exe = ark.compile(program, target="cpu:4").bind({"weight": arrays["weight"]})
y = exe.run(arrays["x"], arrays["gate"])["y"]
expected = ark.reference.evaluate(program, arrays, bound=True)
share = np.abs(y - expected.outputs["y"]) / expected.bounds["y"]
print(f"largest error: {share.max():.1%} of its bound")
assert share.max() <= 1

# %% [markdown]
# Every target supports the op. The compilation needs no GPU.

# %%
for target in ("cuda:sm_90a", "hip:gfx942"):
    print(target, "proven:", ark.compile(program, target=target).report().proven)

# %% [markdown]
# If parts of the result overlap, two vCTAs write the same elements. The compiler refuses such parts
# with an error that names the cause.

# %%
try:
    ark.compile(build(step=PART - 1), target="cpu:4")
except ark.ArkError as error:
    print("refused:", str(error).splitlines()[0])
else:
    raise SystemExit("overlapping parts were accepted")
