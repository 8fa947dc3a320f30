"""A program uses the parameters that another one has bound, with its states."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

pytestmark = pytest.mark.any_target

Pick = Callable[[str], Any]


def program(name: str, factor: float, width: int = 4) -> ark.Program:
    """Returns ``y = total = total + factor * x * w``."""
    with ark.Program(name) as result:
        x, w = ark.input("x", (3, 4)), ark.parameter("w", (width,))
        total = ark.state("total", (3, 4))
        ark.output("y", ark.update(total, total + factor * (x * w), (0, 0)) + 0.0)
    return result


@pytest.fixture
def pair(pick_target: Pick) -> tuple[ark.Executable, ark.Executable]:
    owner, guest = (
        ark.compile(program(name, factor), pick_target("cpu:2"))
        for name, factor in (("owner", 1.0), ("guest", 10.0))
    )
    return owner.bind({"w": np.full(4, 2.0, np.float32)}), guest


X = np.ones((3, 4), np.float32)


def test_states_and_parameters_of_the_owner(pair: tuple[ark.Executable, ark.Executable]) -> None:
    owner, guest = pair
    assert guest.share_states(owner, parameters=True) is guest
    assert owner.run(x=X)["y"][0, 0] == 2
    assert guest.run(x=X)["y"][0, 0] == 22
    owner.bind({"w": np.full(4, 3.0, np.float32)})
    assert owner.run(x=X)["y"][0, 0] == 25
    assert guest.run(x=X)["y"][0, 0] == 45
    guest.bind({"w": np.full(4, 5.0, np.float32)})
    assert guest.run(x=X)["y"][0, 0] == 95
    owner.close()
    with pytest.raises(ark.InvalidUsageError, match="'owner', whose states 'guest' shares"):
        guest.run(x=X)


def test_the_owner_lives_as_long_as_its_guest(
    pair: tuple[ark.Executable, ark.Executable],
) -> None:
    owner, guest = pair
    guest.share_states(owner, parameters=True)
    del owner, pair
    gc.collect()
    assert guest.run(x=X)["y"][0, 0] == 20


def test_other_states_unbind_borrowed_parameters(
    pair: tuple[ark.Executable, ark.Executable], pick_target: Pick
) -> None:
    owner, guest = pair
    guest.share_states(owner, parameters=True)
    with ark.compile(program("third", 1.0), pick_target("cpu:2")) as third:
        guest.share_states(third)
        with pytest.raises(ark.InvalidUsageError, match="parameter 'w' is not bound"):
            guest.run(x=X)
        guest.bind({"w": np.ones(4, np.float32)})
        assert guest.run(x=X)["y"][0, 0] == 10
        guest.share_states(owner)
        assert guest.run(x=X)["y"][0, 0] == 10


def test_only_the_owner_of_states_lends_parameters(
    pair: tuple[ark.Executable, ark.Executable], pick_target: Pick
) -> None:
    owner, guest = pair
    guest.share_states(owner, parameters=True)
    with (
        ark.compile(program("third", 1.0), pick_target("cpu:2")) as third,
        pytest.raises(ark.InvalidUsageError, match="'owner' owns its states"),
    ):
        third.share_states(guest, parameters=True)


def test_a_parameter_of_another_shape(
    pair: tuple[ark.Executable, ark.Executable], pick_target: Pick
) -> None:
    owner, _ = pair
    with ark.compile(program("third", 1.0, width=1), pick_target("cpu:2")) as third:
        with pytest.raises(ark.InvalidUsageError, match=r"parameter 'w' is fp32 \[4\], not"):
            third.share_states(owner, parameters=True)
        third.bind({"w": np.ones(1, np.float32)})
        assert third.run(x=X)["y"][0, 0] == 1
        assert owner.run(x=X)["y"][0, 0] == 2


def test_parameters_that_the_owner_has_not_bound(
    pair: tuple[ark.Executable, ark.Executable],
) -> None:
    owner, guest = pair
    owner.share_states(guest, parameters=True)
    assert owner.run(x=X)["y"][0, 0] == 2
