//===- ArkGradientOps.td - Gradients with a form of their own ---*- tablegen -*-===//
//
// Gradients for which other ops of the graph need much more memory, or more traffic to memory.
// Semantics and checks are as in ArkGraphOps.td.
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

def Ark_NormInputGradientOp : Ark_AnchorOp<"norm_input_gradient"> {
  let summary = "The gradient of the operand of a norm";
  let description = [{
    `operand`, `weight` and `eps` are those of `ark.layernorm` with `centred`, and of `ark.rmsnorm`
    without it. `cotangent` is that of the norm's result. All of a row's elements are read for each
    element of the result.

    For a row `x` with the cotangent `g`, let `s = g * weight`, `r = 1 / sqrt(var + eps)` and
    `u = (x - mean) * r`. The result is `r * (s - mean(s) - u * mean(s * u))`. Without `centred`,
    `mean` and `mean(s)` are zero and `var` is `mean(x^2)`.

    - (norm_gradient_c1) the operand has rank one or more.
    - (norm_gradient_c2) the cotangent has the operand's type.
    - (norm_gradient_c3) the weight is a vector of the last extent and of the operand's element type.

    ```mlir
    %0 = ark.norm_input_gradient %x, %g weight %w eps = 1.0e-5 {centred}
        : (tensor<4x64xbf16>, tensor<4x64xbf16>, tensor<64xbf16>) -> tensor<4x64xbf16>
    ```
  }];
  let arguments = (ins Ark_FloatTensor:$operand, Ark_FloatTensor:$cotangent,
                       Optional<Ark_FloatTensor>:$weight, F64Attr:$eps, UnitAttr:$centred);
  let assemblyFormat = [{
    $operand `,` $cotangent (`weight` $weight^)? `eps` `=` $eps attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getPrologueOperands() {
      return {getOperand(), getCotangent()};
    }
    ::llvm::SmallVector<int64_t> getWholeDims(int64_t rank) { return {rank - 1}; }
    ::mlir::Value getTiledOperand() { return getCotangent(); }
  }];
}

def Ark_NormStatisticsOp : Ark_AnchorOp<"norm_statistics"> {
  let summary = "The mean and the scale of each row of a norm";
  let description = [{
    For each row `x` along the last dimension, the result holds the mean and
    `1 / sqrt(mean((x - mean)^2) + eps)`, as in `ark.layernorm`. Without `centred`, the result holds
    only `1 / sqrt(mean(x^2) + eps)`, as in `ark.rmsnorm`. The last extent of the result is hence two
    or one. The result is f32. The gradients of the norm's weight read it.

    - (norm_statistics_c1) the operand has a last dimension of positive extent.

    ```mlir
    %0 = ark.norm_statistics %x eps = 1.0e-5 {centred} : (tensor<4x64xbf16>) -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins Ark_FloatTensor:$operand, F64Attr:$eps, UnitAttr:$centred);
  let assemblyFormat = [{
    $operand `eps` `=` $eps attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getPrologueOperands() { return {getOperand()}; }
    ::llvm::SmallVector<int64_t> getWholeDims(int64_t rank) { return {rank - 1}; }
  }];
}

#endif // ARK_GRADIENT_OPS_TD
