"""Programs of PyTorch modules on an emulated GPU, with tensors that claim to be on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from emulation import Emulation
from torch_on_fake_gpu import make_cuda, on_gpu, torch

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within
from ark_mlir.testing.fake_gpu import FakeCuda, FakeHip

nn = torch.nn
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


on_both_vendors = pytest.mark.parametrize(
    ("vendor", "arch"), [(FakeCuda, "sm_90a"), (FakeHip, "gfx942")], ids=["cuda", "hip"]
)


@pytest.fixture
def module() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(24, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 8)).eval()


def run(program: ark.Program, parameters: Any, inputs: Any, emulation: Emulation) -> Any:
    """Returns the result of a program on tensors of a GPU, which the kernel reads in place."""

    def placed(tensor: Any) -> Any:
        return on_gpu(torch.from_numpy(emulation.on_device(tensor.detach().numpy())))

    with emulation.executable as executable:
        executable.bind({name: placed(tensor) for name, tensor in parameters.items()})
        out = {b.name: placed(torch.zeros(b.shape)) for b in executable.outputs}
        given = {name: placed(tensor) for name, tensor in inputs.items()}
        (y,) = emulation.run(given, out=out).values()
        in_place = executable.report().bound_in_place
    assert in_place == sum(t.numel() * t.element_size() for t in parameters.values())
    arrays = {n: t.detach().numpy() for n, t in {**parameters, **inputs}.items()}
    expected = ark.reference.evaluate(program, arrays, bound=True)
    ((name, exact),) = expected.outputs.items()
    assert_within(y.as_subclass(torch.Tensor).numpy(), exact, expected.bounds[name], name)
    return y.as_subclass(torch.Tensor)


@on_both_vendors
def test_from_torch_on_tensors_of_a_gpu(
    vendor: type[FakeCuda],
    arch: str,
    module: Any,
    library: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_cuda(monkeypatch, vendor)
    x = torch.randn(6, 24)
    program = ark.from_torch(module, on_gpu(x))
    emulation = Emulation(program, library, tmp_path, arch=arch)
    y = run(program, program.state_dict(), {"input": x}, emulation)
    torch.testing.assert_close(y, module(x), rtol=1e-4, atol=1e-5)


@on_both_vendors
def test_a_graph_of_dynamo(
    vendor: type[FakeCuda],
    arch: str,
    module: Any,
    library: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The program that ``torch.compile`` makes, with the tensors that a call binds and passes."""
    from ark_mlir.pytorch import backend

    programs: list[ark.Program] = []
    given: list[dict[str, Any]] = []
    compile_program, bind, call = ark.compile, ark.Executable.bind, ark.Executable.run

    def compiling(program: ark.Program, **options: Any) -> ark.Executable:
        programs.append(program)
        return compile_program(program, **options)

    def binding(self: ark.Executable, values: Any, **options: Any) -> ark.Executable:
        given.append(dict(values))
        return bind(self, values, **options)

    def running(self: ark.Executable, inputs: Any, **options: Any) -> dict[str, Any]:
        given.append(dict(inputs))
        return call(self, inputs, **options)

    with monkeypatch.context() as patch, torch.no_grad():
        patch.setattr(backend, "compile", compiling)
        patch.setattr(ark.Executable, "bind", binding)
        patch.setattr(ark.Executable, "run", running)
        torch._dynamo.reset()
        fast = torch.compile(module, backend=backend.backend, options={"target": "cpu:1"})
        wanted = fast(torch.randn(6, 24))
    make_cuda(monkeypatch, vendor)
    (program,), (parameters, inputs) = programs, given
    y = run(program, parameters, inputs, Emulation(program, library, tmp_path, arch=arch))
    torch.testing.assert_close(y, wanted, rtol=1e-4, atol=1e-5)
