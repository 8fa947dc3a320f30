# %% [markdown]
# # Embed and search a small corpus
#
# An encoder turns each sentence into a vector; the sentences nearest to a question have the
# largest product with the vector of the question. `MODEL` names the folder of an encoder with its
# `tokenizer.json`. Without `MODEL`, this notebook uses a small encoder with random weights and a
# tokenizer that numbers words. This encoder finds sentences that share words.

# %%
import os
import tempfile
import zlib
from pathlib import Path

import numpy as np
from random_models import VOCABULARY, write_encoder

import ark_mlir as ark

CORPUS = (
    "the cat sits in the garden",
    "a man plays the guitar",
    "the new film is great",
    "a woman plays the violin in the garden",
    "dogs and cats are animals",
)

# %%
scratch = tempfile.TemporaryDirectory()
folder = Path(os.environ.get("MODEL") or write_encoder(Path(scratch.name) / "encoder"))


def tokenize(sentences):
    """Returns the token ids of each sentence."""
    file = folder / "tokenizer.json"
    if file.exists():
        from tokenizers import Tokenizer

        return [encoding.ids for encoding in Tokenizer.from_file(str(file)).encode_batch(sentences)]
    return [[zlib.crc32(word.encode()) % VOCABULARY for word in s.split()] for s in sentences]


# %% [markdown]
# The whole encoder becomes one kernel, for eight sentences of up to 32 tokens.

# %%
model = ark.models.load(folder, batch=8, length=32)
model.compile("cpu")
corpus = model.embed(tokenize(list(CORPUS)))
print("vectors:", corpus.shape)


# %%
def search(question, count=2):
    """Returns the sentences nearest to a question, with their similarity."""
    (vector,) = model.embed(tokenize([question]))
    similarity = corpus @ vector
    return [(float(similarity[i]), CORPUS[i]) for i in np.argsort(-similarity)[:count]]


for score, sentence in search("a woman plays the violin"):
    print(f"{score:.3f}  {sentence}")

# %%
best = search("a woman plays the violin in the garden", 1)[0]
assert best[1] == CORPUS[3], best
assert abs(best[0] - 1) < 1e-3, best
scratch.cleanup()
print("found:", best[1])
