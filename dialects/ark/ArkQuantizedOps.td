//===- ArkQuantizedOps.td - Products with quantized weights -*- tablegen -*-===//
//
// The labels of constraints are as in ArkAnchorOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_QUANTIZED_OPS_TD
#define ARK_QUANTIZED_OPS_TD

include "dialects/ark/ArkAnchorOps.td"

def Ark_QuantizedTensor : Ark_TensorOf<[F8E4M3FN, I8]>;

def Ark_QuantizedMatmulOp : Ark_AnchorOp<"quantized_matmul"> {
  let summary = "Product with the rows of weights of 4 or 8 bits, which have scales for groups";
  let description = [{
    Computes `out[m, n] = sum_k lhs[m, k] * (w[n, k] - z[n, g]) * scales[n, g]` in f32, where `g` is
    the group of `k`: each row has `G` groups of `K / G` consecutive elements. Weights of f8E4M3FN
    have no zeros. Weights of i8 are bytes of two unsigned numbers of 4 bits, of which the one with
    the lower index has the lower bits; without `zeros`, `z` is 8. Of a zero, the 4 low bits count.

    A program should have the op for 16 rows of `lhs` or fewer: threads widen the weights for each
    row. More rows are correct, but each 16 rows read all weights again.

    A program should have the op for 16 rows of `lhs` or fewer: threads widen the weights for each
    row. More rows are correct, but each 16 rows read all weights again.

    - (quantized_matmul_c1) the operands are matrices.
    - (quantized_matmul_c2) a row of weights has the K elements of a row of `lhs`, in K / 2 bytes
      with 4 bits.
    - (quantized_matmul_c3) `scales` has N rows, of G elements that divide K; with 4 bits, a group
      has an even number of elements.
    - (quantized_matmul_c4) `zeros` belongs to weights of 4 bits, and has the shape of `scales`.

    ```mlir
    %2 = ark.quantized_matmul %0, %1 scales %s zeros %z
        : (tensor<1x256xbf16>, tensor<64x128xi8>, tensor<64x2xf16>, tensor<64x2xi8>) -> tensor<1x64xbf16>
    ```
  }];
  let arguments = (ins Ark_FloatTensor:$lhs, Ark_QuantizedTensor:$weights, Ark_FloatTensor:$scales,
                       Optional<Ark_TensorOf<[I8]>>:$zeros);
  let assemblyFormat = [{
    $lhs `,` $weights `scales` $scales (`zeros` $zeros^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::mlir::Attribute getValueIfEmpty();
    /// Returns the number of elements of a row that share a scale.
    int64_t getGroup();
  }];
}

#endif // ARK_QUANTIZED_OPS_TD
