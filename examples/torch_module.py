"""Compiles a PyTorch module to one kernel, with ``ark.from_torch`` and with ``torch.compile``.

python examples/torch_module.py          # needs PyTorch: pip install 'ark-mlir[torch]'
"""

from __future__ import annotations

import torch
from torch import nn

import ark_mlir as ark


def main() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 256, activation="gelu", batch_first=True)
    x = torch.randn(2, 16, 64)

    program = ark.from_torch(layer.eval(), x)
    print(f"inputs {list(program.inputs)}, parameters {len(program.parameters)}")
    with ark.compile(program, target="cpu").bind(program.state_dict()) as executable:
        imported = executable.run(src=x)["output"]
        print(executable.report())

    fast = torch.compile(layer, backend="ark")
    with torch.no_grad():
        expected, compiled = layer(x), fast(x)
    print(f"largest difference from PyTorch, imported: {(imported - expected).abs().max():.1e}")
    print(f"largest difference from PyTorch, compiled: {(compiled - expected).abs().max():.1e}")


if __name__ == "__main__":
    main()
