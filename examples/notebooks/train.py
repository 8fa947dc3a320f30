# %% [markdown]
# # Train a network, many steps in one launch
#
# A training step is a program: the forward pass, the gradients and the optimizer are ops, and the
# weights are states that stay on the device. The data are three arms of a spiral.

# %%
import os

import numpy as np

import ark_mlir as ark

STEPS = int(os.environ.get("STEPS", "300"))
ARMS, BATCH = 3, 64


def spiral(seed: int) -> dict[str, np.ndarray]:
    """Returns a batch: points of the plane, and the arm of each."""
    rng = np.random.default_rng(seed)
    arm, radius = rng.integers(0, ARMS, BATCH), rng.uniform(0.1, 1, BATCH)
    angle = 2 * np.pi * arm / ARMS + 4 * radius + rng.normal(0, 0.1, BATCH)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return {"x": points.astype(np.float32), "labels": arm.astype(np.int32)}


class Net(ark.Module):
    """Two hidden layers."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.first = ark.parameter("first", (2, width))
        self.shift = ark.parameter("shift", (width,))
        self.second = ark.parameter("second", (width, width))
        self.last = ark.parameter("last", (width, ARMS))

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        h = ark.gelu(x @ self.first + self.shift)
        return ark.gelu(h @ self.second) @ self.last


# %% [markdown]
# `Loop` takes a batch for each step of a launch, and counts the steps. `ark.gradients` appends the
# ops of the backward pass, and the optimizer appends the updates.

# %%
with ark.Program("step") as program:
    loop = ark.training.Loop(steps=50)
    net = Net()
    weights = ark.trainable(net)
    logits = net(loop.input("x", (BATCH, 2)))
    loss = ark.cross_entropy(logits, loop.input("labels", (BATCH,), ark.int32))
    slopes, _ = ark.optim.clip_by_global_norm(ark.gradients(loss, weights), 1.0)
    rate = ark.optim.warmup_cosine(loop.step, 0.03, warmup=20, total=STEPS)
    ark.optim.AdamW(weights, rate, weight_decay=0.0).step(slopes, skip=loop.end(loss))

rng = np.random.default_rng(0)
first = {w.name: rng.normal(0, w.shape[0] ** -0.5, w.shape).astype(np.float32) for w in weights}

# %% [markdown]
# A `Trainer` compiles the program, passes the batches to it, and keeps the losses.

# %%
trainer = ark.training.Trainer(program, loop, spiral, target="cpu:2", bind=first)
losses = trainer.run(STEPS)
print(f"loss: {losses[:10].mean():.2f}, then {losses[-10:].mean():.2f}")
assert losses[-10:].mean() < losses[:10].mean()

# %% [markdown]
# The trained weights are arrays. A second program classifies new points with them.

# %%
with ark.Program("classify") as classify:
    trained = Net()
    ark.output("arm", ark.argmax(trained(ark.input("x", (BATCH, 2))), -1))

arrays = trainer.state_arrays()
trainer.close()
exe = ark.compile(classify, target="cpu:2")
exe.bind({name: arrays[name] for name in classify.parameters})
new = spiral(10_000)
right = float((exe.run(x=new["x"])["arm"] == new["labels"]).mean())
print(f"right: {right:.0%} of {BATCH} new points")
