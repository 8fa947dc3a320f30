"""Names of the tensors of decoders in the files of Hugging Face."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = [
    "GLM", "GLM4", "GPT2", "LLAMA", "OLMO2", "PHI", "PHI3", "SANDWICH", "STARCODER2", "TRANSPOSED",
    "TensorNames",
]  # fmt: skip

# Ends the name of a parameter that is the transpose of a tensor of the files. A square matrix that
# is bound without its transposition would otherwise be a wrong number, not an error.
TRANSPOSED = ".transposed"


@dataclass(frozen=True)
class TensorNames:
    """The names of a decoder's tensors, without ``.weight`` and ``.bias``.

    Attributes:
        embedding, positions, final_norm, head: names of tensors outside the layers.
        layers: the name of the list of layers.
        attention, mlp: names of the parts of a layer; the names of their tensors follow below.
        before_attention, after_attention, before_mlp, after_mlp: names of a layer's norms of inputs
            and outputs; None for an absent norm.
        qkv: the name of a tensor that has the rows of queries, then keys, then values.
        gate_up: the name of a tensor that has the rows of the gate, then the rows of `up`.
        rows_are_inputs: True if matrices are parameters ``[inputs, outputs]``.
        weight: the last part of the names of matrices.
    """

    embedding: str = "model.embed_tokens"
    positions: str = ""
    layers: str = "model.layers"
    final_norm: str = "model.norm"
    head: str = "lm_head"
    attention: str = "self_attn"
    query: str = "q_proj"
    key: str = "k_proj"
    value: str = "v_proj"
    qkv: str | None = None
    output: str = "o_proj"
    mlp: str = "mlp"
    gate: str = "gate_proj"
    up: str = "up_proj"
    gate_up: str | None = None
    down: str = "down_proj"
    before_attention: str | None = "input_layernorm"
    after_attention: str | None = None
    before_mlp: str | None = "post_attention_layernorm"
    after_mlp: str | None = None
    rows_are_inputs: bool = False
    weight: str = "weight"

    def of_layer(self, layer: int) -> str:
        """Returns the prefix of a layer's tensors."""
        return f"{self.layers}.{layer}"

    def matrix(self, outputs: int, inputs: int) -> tuple[int, int]:
        """Returns the shape of a weight."""
        return (inputs, outputs) if self.rows_are_inputs else (outputs, inputs)

    def by_outputs(self) -> TensorNames:
        """Returns names of matrices ``[outputs, inputs]``, transposed if the files have others.

        Kernels stream only such matrices: an output reads one row, which is contiguous.

        >>> GPT2.by_outputs().weight, LLAMA.by_outputs().weight
        ('weight.transposed', 'weight')
        """
        if not self.rows_are_inputs:
            return self
        return replace(self, rows_are_inputs=False, weight=f"{self.weight}{TRANSPOSED}")


LLAMA = TensorNames()
PHI3 = TensorNames(qkv="qkv_proj", gate_up="gate_up_proj")
GLM = TensorNames(gate_up="gate_up_proj")
GLM4 = TensorNames(
    gate_up="gate_up_proj",
    after_attention="post_self_attn_layernorm",
    after_mlp="post_mlp_layernorm",
)
STARCODER2 = TensorNames(up="c_fc", down="c_proj")
OLMO2 = TensorNames(
    before_attention=None,
    after_attention="post_attention_layernorm",
    before_mlp=None,
    after_mlp="post_feedforward_layernorm",
)
SANDWICH = TensorNames(
    after_attention="post_attention_layernorm",
    before_mlp="pre_feedforward_layernorm",
    after_mlp="post_feedforward_layernorm",
)
PHI = TensorNames(final_norm="model.final_layernorm", output="dense", up="fc1", down="fc2")
GPT2 = TensorNames(
    embedding="transformer.wte",
    positions="transformer.wpe",
    layers="transformer.h",
    final_norm="transformer.ln_f",
    attention="attn",
    qkv="c_attn",
    output="c_proj",
    up="c_fc",
    down="c_proj",
    before_attention="ln_1",
    before_mlp="ln_2",
    rows_are_inputs=True,
)
