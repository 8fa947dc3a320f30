//===- ArkGradientOps.td - Gradients with a form of their own ---*- tablegen -*-===//
//
// Gradients for which other ops of the graph need much more memory. Semantics and checks are as in
// ArkGraphOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_GRADIENT_OPS_TD
#define ARK_GRADIENT_OPS_TD

include "dialects/ark/ArkAnchorOps.td"

class Ark_AttentionGradientOp<string mnemonic>
    : Ark_AnchorOp<mnemonic, [AttrSizedOperandSegments, AttentionGradientOpInterface]> {
  let arguments = (ins Ark_FloatTensor:$query, Ark_FloatTensor:$key, Ark_FloatTensor:$value,
                       Ark_FloatTensor:$cotangent, Ark_F32Tensor:$log_sum_exp, Ark_F32Tensor:$mean,
                       Optional<Ark_Tensor>:$mask, Optional<Ark_ScalarTensor>:$kv_length,
                       F64Attr:$scale, UnitAttr:$causal);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $cotangent `,` $log_sum_exp `,` $mean
    (`mask` $mask^)? (`kv_length` $kv_length^)?
    `scale` `=` $scale attr-dict `:` functional-type(operands, results)
  }];
}

def Ark_AttentionQueryGradientOp : Ark_AttentionGradientOp<"attention_query_gradient"> {
  let summary = "The gradient of the queries of an attention";
  let description = [{
    q is `[..., H, R, Tq, D]`, k and v are `[..., H, Tk, D]`: R query heads share a key head.
    `cotangent` is that of the attention's result, `[..., H, R, Tq, Dv]`. For each query,
    `log_sum_exp` is the logarithm of the sum of the exponentials of its scores, and `mean` is the
    scalar product of the attention's result and its cotangent; both are `[..., H, R, Tq]`.
    `kv_length`, `causal` and the mask, which broadcasts to `[..., H, R, Tq, Tk]`, are as in
    `ark.attention`.

    With `weight = exp(q . k * scale + mask - log_sum_exp)`, zero for a key that the query does not
    see, the result is the sum over the keys of `weight * (cotangent . v - mean) * scale * k`, of
    the type of q. No weights of all queries and keys are in memory at one time.

    - (attention_gradient_c1) q has rank four or more, k and v have one rank less, and the cotangent
      has the rank of q; all have one element type.
    - (attention_gradient_c2) leading extents agree; D, Dv, Tq and Tk agree.
    - (attention_gradient_c3) `log_sum_exp` and `mean` have the shape of q without D.
    - (attention_gradient_c4) the mask broadcasts to the scores and is bool or of q's element type.

    ```mlir
    %0 = ark.attention_query_gradient %q, %k, %v, %g, %lse, %mean scale = 0.125 {causal}
        : (tensor<2x4x96x64xf32>, tensor<2x128x64xf32>, tensor<2x128x64xf32>, tensor<2x4x96x64xf32>,
           tensor<2x4x96xf32>, tensor<2x4x96xf32>) -> tensor<2x4x96x64xf32>
    ```
  }];
  let extraClassDeclaration = [{
    bool hasKeyRows() { return false; }
    ::llvm::SmallVector<int64_t> getWholeDims(int64_t rank) { return {rank - 1}; }
    ::mlir::Attribute getValueIfEmpty();
    ::llvm::StringRef getEmptyRead();
  }];
}

def Ark_AttentionKeyValueGradientOp : Ark_AttentionGradientOp<"attention_key_value_gradient"> {
  let summary = "The gradients of the keys and the values of an attention";
  let description = [{
    Operands are those of `ark.attention_query_gradient`, with the same constraints. The result is
    `[..., H, Tk, D + Dv]`, of the type of k. For each key the result holds the sum over all queries
    of the R query heads of `weight * (cotangent . v - mean) * scale * q`, then the sum of
    `weight * cotangent`. Both are zero for a key beyond `kv_length`.

    ```mlir
    %0 = ark.attention_key_value_gradient %q, %k, %v, %g, %lse, %mean scale = 0.125 {causal}
        : (tensor<2x4x96x64xf32>, tensor<2x128x64xf32>, tensor<2x128x64xf32>, tensor<2x4x96x64xf32>,
           tensor<2x4x96xf32>, tensor<2x4x96xf32>) -> tensor<2x128x128xf32>
    ```
  }];
  let extraClassDeclaration = [{
    bool hasKeyRows() { return true; }
    ::llvm::SmallVector<int64_t> getWholeDims(int64_t rank) { return {rank - 1}; }
    ::mlir::Attribute getValueIfEmpty();
    ::llvm::StringRef getEmptyRead();
  }];
}

#endif // ARK_GRADIENT_OPS_TD
