# %% [markdown]
# # Edit a schedule, and be refused
#
# `export_schedule` writes a program with its schedule as commented MLIR. You may move work to other
# SMs, change its order, and remove waits. `check` proves the result, or says what is wrong.

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
# Without its first wait, a lane of `down` reads what `up` has not written yet.

# %%
wait = next(k for k, line in enumerate(lines) if line.lstrip().startswith("ark.wait"))
try:
    ark.compiler.check("".join(lines[:wait] + lines[wait + 1 :]))
except ark.VerificationError as error:
    print("refused:", error)
else:
    raise SystemExit("the wait can be spared")

# %% [markdown]
# Without all semaphores, waits and signals, the compiler inserts new ones: only the order of the
# work is yours.

# %%
plan = ark.compiler.export_schedule(program, "cpu:2", synchronized=False)
assert "ark.wait" not in "".join(line for line in plan.splitlines() if not line.startswith("//"))
result = ark.compiler.check(plan)
print(result)
assert "proven" in str(result)
