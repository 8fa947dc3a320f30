//===- ArkAnchorOps.td - Reductions, products, attention, indexing -*- tablegen -*-===//
//
// Semantics and checks are as in ArkGraphOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_ANCHOR_OPS_TD
#define ARK_ANCHOR_OPS_TD

include "dialects/ark/ArkGraphOps.td"

/// An anchor: a group has at most one.
class Ark_AnchorOp<string mnemonic, list<Trait> traits = []>
    : Ark_GraphOp<mnemonic, !listconcat([AnchorOpInterface], traits)>;

//===----------------------------------------------------------------------===//
// Reductions and normalisations
//===----------------------------------------------------------------------===//

class Ark_ReduceOp<string mnemonic, Type operand = Ark_NumberTensor> : Ark_AnchorOp<mnemonic> {
  let arguments = (ins operand:$operand, DenseI64ArrayAttr:$axes, BoolAttr:$keepdims);
  let assemblyFormat = [{
    $operand `axes` `=` $axes `keepdims` `=` $keepdims attr-dict
    `:` functional-type(operands, results)
  }];
  let description = [{
    16-bit floats accumulate in f32. With `keepdims` the reduced dimensions
    stay with extent one.

    - (reduce_c1) `axes` are distinct dimensions of the operand.
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getPrologueOperands() { return {getOperand()}; }
    ::mlir::Attribute getValueIfEmpty();
    bool canBePartOfBody() { return true; }
  }];
}

def Ark_ReduceSumOp : Ark_ReduceOp<"reduce_sum"> { let summary = "Sum over dimensions"; }
def Ark_ReduceMeanOp : Ark_ReduceOp<"reduce_mean", Ark_FloatTensor> { let summary = "Mean over dimensions"; }
def Ark_ReduceMaxOp : Ark_ReduceOp<"reduce_max"> { let summary = "Maximum over dimensions"; }
def Ark_ReduceMinOp : Ark_ReduceOp<"reduce_min"> { let summary = "Minimum over dimensions"; }

def Ark_ArgmaxOp : Ark_AnchorOp<"argmax"> {
  let summary = "Index of the first maximum along one dimension, as i32";
  let description = [{
    The reduced dimension is dropped.

    - (argmax_c1) `axis` is a dimension of the operand, of positive extent.
  }];
  let arguments = (ins Ark_NumberTensor:$operand, I64Attr:$axis);
  let assemblyFormat = [{
    $operand `axis` `=` $axis attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getPrologueOperands() { return {getOperand()}; }
  }];
}

def Ark_PartialArgmaxOp : Ark_AnchorOp<"partial_argmax"> {
  let summary = "Maximum of each partition of a dimension and its index, as one i64";
  let description = [{
    The op reduces dimension `axis`. The dimension before it counts the partitions, which are
    contiguous: element `n` of partition `p`, of `N` elements each, has the index `p * N + n`.

    The largest result belongs to the element that `ark.argmax` selects. The upper half of a result
    has the order of the values: NaN is above all numbers, and minus zero equals zero. The lower
    half is the complement of the index. The larger of two results thus has the larger value, or the
    lesser index if the values are equal. `ark.combine_argmax` returns the index in the largest
    result.

    - (partial_argmax_c1) `axis` is a dimension of the operand other than the first, of positive
      extent.
    - (partial_argmax_c2) elements have 32 bits or fewer.
    - (partial_argmax_c3) the indices of both dimensions together fit i32.
  }];
  let arguments = (ins Ark_NumberTensor:$operand, I64Attr:$axis);
  let assemblyFormat = [{
    $operand `axis` `=` $axis attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getPrologueOperands() { return {getOperand()}; }
  }];
}

def Ark_CombineArgmaxOp : Ark_AnchorOp<"combine_argmax"> {
  let summary = "Index of the first maximum, from the partitions of an argmax, as i32";
  let description = [{
    The operand is the result of `ark.partial_argmax`. The op drops dimension `axis`, which counts
    the partitions.

    - (combine_argmax_c1) `axis` is a dimension of the operand, of positive extent.

    ```mlir
    %1 = ark.partial_argmax %0 axis = 2 : (tensor<1x128x1002xf32>) -> tensor<1x128xi64>
    %2 = ark.combine_argmax %1 axis = 1 : (tensor<1x128xi64>) -> tensor<1xi32>
    ```
  }];
  let arguments = (ins Ark_I64Tensor:$operand, I64Attr:$axis);
  let assemblyFormat = [{
    $operand `axis` `=` $axis attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getPrologueOperands() { return {getOperand()}; }
  }];
}

def Ark_SoftmaxOp : Ark_AnchorOp<"softmax"> {
  let summary = "exp(x - max) / sum(exp(x - max)) along one dimension";
  let description = [{
    - (softmax_c1) `axis` is a dimension of the operand.
  }];
  let arguments = (ins Ark_FloatTensor:$operand, I64Attr:$axis);
  let assemblyFormat = [{
    $operand `axis` `=` $axis attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getPrologueOperands() { return {getOperand()}; }
    ::llvm::SmallVector<int64_t> getWholeDims(int64_t) {
      return {static_cast<int64_t>(getAxis())};
    }
    bool canBePartOfBody() { return true; }
  }];
}

class Ark_NormOp<string mnemonic> : Ark_AnchorOp<mnemonic, [AttrSizedOperandSegments]> {
  let arguments = (ins Ark_FloatTensor:$operand, Optional<Ark_FloatTensor>:$weight,
                       Optional<Ark_FloatTensor>:$bias, F64Attr:$eps);
  let assemblyFormat = [{
    $operand (`weight` $weight^)? (`bias` $bias^)? `eps` `=` $eps attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getPrologueOperands() { return {getOperand()}; }
    ::llvm::SmallVector<int64_t> getWholeDims(int64_t rank) { return {rank - 1}; }
    ::mlir::Value getTiledOperand() { return getOperand(); }
    bool hasCheapRows() { return true; }
    bool canBePartOfBody() { return true; }
  }];
}

def Ark_LayernormOp : Ark_NormOp<"layernorm"> {
  let summary = "(x - mean) / sqrt(var + eps) * weight + bias over the last dimension";
  let description = [{
    - (norm_c1) the operand has rank one or more.
    - (norm_c2) weight and bias are vectors of the last extent and of the operand's element type.
  }];
}

def Ark_RmsnormOp : Ark_AnchorOp<"rmsnorm"> {
  let summary = "x / sqrt(mean(x^2) + eps) * weight over the last dimension";
  let description = [{
    - (norm_c1) the operand has rank one or more.
    - (norm_c2) the weight is a vector of the last extent and of the operand's element type.
  }];
  let arguments = (ins Ark_FloatTensor:$operand, Optional<Ark_FloatTensor>:$weight, F64Attr:$eps);
  let assemblyFormat = [{
    $operand (`weight` $weight^)? `eps` `=` $eps attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getPrologueOperands() { return {getOperand()}; }
    ::llvm::SmallVector<int64_t> getWholeDims(int64_t rank) { return {rank - 1}; }
    ::mlir::Value getTiledOperand() { return getOperand(); }
    bool hasCheapRows() { return true; }
    bool canBePartOfBody() { return true; }
  }];
}

def Ark_TopThresholdOp : Ark_AnchorOp<"top_threshold"> {
  let summary = "The least number that top-k and top-p keep";
  let description = [{
    The op works on every row along the last dimension. The numbers must not be negative. Top-k keeps
    the `k` largest numbers, or all if `k` is not positive. Top-p (nucleus sampling) then keeps the
    smallest set of largest numbers whose sum is at least `p` times the sum of the numbers that top-k
    keeps; the set has at least one number. The result is the least number of the set. Numbers equal
    to the result are kept, too. The last dimension stays with extent one.

    - (top_threshold_c1) the operand has a last dimension of positive extent.

    ```mlir
    %1 = ark.top_threshold %0 k = %k p = %p
      : (tensor<4x1000xf32>, tensor<i32>, tensor<f32>) -> tensor<4x1xf32>
    ```
  }];
  let arguments = (ins Ark_F32Tensor:$operand, 0DTensorOf<[I32]>:$k, 0DTensorOf<[F32]>:$p);
  let assemblyFormat = [{
    $operand `k` `=` $k `p` `=` $p attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Each row needs its own search loops.
    ::llvm::SmallVector<int64_t> getUnitDims(int64_t rank) {
      return ::llvm::to_vector(::llvm::seq(rank));
    }
  }];
}

//===----------------------------------------------------------------------===//
// Linear algebra, attention, position
//===----------------------------------------------------------------------===//

def Ark_MatmulOp : Ark_AnchorOp<"matmul"> {
  let summary = "Matrix product over the last two dimensions; leading ones broadcast";
  let description = [{
    Floats accumulate in f32; integers wrap in their own type. With one operand of 8-bit floats and
    one of wider floats, the result has the wider type. Two operands of 8-bit floats give f32. The
    result of any floats may also be f32, the accumulator without rounding. The result of i8 may also
    be i32, in which the products are then added.

    - (matmul_c1) both operands have rank two or more. The operands have one element type, or are
      floats, at least one of which has 8 bits.
    - (matmul_c2) the contracted extents agree, after `transpose_input` and `transpose_other`.
    - (matmul_c3) the leading dimensions broadcast.

    ```mlir
    %2 = ark.matmul %0, %1 {transpose_other} : (tensor<4x64xf32>, tensor<256x64xf32>) -> tensor<4x256xf32>
    ```
  }];
  let arguments = (ins Ark_MatrixTensor:$lhs, Ark_MatrixTensor:$rhs,
                       UnitAttr:$transpose_input, UnitAttr:$transpose_other);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    ::mlir::Attribute getValueIfEmpty();
    bool canBePartOfBody() { return true; }
    /// Returns true for the inferred type, and for its shape with f32 elements
    /// instead of another float, or with i32 elements instead of i8.
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual);
  }];
}

def Ark_AttentionOp : Ark_AnchorOp<"attention", [AttrSizedOperandSegments, AttentionOpInterface]> {
  let summary = "softmax(q k^T * scale + mask) v for every head";
  let description = [{
    q is `[..., Hq, Tq, D]`, k and v are `[..., Hkv, Tk, D]`; query head `h` reads key head
    `h / (Hq / Hkv)`. `kv_length` bounds `Tk` at run time. The bound is a scalar, or has the shape of
    the leading dimensions of q: each element then bounds the keys of one sequence, which are the
    queries at one index of these dimensions. `causal` aligns the last query with the last valid key.
    The mask broadcasts to `[..., Hq, Tq, Tk]` and is added to the scores; a bool mask keeps the
    scores where it is true. A row with no valid key gives zeros.

    - (attention_c1) ranks agree and are three or more; q, k and v have one element type.
    - (attention_c2) leading extents agree, Hq is a multiple of Hkv, D and Tk agree.
    - (attention_c3) the mask broadcasts to the scores and is bool or of q's element type.
    - (attention_c4) `kv_length` is a scalar, or its extents are those of q before the heads.

    ```mlir
    %1 = ark.attention %q, %k, %v kv_length %lengths scale = 1.25e-1 {causal}
      : (tensor<4x8x1x64xf32>, tensor<4x2x512x64xf32>, tensor<4x2x512x64xf32>, tensor<4xi32>) -> tensor<4x8x1x64xf32>
    ```
  }];
  let arguments = (ins Ark_FloatTensor:$query, Ark_FloatTensor:$key, Ark_FloatTensor:$value,
                       Optional<Ark_Tensor>:$mask, Optional<Ark_IndexTensor>:$kv_length,
                       F64Attr:$scale, UnitAttr:$causal);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`kv_length` $kv_length^)?
    `scale` `=` $scale attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool hasPartitions() { return false; }
    ::llvm::SmallVector<int64_t> getWholeDims(int64_t rank) { return {rank - 1}; }
    /// A vCTA processes one sequence if each has its own length.
    ::llvm::SmallVector<int64_t> getUnitDims(int64_t rank);
    ::mlir::Attribute getValueIfEmpty();
    ::llvm::StringRef getEmptyRead();
  }];
}

def Ark_AttentionLogSumExpOp
    : Ark_AnchorOp<"attention_log_sum_exp", [AttrSizedOperandSegments, AttentionOpInterface]> {
  let summary = "The logarithm of the sum of the exponentials of the scores of each query";
  let description = [{
    Operands are those of `ark.attention`. The result is `[..., Hq, Tq, 1]`, in f32 or wider:
    `log(sum(exp(score)))` over the keys that the query sees, and zero for a query without a valid
    key. Gradients compute weights again from it.

    The result does not depend on v. If v is also the operand of an attention, one task computes both
    results, and compares queries and keys once.

    - (attention_log_sum_exp_c1) ranks agree and are three or more; q, k and v have one element type.
    - (attention_log_sum_exp_c2) leading extents agree, Hq is a multiple of Hkv, D and Tk agree.
    - (attention_log_sum_exp_c3) the mask broadcasts to the scores and is bool or of q's element type.
    - (attention_log_sum_exp_c4) `kv_length` is a scalar, or its extents are those of q before the
      heads.

    ```mlir
    %1 = ark.attention_log_sum_exp %q, %k, %v scale = 1.25e-1 {causal}
      : (tensor<8x96x64xbf16>, tensor<2x96x64xbf16>, tensor<2x96x64xbf16>) -> tensor<8x96x1xf32>
    ```
  }];
  let arguments = (ins Ark_FloatTensor:$query, Ark_FloatTensor:$key, Ark_FloatTensor:$value,
                       Optional<Ark_Tensor>:$mask, Optional<Ark_IndexTensor>:$kv_length,
                       F64Attr:$scale, UnitAttr:$causal);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`kv_length` $kv_length^)?
    `scale` `=` $scale attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool hasPartitions() { return false; }
    ::llvm::SmallVector<int64_t> getWholeDims(int64_t rank) { return {rank - 1}; }
    /// A vCTA processes one sequence if each has its own length.
    ::llvm::SmallVector<int64_t> getUnitDims(int64_t rank);
    ::mlir::Attribute getValueIfEmpty();
    ::llvm::StringRef getEmptyRead();
  }];
}

def Ark_PartialAttentionOp
    : Ark_AnchorOp<"partial_attention", [AttrSizedOperandSegments, AttentionOpInterface]> {
  let summary = "Attention over every P-th key, for each of P partitions (split-KV)";
  let description = [{
    q is `[..., Hq, Tq, D]`, k and v are `[..., Hkv, N, P, D]`: key `n * P + p` is row `n` of
    partition `p`. `kv_length`, `causal` and the mask are as in `ark.attention`.

    The result is `[..., Hq, Tq, P, D + 2]`, in f32. For every partition the result holds the sum of
    the values times `exp(score - m)`, then the largest score `m`, then the sum of all
    `exp(score - m)`. A partition without a valid key gives zeros and an `m` of minus infinity.
    `ark.combine_attention` combines the partitions to one result.

    - (partial_attention_c1) k and v have one rank, one more than q, which has three or more; all
      have one element type.
    - (partial_attention_c2) leading extents agree, Hq is a multiple of Hkv, D, N and P agree, P is
      positive.
    - (partial_attention_c3) the mask broadcasts to `[..., Hq, Tq, N, P]` and is bool or of q's
      element type.
    - (partial_attention_c4) `kv_length` is a scalar, or its extents are those of q before the heads.
  }];
  let arguments = (ins Ark_FloatTensor:$query, Ark_FloatTensor:$key, Ark_FloatTensor:$value,
                       Optional<Ark_Tensor>:$mask, Optional<Ark_IndexTensor>:$kv_length,
                       F64Attr:$scale, UnitAttr:$causal);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`kv_length` $kv_length^)?
    `scale` `=` $scale attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool hasPartitions() { return true; }
    ::llvm::SmallVector<int64_t> getWholeDims(int64_t rank) { return {rank - 1}; }
    /// A vCTA processes the keys of one partition, and one sequence if each has
    /// its own length.
    ::llvm::SmallVector<int64_t> getUnitDims(int64_t rank);
  }];
}

def Ark_CombineAttentionOp : Ark_AnchorOp<"combine_attention"> {
  let summary = "Attention, combined from the partitions of a partial attention";
  let description = [{
    The operand is the result of `ark.partial_attention`, `[..., P, D + 2]`; the result is
    `[..., D]`, of the same element type. A row without a valid key gives zeros.

    - (combine_attention_c1) the operand has rank two or more and a last extent of two or more.

    ```mlir
    %1 = ark.combine_attention %0 : (tensor<32x1x16x66xf32>) -> tensor<32x1x64xf32>
    ```
  }];
  let arguments = (ins Ark_FloatTensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    ::llvm::SmallVector<int64_t> getWholeDims(int64_t rank) { return {rank - 1}; }
  }];
}

def Ark_RopeOp : Ark_AnchorOp<"rope"> {
  let summary = "Rotary position embedding of the last dimension";
  let description = [{
    The op rotates pairs of elements. By default it pairs element `i` with `i + D/2` (half-split);
    with `interleaved` it pairs `2i` with `2i + 1`. `cos` and `sin` hold one value for every pair.

    - (rope_c1) the last extent is even; all three operands have one element type.
    - (rope_c2) `cos` and `sin` have one shape, which ends in `D/2` and broadcasts to the operand's
      pairs.
  }];
  let arguments = (ins Ark_FloatTensor:$operand, Ark_FloatTensor:$cos, Ark_FloatTensor:$sin,
                       UnitAttr:$interleaved);
  let assemblyFormat = [{
    $operand `,` $cos `,` $sin attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getPrologueOperands() { return {getOperand()}; }
    ::llvm::SmallVector<int64_t> getWholeDims(int64_t rank) { return {rank - 1}; }
    ::mlir::Value getTiledOperand() { return getOperand(); }
  }];
}

//===----------------------------------------------------------------------===//
// Indexing and state
//===----------------------------------------------------------------------===//

def Ark_EmbeddingOp : Ark_AnchorOp<"embedding"> {
  let summary = "Rows of a table, by index";
  let description = [{
    The result has the shape of `indices` followed by the row length. The run reports an error if an
    index is outside of the table.

    - (embedding_c1) the table has rank two.
  }];
  let arguments = (ins Ark_IndexTensor:$indices, Ark_Tensor:$weight);
  let assemblyFormat = [{
    $indices `,` $weight attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool copiesElements() { return true; }
    ::llvm::StringRef getEmptyRead();
  }];
}

def Ark_GatherOp : Ark_AnchorOp<"gather"> {
  let summary = "Slices of a tensor along one dimension, by index (numpy.take)";
  let description = [{
    - (gather_c1) `axis` is a dimension of `source`.
  }];
  let arguments = (ins Ark_Tensor:$source, Ark_IndexTensor:$indices, I64Attr:$axis);
  let assemblyFormat = [{
    $source `,` $indices `axis` `=` $axis attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool copiesElements() { return true; }
    ::llvm::StringRef getEmptyRead();
  }];
}

def Ark_SegmentSumOp : Ark_AnchorOp<"segment_sum"> {
  let summary = "Sums of the slices that have the same index (jax.ops.segment_sum)";
  let description = [{
    Slice `i` of the result along `axis` is the sum of all slices `j` of `operand` for which
    `indices[j]` is `i`. A slice without an index is zero, and an index that is negative or not less
    than `segments` has no effect. The terms of a sum are added in ascending order, so that equal
    operands give equal bits. Floats accumulate in f32, which is the type of the result for narrower
    floats; integers wrap in their own type. The op is the transpose of `gather`.

    - (segment_sum_c1) `axis` is a dimension of `operand`, and `indices` have rank one and the extent of
      that dimension.
    - (segment_sum_c2) `segments` is not negative.

    ```mlir
    %2 = ark.segment_sum %0, %1 axis = 0 segments = 1000 : (tensor<8x64xbf16>, tensor<8xi32>) -> tensor<1000x64xf32>
    ```
  }];
  let arguments = (ins Ark_NumberTensor:$operand, Ark_IndexTensor:$indices, I64Attr:$axis,
                       I64Attr:$segments);
  let assemblyFormat = [{
    $operand `,` $indices `axis` `=` $axis `segments` `=` $segments attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool takesEpilogue() { return false; }
    ::mlir::Attribute getValueIfEmpty();
    ::mlir::TypedAttr getValueOfNone();
  }];
}

def Ark_SegmentMaxOp : Ark_AnchorOp<"segment_max"> {
  let summary = "Maxima of the slices that have the same index (jax.ops.segment_max)";
  let description = [{
    Element by element, slice `i` of the result along `axis` is the maximum of all slices `j` of
    `operand` for which `indices[j]` is `i`. A maximum is NaN if one of the elements is. A slice
    without an index is minus infinity, or the least integer. An index that is negative or not less
    than `segments` has no effect.

    - (segment_max_c1) `axis` is a dimension of `operand`, and `indices` have rank one and the extent of
      that dimension.
    - (segment_max_c2) `segments` is not negative.

    ```mlir
    %2 = ark.segment_max %0, %1 axis = 0 segments = 1000 : (tensor<8x64xi32>, tensor<8xi32>) -> tensor<1000x64xi32>
    ```
  }];
  let arguments = (ins Ark_NumberTensor:$operand, Ark_IndexTensor:$indices, I64Attr:$axis,
                       I64Attr:$segments);
  let assemblyFormat = [{
    $operand `,` $indices `axis` `=` $axis `segments` `=` $segments attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool takesEpilogue() { return false; }
    ::mlir::Attribute getValueIfEmpty();
    ::mlir::TypedAttr getValueOfNone();
  }];
}

def Ark_WindowsOp : Ark_AnchorOp<"windows"> {
  let summary = "Sliding windows over the last dimensions of a tensor";
  let description = [{
    `sizes`, `strides` and `dilations` have an entry for each of the last dimensions, which the windows
    slide over. The result has the other dimensions, then the elements of a window, then the windows:
    its element `[..., k0, k1, o0, o1]` is element `[..., o0 * stride0 + k0 * dilation0,
    o1 * stride1 + k1 * dilation1]` of the operand. With unit strides and dilations the windows are
    those of numpy's `sliding_window_view`, whose last dimensions are the elements.

    - (windows_c1) there are equally many sizes, strides and dilations, at least one and not more than the
      rank of the operand, and all are positive.
    - (windows_c2) a window fits into every dimension that it slides over.

    ```mlir
    %1 = ark.windows %0 sizes = [3, 3] strides = [2, 2] dilations = [1, 1]
      : (tensor<1x8x15x15xf32>) -> tensor<1x8x3x3x7x7xf32>
    ```
  }];
  let arguments = (ins Ark_Tensor:$operand, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations);
  let assemblyFormat = [{
    $operand `sizes` `=` $sizes `strides` `=` $strides `dilations` `=` $dilations attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool copiesElements() { return true; }
  }];
}

def Ark_UpdateOp : Ark_Op<"update", [InferTypeOpAdaptor, AnchorOpInterface,
                                     MemoryEffects<[MemWrite]>]> {
  let summary = "Writes a slice of a state in place and returns the updated tensor";
  let description = [{
    An entry of `static_offsets` is the offset of its dimension. The smallest i64 stands for the next
    operand of `offsets`. Such an offset is a scalar, or has one element for each index of the first
    dimension, which counts the sequences of a batch. Such a vector for the first dimension has the row
    of the state that each sequence writes; without it, sequence `i` writes row `i`, plus a scalar
    offset. The run reports an error if a slice does not fit, and does not write this slice. If two
    sequences write one element, it has the value of the later sequence.

    - (update_c1) the state is an `ark.kind = #ark.kind<state>` argument or the result of an update.
    - (update_c2) state and value have one rank and element type; the value fits into the state,
      except in a first dimension whose offset is a vector.
    - (update_c3) one static offset for every dimension, and one operand for every dynamic one.
    - (update_c4) a static offset keeps the slice inside of the state.
    - (update_c5) an offset is a scalar, or a vector with an element for each sequence of the value.

    ```mlir
    %1 = ark.update %value into %state[0, 0, %positions, 0]
      : (tensor<4x2x512x64xf32>, tensor<4x2x1x64xf32>, tensor<4xi32>) -> tensor<4x2x512x64xf32>
    ```
  }];
  let arguments = (ins Ark_Tensor:$state, Ark_Tensor:$value,
                       Variadic<Ark_IndexTensor>:$offsets,
                       DenseI64ArrayAttr:$static_offsets);
  let results = (outs Ark_Tensor:$result);
  let assemblyFormat = [{
    $value `into` $state custom<DynamicIndexList>($offsets, $static_offsets) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> getPrologueOperands() { return {getValue()}; }
    /// The result is the state, which no other op may write.
    bool takesEpilogue() { return false; }
    /// Tiles divide the slice that the op writes.
    ::llvm::ArrayRef<int64_t> getDomain(::llvm::ArrayRef<int64_t>) {
      return ::llvm::cast<::mlir::ShapedType>(getValue().getType()).getShape();
    }
    ::llvm::SmallVector<int64_t> getSerialDims();
    /// Returns true if each sequence has its own offset.
    bool hasSequenceOffsets();
    /// Returns true if the offset of the first dimension is the row of each sequence.
    bool hasRowOffsets();
    /// A vCTA writes to one sequence if each has its own offset.
    ::llvm::SmallVector<int64_t> getUnitDims(int64_t rank);
    ::mlir::Value getTiledOperand() { return getValue(); }
    bool copiesElements() { return true; }
  }];
}

#endif // ARK_ANCHOR_OPS_TD
