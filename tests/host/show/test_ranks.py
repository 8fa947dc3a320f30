"""The timeline page of a program of several ranks: whose lanes, and what ranks send."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from browser import drawn_by_browser, needs_browser

from ark_mlir.bundle import Bundle
from ark_mlir.show import write_timeline
from ark_mlir.simulation import simulate
from ark_mlir.testing.toy import ToyProgram, barrier, run, signal, wait


def two_ranks() -> Bundle:
    """Two work items of rank 0 put 128 and 64 bytes into the arena of rank 1, which copies them."""
    program = ToyProgram(sms=4, arena=2048)
    x = program.buffer("rank0/x", "input", "uint8", [512])
    y = program.buffer("rank1/y", "output", "uint8", [512])
    put = program.task("copy", 3, [(0, 1024), (x, 0)], "rank0/put")
    take = program.task("copy", 3, [(y, 0), (0, 1024)], "rank1/take")
    sent, end = program.semaphore(2, "sent"), program.semaphore(3, "end")
    program.lane(0, [run(put, 0, 2), signal(sent), barrier(end, 3)])
    program.lane(1, [run(put, 2, 3), signal(sent), barrier(end, 3)])
    program.lane(2, [wait(sent, 2), run(take, 0, 3), barrier(end, 3)])
    return Bundle.from_parts(*program.parts(ranks=2))


def meta_of(page: Path) -> Any:
    found = re.search(r'<script type="application/json" id="meta">(.*?)</script>', page.read_text())
    assert found
    return json.loads(found[1])


def test_the_page_has_the_bytes_between_ranks(tmp_path: Path) -> None:
    write_timeline(two_ranks(), tmp_path / "page.html")
    meta = meta_of(tmp_path / "page.html")
    assert (meta["ranks"], meta["smsOfRank"]) == (2, 2)
    assert meta["links"] == [
        {"name": "rank 0 to rank 1", "bytes": 192, "text": "192 B · 2 messages"}
    ]
    assert [task["sends"] for task in meta["tasks"]] == ["192 B to rank 1", ""]


def test_simulated_links_replace_pairs_of_ranks(tmp_path: Path) -> None:
    prediction = simulate(two_ranks(), "h200")
    write_timeline(two_ranks(), tmp_path / "page.html", links=prediction.links)
    links = meta_of(tmp_path / "page.html")["links"]
    assert {link["name"] for link in links} == {"nvlink-out of GPU 0", "nvlink-in of GPU 1"}
    assert all(re.fullmatch(r"192 B · 2 messages · [\d.]+ % busy", link["text"]) for link in links)


def test_one_rank_has_no_links(tmp_path: Path) -> None:
    program = ToyProgram(sms=2, arena=2048)
    x = program.buffer("x", "input", "uint8", [512])
    end = program.semaphore(1, "end")
    copy = program.task("copy", 2, [(0, 1024), (x, 0)], "copy")
    program.lane(0, [run(copy, 0, 2), barrier(end, 1)])
    write_timeline(Bundle.from_parts(*program.parts()), tmp_path / "page.html")
    meta = meta_of(tmp_path / "page.html")
    assert meta["links"] == []
    assert [task["sends"] for task in meta["tasks"]] == [""]


@needs_browser
def test_a_browser_draws_ranks_and_links(tmp_path: Path) -> None:
    write_timeline(two_ranks(), tmp_path / "page.html")
    drawn = drawn_by_browser(tmp_path / "page.html")
    assert 'data-ready="yes"' in drawn
    assert re.search(r'<div id="links">.*rank 0 to rank 1.*192 B · 2 messages', drawn, re.S)
