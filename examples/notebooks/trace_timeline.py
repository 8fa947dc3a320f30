# %% [markdown]
# # Trace a run, and read its timeline
#
# A program that is compiled with `trace=True` can record when each of its instructions began and
# ended. The profile sums the times by task and op. The timeline draws all lanes; in a notebook, it
# is the value of the last cell.

# %%
import tempfile
from pathlib import Path

import numpy as np

import ark_mlir as ark
from ark_mlir.show import timeline

with ark.Program("mlp") as program:
    x = ark.input("x", (64, 256))
    w1, w2 = ark.parameter("w1", (512, 256)), ark.parameter("w2", (256, 512))
    h = ark.gelu(ark.matmul(x, w1, transpose_other=True, name="up"))
    ark.output("y", ark.softmax(ark.matmul(h, w2, transpose_other=True, name="down")))

rng = np.random.default_rng(0)
exe = ark.compile(program, target="cpu:2", trace=True)
exe.bind({name: rng.standard_normal(shape).astype(np.float32)
          for name, shape in {"w1": (512, 256), "w2": (256, 512)}.items()})  # fmt: skip
v = rng.standard_normal((64, 256)).astype(np.float32)

# %%
report = exe.report()  # a table in a notebook
print(f"predicted: {report.predicted_ns / 1000:.0f} µs, {report.waits} waits")

# %%
profile = exe.profile(v)
print(profile)
assert profile.by_op()[0].ops[0] == "matmul"

# %% [markdown]
# The roofline has the speed of each group of ops beside the limits of the machine. Without
# arguments, the limits are the highest measurements. In a notebook, it is a plot.

# %%
roofline = profile.roofline(peak_gflops=150, peak_gbytes=20)
print(roofline)
roofline  # noqa: B018 - what a notebook shows

# %%
with tempfile.TemporaryDirectory() as folder:
    trace = Path(folder) / "trace.json"  # https://ui.perfetto.dev opens it, too
    exe.run(v, trace=trace)
    shown = timeline(exe, trace)
print(f"timeline: {len(shown.page) // 1000} kB of HTML")

# %%
shown  # noqa: B018 - what a notebook shows
