# %% [markdown]
# # Edit a schedule, and prove the result
#
# `export_schedule` writes a program with its schedule as commented MLIR. You may move work items to
# other SMs, change their order, and remove waits. `check` proves the edited schedule, or raises an
# error that names the fault.

# %%
import ark_mlir as ark

with ark.Program("mlp") as program:
    x = ark.input("x", (32, 64))
    w1, w2 = ark.parameter("w1", (256, 64)), ark.parameter("w2", (64, 256))
    h = ark.gelu(ark.matmul(x, w1, transpose_other=True, name="up"))
    ark.output("y", ark.matmul(h, w2, transpose_other=True, name="down"))

text = ark.compiler.export_schedule(program, "cpu:2")
lines = text.splitlines(keepends=True)
print("".join(line for line in lines if line.lstrip().startswith("ark.run"))[:400])
print(ark.compiler.check(text))

# %% [markdown]
# Without its first wait, a lane reads the operand of `down` before `up` has written it.

# %%
wait = next(k for k, line in enumerate(lines) if line.lstrip().startswith("ark.wait"))
try:
    ark.compiler.check("".join(lines[:wait] + lines[wait + 1 :]))
except ark.VerificationError as error:
    print("refused:", error)
else:
    raise SystemExit("the proof accepted a schedule that lacks a wait")

# %% [markdown]
# If a schedule has no semaphores, waits and signals, the compiler inserts them. Such a schedule
# contains only work items and their order.

# %%
plan = ark.compiler.export_schedule(program, "cpu:2", synchronized=False)
assert "ark.wait" not in "".join(line for line in plan.splitlines() if not line.startswith("//"))
result = ark.compiler.check(plan)
print(result)
assert "proven" in str(result)
