"""Files of topologies: those of ark, paths between GPUs, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ark_mlir.errors import InvalidUsageError
from ark_mlir.simulation import Measurement, Topology, topologies


def content() -> dict[str, Any]:
    return {
        "format": 1,
        "hosts": 2,
        "gpus_per_host": 4,
        "gpu": {"handoff_ns": 600, "barrier_ns": 950, "packet_ns": 300},
        "links": {
            "out": {"owner": "source-gpu", "gbps": 300},
            "nic": {"owner": "rail", "gbps": 50.0, "gap_ns": 10},
            "bus": {"owner": "target-host", "gbps": 64},
            "wire": {"owner": "pair", "gbps": 25},
        },
        "paths": {
            "host": {"links": ["out"], "latency_ns": 620, "signal_ns": 1800, "lane_gbps": 20},
            "rail": {"links": ["nic", "bus"], "latency_ns": 8400, "signal_ns": 8400},
            "world": {"links": ["wire"], "latency_ns": 9000, "signal_ns": 9000},
        },
    }


def write(folder: Path, value: Any) -> Path:
    path = folder / "net.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_a_file_is_read(tmp_path: Path) -> None:
    topology = Topology.read(write(tmp_path, content()))
    assert (topology.name, topology.gpus) == ("net", 8)
    assert topology.path(0, 3).lane_gbps == 20
    assert topology.link_names(0, 3) == ["out of GPU 0"]
    assert topology.link_names(1, 5) == ["nic of rail 1", "bus of host 1"]
    assert topology.link_names(1, 6) == ["wire of GPUs 1 and 6"]
    assert topology.links["nic"].occupation(100) == 10  # the gap is longer than 100 / 50
    assert topology.links["nic"].occupation(5000) == 100


@pytest.mark.parametrize("name", topologies())
def test_topologies_of_ark_are_valid(name: str) -> None:
    topology = Topology.read(name)
    for target in range(1, topology.gpus):
        assert topology.link_names(0, target)


def test_topologies_of_ark_have_names() -> None:
    assert topologies() == ["h200", "h200x8"]
    assert [Topology.read(name).gpus for name in topologies()] == [8, 64]


def test_messages_without_delays() -> None:
    ideal = Topology.read("h200x8").without_delays()
    assert {link.occupation(1 << 30) for link in ideal.links.values()} == {0}
    assert {path.latency_ns + path.signal_ns for path in ideal.paths.values()} == {0}
    assert ideal.gpu == Topology.read("h200x8").gpu


def changed(change: Any) -> dict[str, Any]:
    result = content()
    change(result)
    return result


def with_measured(**values: Any) -> dict[str, Any]:
    measured = {"exchange": "all_reduce", "ranks": 2, "bytes": 2048, "us": 1.5, **values}
    return {**content(), "measured": [measured]}


def test_measured_times_are_read(tmp_path: Path) -> None:
    (measured,) = Topology.read(write(tmp_path, with_measured())).measured
    assert measured == Measurement("all_reduce", 2, 2048, 1.5)
    assert Topology.read(write(tmp_path, content())).measured == ()
    values = {"exchange": "gradients", "bytes": 8192, "sms": 8}
    (measured,) = Topology.read(write(tmp_path, with_measured(**values))).measured
    assert measured == Measurement("gradients", 2, 8192, 1.5, sms=8)


def with_published(**values: Any) -> dict[str, Any]:
    entry = {"exchange": "one_all_reduce", "ranks": 2, "bytes": 2048, "us": 1.5, "source": "L"}
    return {**content(), "published": [{**entry, **values}]}


def test_published_times_are_read(tmp_path: Path) -> None:
    (published,) = Topology.read(write(tmp_path, with_published())).published
    assert published == Measurement("one_all_reduce", 2, 2048, 1.5, source="L")
    assert Topology.read(write(tmp_path, content())).published == ()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"exchange": "all_reduce"}, "one_all_reduce"),
        ({"ranks": 9}, "9"),
        ({"bytes": 3}, "3 is odd"),
        ({"us": 0}, "a time must be above 0"),
        ({"source": 4}, "source"),
        ({"sms": 4}, "sms"),
    ],
)
def test_wrong_published_times(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidUsageError, match=message):
        Topology.read(write(tmp_path, with_published(**values)))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{", "topology: not valid JSON"),
        ([], "topology: expected an object"),
        (changed(lambda t: t.pop("gpu")), "key 'gpu' is missing"),
        (changed(lambda t: t.update(format=2)), "format: 2 is not in"),
        (changed(lambda t: t.update(hosts=0)), "hosts: 0 is not in"),
        (changed(lambda t: t.update(hosts=60000)), "hosts: 240000 GPUs; the limit is 65536"),
        (changed(lambda t: t["gpu"].update(packet_ns=-1)), "gpu.packet_ns: -1 is less than 0"),
        (
            changed(lambda t: t["links"]["out"].update(gbps=0)),
            "links.out.gbps: a rate must be abov",
        ),
        (changed(lambda t: t["links"]["out"].update(owner="rack")), "owner: 'rack' is not one of"),
        (changed(lambda t: t["links"]["out"].update(speed=1)), "links.out: unknown key 'speed'"),
        (
            changed(lambda t: t["paths"]["host"].update(links=["out", "nvswitch"])),
            r"paths.host.links\[1\]: there is no link 'nvswitch'; links are bus, nic, out, wire",
        ),
        (changed(lambda t: t["paths"]["host"].update(links=[])), "a path needs a link"),
        (changed(lambda t: t["paths"].update(rack=t["paths"]["host"])), "'rack' is not one of"),
        (with_measured(exchange="copy"), r"measured\[0\].exchange: 'copy' is not one of"),
        (with_measured(ranks=9), r"measured\[0\].ranks: 9 is not in"),
        (with_measured(bytes=3), r"measured\[0\].bytes: 3 is odd"),
        (
            with_measured(exchange="gradients", bytes=6),
            r"measured\[0\].bytes: 6 bytes of bf16 are no",
        ),
        (
            with_measured(exchange="gradients", bytes=8192, sms=0),
            r"measured\[0\].sms: 0 is less than 1",
        ),
        (with_measured(sms=8), r"measured\[0\].sms: a chain of all-reduces has no plan; omit"),
        (with_measured(us=0), r"measured\[0\].us: a time must be above 0"),
        (with_measured(gbps=1), r"measured\[0\]: unknown key 'gbps'"),
    ],
)
def test_malformed_files_are_named(value: Any, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, value)
    with pytest.raises(InvalidUsageError, match=message) as caught:
        Topology.read(path)
    assert caught.value.location == str(path)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidUsageError, match=r"cannot be read: No such file") as caught:
        Topology.read(tmp_path / "none.json")
    assert "ark has the topologies h200, h200x8" in str(caught.value)
