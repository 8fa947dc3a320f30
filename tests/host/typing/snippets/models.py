"""Models of Hugging Face folders."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import ark_mlir as ark


def right(folder: Path) -> None:
    encoder = ark.models.load(folder, batch=2, length=12, pooling="cls", dtype="fp16")
    assert_type(encoder, ark.models.EmbeddingModel)
    vectors = encoder.compile("cpu").embed([[2, 3, 5], [7, 11]])
    assert_type(vectors, NDArray[np.float32])
    encoder.embed(np.ones((2, 3), np.int32), mask=[[True, True, False]] * 2, types=None)
    decoder = ark.models.load(str(folder), max_length=24, sampling=True, ignore="rope_theta")
    assert_type(decoder, ark.models.GenerativeModel)
    tokens = decoder.compile("cpu:2", trace=True).generate([1, 2], 8, stop=(), temperature=0.7)
    assert_type(tokens, list[int])
    assert_type(decoder.generate("words", 8), str)
    encoder.embed(["words"])
    either = ark.models.load(folder, dtype=ark.bf16).compile()
    if isinstance(either, ark.models.GenerativeModel):
        either.generate(np.arange(3), 8)
    assert_type(either.programs["decode"].outputs, dict[str, ark.Output])
    assert_type(either.executable("decode").states["x"], NDArray[Any])


def wrong(folder: Path) -> None:
    ark.models.load()  # error: No overloads for "load"
    ark.models.load(7)  # error: No overloads for "load"
    ark.models.load(folder, lenght=12)  # error: No overloads for "load"
    ark.models.load(folder, length="12")  # error: "Literal['12']" is not assignable
    ark.models.load(folder, length=12, chunk=8)  # error: No overloads for "load"
    ark.models.load(folder, pooling="max")  # error: "Literal['max']" is not assignable
    ark.models.load(folder, dtype="float64")  # error: No overloads for "load"
    ark.models.load(folder).generate([1], 8)  # error: Cannot access attribute "generate"
    encoder = ark.models.load(folder, length=12)
    encoder.generate([1], 8)  # error: Cannot access attribute "generate"
    encoder.embed(7)  # error: reportArgumentType
    encoder.compile(target=90)  # error: reportArgumentType
    encoder.compile("cpu", tarce=True)  # error: No parameter named "tarce"
    decoder = ark.models.load(folder, max_length=24)
    decoder.generate([1])  # error: No overloads for "generate"
    decoder.generate(7, 8)  # error: No overloads for "generate"
    decoder.generate([1], 8, top_k=0.5)  # error: "float" is not assignable to "int"
