"""The files of sentence-transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ark_mlir import InvalidUsageError, UnsupportedError
from ark_mlir.text import EmbeddingFiles

MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_N", "type": "sentence_transformers.models.Normalize"},
]


def write(folder: Path, pooling: object, modules: Any = MODULES, **more: object) -> str:
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))
    (folder / "modules.json").write_text(json.dumps(modules))
    for name, content in more.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return str(folder)


def test_a_folder_without_files(tmp_path: Path) -> None:
    files = EmbeddingFiles.read(str(tmp_path))
    assert files == EmbeddingFiles("mean", True, None, {}, None)
    assert files.prefix(None) == ""


@pytest.mark.parametrize(
    ("pooling", "name"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_mean_tokens": True, "word_embedding_dimension": 4}, "mean"),
        ({"pooling_mode": "cls"}, "cls"),
    ],
)
def test_poolings(tmp_path: Path, pooling: dict[str, Any], name: str) -> None:
    assert EmbeddingFiles.read(write(tmp_path, pooling)).pooling == name


def test_all_files(tmp_path: Path) -> None:
    folder = write(
        tmp_path, {"pooling_mode": "mean"}, MODULES[:2],
        sentence_bert_config={"max_seq_length": 256, "do_lower_case": False},
        config_sentence_transformers={
            "prompts": {"query": "query: ", "document": ""}, "default_prompt_name": "document",
        },
    )  # fmt: skip
    files = EmbeddingFiles.read(folder)
    assert (files.normalize, files.length) == (False, 256)
    assert (files.prefix(None), files.prefix("query")) == ("", "query: ")
    with pytest.raises(InvalidUsageError, match="no prompt 'x'; it has query, document"):
        files.prefix("x")


def test_files_that_are_refused(tmp_path: Path) -> None:
    both = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}
    with pytest.raises(UnsupportedError, match="pooling pooling_mode_cls_token, pooling_mode_mean"):
        EmbeddingFiles.read(write(tmp_path, both))
    with pytest.raises(UnsupportedError, match="pooling lasttoken is not supported"):
        EmbeddingFiles.read(write(tmp_path, {"pooling_mode": "lasttoken"}))
    dense = [*MODULES, {"path": "3", "type": "sentence_transformers.models.Dense"}]
    with pytest.raises(UnsupportedError, match=r"modules\.json has Dense after the encoder"):
        EmbeddingFiles.read(write(tmp_path, {"pooling_mode": "cls"}, dense))
    (tmp_path / "1_Pooling/config.json").unlink()
    (tmp_path / "modules.json").write_text(json.dumps(MODULES))
    with pytest.raises(InvalidUsageError, match=r"has no config\.json"):
        EmbeddingFiles.read(str(tmp_path))
    (tmp_path / "modules.json").write_text("{")
    with pytest.raises(InvalidUsageError, match="not valid JSON"):
        EmbeddingFiles.read(str(tmp_path))
