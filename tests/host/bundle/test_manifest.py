"""Manifests with valid hashes and invalid content: each rule has a bundle that breaks it."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ark_mlir.bundle import Bundle, read_bundle
from ark_mlir.errors import BundleError
from ark_mlir.testing.toy import ToyProgram, add_program, run

Change = Callable[[dict[str, Any]], object]


def program() -> tuple[dict[str, Any], dict[str, bytes]]:
    """Returns a program with one buffer of every kind and one task."""
    toy = ToyProgram(sms=1)
    toy.buffer("x", "input", "fp32", [32])
    toy.buffer("w", "parameter", "bf16", [4, 4])
    toy.buffer("cache", "state", "int32", [2], init=3)
    toy.buffer("n", "scalar", "int32", [], max=7)
    toy.buffer("y", "output", "fp32", [32])
    toy.buffer("c", "constant", "uint8", [4], offset=0)
    task = toy.task("add", 2, [(5, 0), (1, 0), (0, 0)])
    toy.semaphore(1)
    toy.lane(0, [run(task, 0, 2)])
    manifest, sections = toy.parts()
    sections["constants"] = b"abcd"
    return manifest, sections


def refused(change: Change, message: str) -> None:
    manifest, sections = program()
    Bundle.from_parts(copy.deepcopy(manifest), sections)  # valid before the change
    change(manifest)
    with pytest.raises(BundleError, match=message) as caught:
        Bundle.from_parts(manifest, sections)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("key", sorted(program()[0]))
def test_each_key_is_needed(key: str) -> None:
    refused(lambda m: m.pop(key), f"key '{key}' is missing")


@pytest.mark.parametrize("key", sorted(program()[0]))
@pytest.mark.parametrize("value", [None, 1.5, -1, [[]], "\n", {"": {}}, True])
def test_each_key_has_a_type(key: str, value: object) -> None:
    refused(lambda m: m.update({key: value}), f"manifest: {key}")


@pytest.mark.parametrize("group", ["target", "buffers", "tasks", "bodies", "semaphores"])
def test_each_member_is_needed_typed_and_known(group: str) -> None:
    good = program()[0][group]
    members = good if group == "target" else good[0]

    def of(manifest: dict[str, Any]) -> dict[str, Any]:
        return manifest[group] if group == "target" else manifest[group][0]

    for member in members:
        refused(lambda m, k=member: of(m).pop(k), f"manifest: {group}.*'{member}' is missing")
        refused(lambda m, k=member: of(m).update({k: {}}), f"manifest: {group}.*{member}")
        refused(lambda m, k=member: of(m).update({k: -1}), f"manifest: {group}.*{member}")
    refused(lambda m: of(m).update(extra=1), f"manifest: {group}.*unknown key 'extra'")


CHANGES: dict[str, tuple[Change, str]] = {
    "format": (lambda m: m.update(format=1), "format: 1"),
    "unknown-key": (lambda m: m.update(code="import os"), "unknown key 'code'"),
    "huge-arena": (lambda m: m.update(arena=1 << 60), "arena"),
    "arena-beyond-64-bits": (lambda m: m.update(arena=1 << 70), "arena"),
    "no-function": (lambda m: m.update(entry="../../system"), "not the name of a function"),
    "backend": (lambda m: m["target"].update(backend="tpu"), "'tpu' is not one of"),
    "no-sms": (lambda m: m["target"].update(sms=0), "target.sms"),
    "short-unit": (lambda m: m["tasks"][0].update(unit=[0, 1]), "unit: expected stage, micro"),
    "direction-of-a-unit": (lambda m: m["tasks"][0].update(unit=[0, 1, 2]), "unit: expected stage"),
    "negative-microbatch": (lambda m: m["tasks"][0].update(unit=[0, -1, 0]), r"unit\[1\]: -1"),
    "unit-of-a-number": (lambda m: m["tasks"][0].update(unit=1), "unit: expected"),
    "long-arch": (lambda m: m["target"].update(arch="x" * 65), "the limit is 64"),
    "long-feature": (lambda m: m["target"].update(features=["x" * 65]), "the limit is 64"),
    "feature-type": (lambda m: m["target"].update(features=[1]), r"features\[0\]"),
    "kind": (lambda m: m["buffers"][0].update(kind="secret"), "'secret' is not one of"),
    "dtype": (lambda m: m["buffers"][0].update(dtype="fp64"), "'fp64' is not one of"),
    "negative-dim": (lambda m: m["buffers"][0].update(shape=[-32]), r"shape\[0\]"),
    "nan-dim": (lambda m: m["buffers"][0].update(shape=["NaN"]), r"shape\[0\]"),
    "float-dim": (lambda m: m["buffers"][0].update(shape=[32.0]), r"shape\[0\]"),
    "bool-dim": (lambda m: m["buffers"][0].update(shape=[True]), r"shape\[0\]"),
    "huge-dim": (lambda m: m["buffers"][0].update(shape=[1 << 46], bytes=1 << 48), "the limit"),
    "overflow": (lambda m: m["buffers"][0].update(shape=[1 << 33, 1 << 33], bytes=0), "the limit"),
    "wrap-to-right": (lambda m: m["buffers"][0].update(shape=[(1 << 62) + 32]), r"shape\[0\]"),
    "rank": (lambda m: m["buffers"][0].update(shape=[1] * 33, bytes=4), "rank 33"),
    "bytes": (lambda m: m["buffers"][0].update(bytes=60), "takes 128 bytes"),
    "twice": (lambda m: m["buffers"][1].update(name="x"), "two buffers have the name 'x'"),
    "max-on-input": (lambda m: m["buffers"][0].update(max=3), "unknown key 'max'"),
    "max-range": (lambda m: m["buffers"][3].update(max=1 << 31), "max"),
    "max-negative": (lambda m: m["buffers"][3].update(max=-1), "max"),
    "scalar-array": (lambda m: m["buffers"][3].update(shape=[2], bytes=8), "one integer"),
    "scalar-float": (lambda m: m["buffers"][3].update(dtype="fp32"), "one integer"),
    "init-range": (lambda m: m["buffers"][2].update(init=1 << 40), "not a value of int32"),
    "init-fraction": (lambda m: m["buffers"][2].update(init=0.5), "not a value of int32"),
    "constant-past": (lambda m: m["buffers"][5].update(offset=1), "not in the section"),
    "constant-far": (lambda m: m["buffers"][5].update(offset=1 << 39), "not in the section"),
    "constant-nowhere": (lambda m: m["buffers"][5].pop("offset"), "'offset' is missing"),
    "alignment-odd": (lambda m: m["buffers"][0].update(alignment=24), "power of two"),
    "alignment-small": (lambda m: m["buffers"][0].update(alignment=2), "alignment"),
    "body": (lambda m: m["tasks"][0].update(body=99), r"tasks\[0\].body"),
    "no-vctas": (lambda m: m["tasks"][0].update(vctas=0), "vctas"),
    "grid": (lambda m: m["tasks"][0].update(grid=[3]), "does not have 2 vCTAs"),
    "grid-rank": (lambda m: m["tasks"][0].update(grid=[2] + [1] * 32), "rank 33"),
    "terminal-codes": (lambda m: m["tasks"][0].update(location="\x1b[2J"), "cannot be printed"),
    "surrogate": (lambda m: m.update(program="\ud800"), "cannot be printed"),
    "empty-name": (lambda m: m["buffers"][0].update(name=""), "must not be empty"),
    "long-name": (lambda m: m["buffers"][0].update(name="x" * 100_000), "the limit"),
    "no-arrivals": (lambda m: m["semaphores"][0].update(arrivals=0), "arrivals"),
    "nan": (lambda m: m["statistics"].update(waits=float("nan")), "JSON"),
    "infinity": (lambda m: m["statistics"].update(waits=float("inf")), "JSON"),
    "statistics-text": (lambda m: m["statistics"].update(waits="many"), "expected a number"),
    "statistics-huge": (lambda m: m["statistics"].update(waits=1 << 80), "64 bits"),
    "trace-type": (lambda m: m["options"].update(trace="yes"), "true or false"),
    "deep-options": (lambda m: m["options"].update(a=[[[[[[[[[]]]]]]]]]), "too deeply"),
    "sections-known": (lambda m: m.update(sections={}), "'instructions' is missing"),
    "set": (lambda m: m.update(buffers={1, 2}), "cannot be written as JSON"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_change(change: str) -> None:
    refused(*CHANGES[change])


def text_of(change: Callable[[str], str]) -> Callable[[Any], bytes]:
    return lambda value: change(json.dumps(value)).encode()


TEXTS: dict[str, tuple[Callable[[Any], bytes], str]] = {
    "duplicate-key": (text_of(lambda t: t.replace('"arena":', '"arena": 1, "arena":')), "twice"),
    "nan": (text_of(lambda t: t.replace("4096", "NaN")), "NaN is not a number"),
    "infinity": (text_of(lambda t: t.replace("4096", "-Infinity")), "not a number"),
    "overflowing-float": (text_of(lambda t: t.replace("4096", "1e999")), "out of the range"),
    "long-float": (text_of(lambda t: t.replace("4096", "9" * 4000 + "e999")), "out of the range"),
    "float": (text_of(lambda t: t.replace("4096", "4096.0")), "expected an integer"),
    "endless-integer": (text_of(lambda t: t.replace("4096", "9" * 5000)), "JSON"),
    "deep": (lambda value: b"[" * 200_000, "JSON"),
    "no-object": (lambda value: b"[]", "expected an object"),
    "null": (lambda value: b"null", "expected an object"),
    "no-json": (lambda value: b"pickle", "JSON"),
    "utf-16": (lambda value: json.dumps(value).encode("utf-16"), "JSON"),
    "bad-utf-8": (lambda value: b'{"\xff": 1}', "JSON"),
    "byte-order-mark": (lambda value: b"\xef\xbb\xbf" + json.dumps(value).encode(), "JSON"),
    "trailing": (lambda value: json.dumps(value).encode() + b"{}", "JSON"),
    "comment": (lambda value: b"/**/" + json.dumps(value).encode(), "JSON"),
}


@pytest.mark.parametrize("change", TEXTS)
def test_text(seal: Callable[..., Path], change: str) -> None:
    encode, message = TEXTS[change]
    with pytest.raises(BundleError, match=message) as caught:
        read_bundle(seal(*program(), encode=encode))
    assert len(str(caught.value)) < 500


def test_many_duplicate_keys_are_found_quickly(seal: Callable[..., Path]) -> None:
    """The search for the repeated key must not be quadratic."""
    keys = ",".join(f'"{index}":0' for index in range(300_000))
    with pytest.raises(BundleError, match="twice"):
        read_bundle(seal(*program(), encode=lambda value: f'{{{keys},"299999":0}}'.encode()))


LONG = "x" * 60_000


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(entry=LONG + "-"),
        lambda m: [buffer.update(name=LONG) for buffer in m["buffers"][:2]],
        lambda m: m["buffers"][5].update(name=LONG, offset=1),
        lambda m: (
            [operand.update(offsets=[0]) for operand in m["bodies"][0]["footprints"][0]],
            m["tasks"][0].update(name=LONG, vctas=3, grid=[3]),
        ),
        lambda m: m["statistics"].update({LONG: ""}),
        lambda m: m["options"].update({LONG: 1 << 80}),
    ],
)
def test_messages_quote_long_names_in_part(change: Change) -> None:
    refused(change, "x{9}")


def test_a_grid_of_many_extents_is_refused_quickly(seal: Callable[..., Path]) -> None:
    """The product of the extents would have millions of digits."""
    manifest, sections = add_program().parts()
    manifest["tasks"][0]["grid"] = [(1 << 31) - 1] * 1_000_000
    begin = time.process_time()
    with pytest.raises(BundleError, match="rank 1000000"):
        read_bundle(seal(manifest, sections))
    assert time.process_time() - begin < 10


@pytest.mark.parametrize(
    "owner", ["x", "rank1x", "rank01", "rank\u0661", "rank-1", "rank9", "rank"]
)
def test_ranks(owner: str) -> None:
    """The number of ranks, which only the manifest states, costs neither time nor memory."""
    manifest, sections = add_program().parts()
    for buffer in manifest["buffers"]:
        buffer["name"] = f"rank1/{buffer['name']}"
    manifest["target"]["sms"] = manifest["ranks"] = 1 << 30
    begin = time.process_time()
    assert Bundle.from_parts(manifest, sections).manifest.ranks == 1 << 30
    assert time.process_time() - begin < 2
    manifest["target"]["sms"] = manifest["ranks"] = 2
    manifest["buffers"][0]["name"] = f"{owner}/x"
    with pytest.raises(BundleError, match=r"the name of input .* has no rank"):
        Bundle.from_parts(manifest, sections)


ORIGIN = {"kind": "llama", "entries": {"rope_theta": "0" * 64}, "tensors": "f" * 64}


def test_the_origin_of_a_model() -> None:
    manifest, sections = program()
    manifest["origin"] = ORIGIN
    bundle = Bundle.from_parts(manifest, sections)
    assert bundle.manifest.as_json()["origin"] == ORIGIN
    for change, message in (
        ({"kind": ""}, r"origin\.kind: must not be empty"),
        ({"tensors": "0" * 63}, r"origin\.tensors: expected 64 lower-case hex digits"),
        ({"entries": {"a": 1}}, r"origin\.entries\.a: expected a string"),
        ({"entries": {"\n": "0" * 64}}, "cannot be printed"),
        ({"more": 1}, "unknown key 'more'"),
    ):
        refused(lambda m, change=change: m.update(origin={**ORIGIN, **change}), message)
