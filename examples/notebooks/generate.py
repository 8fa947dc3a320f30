# %% [markdown]
# # Generate with a decoder
#
# `ark.models.load` reads a folder of Hugging Face. A prompt is processed in one launch, and all
# further tokens are generated in a second one. `MODEL` names a folder. Without `MODEL`, this
# notebook uses a small decoder with random weights.

# %%
import os
import tempfile
from pathlib import Path

from random_models import write_decoder

import ark_mlir as ark

scratch = tempfile.TemporaryDirectory()
folder = Path(os.environ.get("MODEL") or write_decoder(Path(scratch.name) / "decoder"))
PROMPT = [1, 5, 9]

# %%
model = ark.models.load(folder)
model.compile("cpu")
print("programs:", ", ".join(model.programs))
greedy = model.generate(PROMPT, max_new_tokens=12)
print("greedy: ", list(greedy))

# %% [markdown]
# Greedy decoding generates the same tokens for the same prompt. With `sampling=True`, a model
# samples tokens: equal seeds generate equal tokens.

# %%
assert list(model.generate(PROMPT, max_new_tokens=12)) == list(greedy)
sampler = ark.models.load(folder, sampling=True)
sampler.compile("cpu")
drawn = [
    list(sampler.generate(PROMPT, max_new_tokens=12, temperature=1.0, seed=seed))
    for seed in (1, 1, 2)
]
print("sampled:", drawn[0])
assert drawn[0] == drawn[1]
assert drawn[0] != drawn[2]
scratch.cleanup()
print("tokens:", len(greedy))
