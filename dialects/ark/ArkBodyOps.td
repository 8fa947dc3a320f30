//===- ArkBodyOps.td - Ops of one vCTA --------------------------*- tablegen -*-===//

#ifndef ARK_BODY_OPS_TD
#define ARK_BODY_OPS_TD

include "dialects/ark/ArkAttrs.td"
include "dialects/ark/ArkInterfaces.td"
include "dialects/ark/ArkTypes.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/IndexingMapOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Ark_OnlineAttentionOp : Ark_Op<"online_attention", [
    BodyOpInterface, DestinationStyleOpInterface, IndexingMapOpInterface, SingleBlock,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Attention of rows of queries, before normalisation";
  let description = [{
    `ark-decompose` makes this op of `ark.attention`, `ark.attention_log_sum_exp` and
    `ark.partial_attention`. The op stays whole until code generation chooses its form: one pass
    over the keys with an online softmax, or the structured ops of `ark-expand-attention`.

    The loops are the rows, then key, depth and column. Maps select the elements of the operands, in
    the order of the operands. With `score = region(query . key)`, the op computes for each row

    - `maximum`, the largest score, or minus infinity if the row has no keys,
    - `sum`, the sum over the keys of `exp(score - m)`, where `m` is `maximum`, or zero if `maximum`
      is minus infinity,
    - `product`, the sum over the keys of `exp(score - m) * value`.

    The region turns the sum of products of a query and a key into a score: it scales and masks. Its
    arguments are the index of each row loop, the index of the key, the sum and, with a mask, the
    element of the mask. The region may use values that are defined outside of the op.

    With `causal`, the score of a query, which is the index of the last row loop, is minus infinity
    for each key with `key + queries > query + keys`, where `queries` and `keys` are the extents of
    the loops. A tile of rows hence has only the keys that its rows may attend to.

    `scores` is memory for the scores of all rows. Its contents after the op are unspecified: the
    online softmax does not use it.

    - (online_attention_c1) every operand has a map, with as many results as the operand has
      dimensions. All maps have the loops of `product`'s map and two more.
    - (online_attention_c2) the map of `product` is the rows and the column, those of `maximum` and
      `sum` are the rows, and that of `scores` is the rows and the key.
    - (online_attention_c3) the maps of query and key end in the depth, and the map of value ends in
      the column. The query depends on neither key nor column, the key not on the column, the value
      not on the depth, and the mask on neither depth nor column.
    - (online_attention_c4) static extents of one loop are equal.
    - (online_attention_c5) `product`, `maximum`, `sum` and `scores` have one element type, which is
      the type of the score in the region.
    - (online_attention_c6) the region has the arguments named above, yields a score, and accesses no
      memory.
    - (online_attention_c7) the op works on tensors and returns one result for each out, or works on
      buffers and has no results.
    - (online_attention_c8) the last row loop of a causal op has a static extent.

    ```mlir
    ark.online_attention ins(%q, %k, %v : memref<4x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>)
        outs(%product, %maximum, %sum, %scores
             : memref<4x64xf32>, memref<4xf32>, memref<4xf32>, memref<4x?xf32>)
        maps [affine_map<(r, k, d, c) -> (r, d)>, affine_map<(r, k, d, c) -> (k, d)>,
              affine_map<(r, k, d, c) -> (k, c)>, affine_map<(r, k, d, c) -> (r, c)>,
              affine_map<(r, k, d, c) -> (r)>, affine_map<(r, k, d, c) -> (r)>,
              affine_map<(r, k, d, c) -> (r, k)>] {
    ^bb0(%row: index, %key: index, %dot: f32):
      %score = arith.mulf %dot, %scale : f32
      ark.yield %score : f32
    }
    ```
  }];
  let arguments = (ins Ark_TensorOrBuffer:$query, Ark_TensorOrBuffer:$key,
                       Ark_TensorOrBuffer:$value, Optional<Ark_TensorOrBuffer>:$mask,
                       Ark_TensorOrBuffer:$product, Ark_TensorOrBuffer:$maximum,
                       Ark_TensorOrBuffer:$sum, Ark_TensorOrBuffer:$scores,
                       AffineMapArrayAttr:$indexing_maps, UnitAttr:$causal);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$region);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    `outs` `(` $product `,` $maximum `,` $sum `,` $scores `:`
               type($product) `,` type($maximum) `,` type($sum) `,` type($scores) `)`
    `maps` $indexing_maps (`causal` $causal^)? attr-dict-with-keyword $region (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of outs.
    static constexpr unsigned kNumOuts = 4;

    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(*this, getNumOperands() - kNumOuts, kNumOuts);
    }
    ::llvm::ArrayRef<int64_t> getShape(::mlir::OpOperand *operand) {
      return ::llvm::cast<::mlir::ShapedType>(operand->get().getType()).getShape();
    }
    int64_t getNumExpandedOps() { return 11; }
    int64_t countFlops(::llvm::ArrayRef<int64_t> extents, int64_t flopsOfFunction);
    int64_t countRuns(::mlir::Region &region, ::llvm::ArrayRef<int64_t> extents);
    bool fillsOut(::mlir::OpOperand &out) { return &out != &getScoresMutable(); }
    bool multipliesMatrices() { return true; }
    bool growsWithRows();
    bool keepsResults() { return true; }
    void dropRowIndices(::mlir::Value zero, const ::llvm::SmallBitVector &dropped);

    /// Return indices of loops. The first `getNumRowLoops()` loops are over rows.
    unsigned getNumLoops() { return getMap(getQueryMutable()).getNumDims(); }
    unsigned getNumRowLoops() { return getNumLoops() - 3; }
    unsigned getKeyLoop() { return getNumLoops() - 3; }
    unsigned getDepthLoop() { return getNumLoops() - 2; }
    unsigned getColumnLoop() { return getNumLoops() - 1; }
    /// Returns the type of scores and of all results.
    ::mlir::Type getElementType() {
      return ::llvm::cast<::mlir::ShapedType>(getScores().getType()).getElementType();
    }
    /// Return the region's arguments.
    ::mlir::Block *getScoreBlock() { return &getRegion().front(); }
    ::mlir::ValueRange getIndices() {
      return getScoreBlock()->getArguments().take_front(getNumRowLoops() + 1);
    }
    ::mlir::BlockArgument getDotArgument() {
      return getScoreBlock()->getArgument(getNumRowLoops() + 1);
    }
    /// Returns the argument of the mask's element, or null.
    ::mlir::BlockArgument getMaskArgument() {
      return getMask() ? getScoreBlock()->getArgument(getNumRowLoops() + 2)
                       : ::mlir::BlockArgument();
    }
    /// Returns the score that the region yields.
    ::mlir::Value getScore() { return getScoreBlock()->getTerminator()->getOperand(0); }
  }];
}

def Ark_BlockedAttentionGradientOp : Ark_Op<"blocked_attention_gradient", [
    AttrSizedOperandSegments, BodyOpInterface, DestinationStyleOpInterface, IndexingMapOpInterface,
    SingleBlock, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Gradients of rows of an attention, over blocks of the others";
  let description = [{
    `ark-decompose` makes this op of `ark.attention_query_gradient` and
    `ark.attention_key_value_gradient`. `ark-expand-attention-gradients` replaces it by a loop over
    blocks at the beginning of code generation.

    The rows are queries, and the others are keys; or the rows are keys, and the others are queries.
    The loops are the rows, one or two loops over the others, then depth, column and block. Of two
    loops over the others, the first one is over the heads that share a key. Maps select the elements
    of the operands, in the order of the operands. For a row and one of the others, let
    `weight = exp(region(left . right) - log_sum_exp)` and
    `share = weight * (left_slope . right_slope - mean)`, both zero if the region yields minus
    infinity. The op computes for each row

    - `gradient`, the sum over the others of `share * right`,
    - `value_gradient`, the sum over the others of `weight * right_slope`. The op has this out if the
      rows are keys.

    The region turns the sum of products of a query and a key into a score: it scales and masks. Its
    arguments are the index of each row loop, the index of each loop over the others, the sum and,
    with a mask, the element of the mask. The region may use values that are defined outside of the
    op.

    With `causal`, the score of query `q`, an index of the last loop over queries, and of key `k` is
    minus infinity if `k + queries > q + keys`, where `queries` and `keys` are the extents of the
    loops. A tile of rows hence has only those others that may see one of its rows.

    `weights` and `slopes` are memory for one block of the others. The extent of the last loop, which
    no other operand depends on, is the number of others in a block. The contents of both after the
    op are unspecified.

    - (blocked_attention_gradient_c1) every operand has a map, with as many results as the operand has
      dimensions. All maps have the loops of the rows, and four or five more.
    - (blocked_attention_gradient_c2) the map of `gradient` is the rows and the depth, that of
      `value_gradient` is the rows and the column, and those of `weights` and `slopes` are the rows
      and the block.
    - (blocked_attention_gradient_c3) a map of an input selects loops or zeros. `left` depends on rows
      and depth, `left_slope` on rows and column, `right` on rows, others and depth, `right_slope` on
      rows, others and column, and each other input on rows and others.
    - (blocked_attention_gradient_c4) static extents of one loop are equal.
    - (blocked_attention_gradient_c5) all outs have one element type, which is the type of the score
      in the region.
    - (blocked_attention_gradient_c6) the region has the arguments named above, yields a score, and
      accesses no memory.
    - (blocked_attention_gradient_c7) the op works on tensors and returns one result for each out, or
      works on buffers and has no results.
    - (blocked_attention_gradient_c8) the last row loop of a causal op has a static extent.
    - (blocked_attention_gradient_c9) the number of others in a block is static and positive.

    ```mlir
    ark.blocked_attention_gradient
        ins(%q, %k, %g, %v, %lse, %mean : memref<4x64xf32>, memref<?x64xf32>, memref<4x64xf32>,
            memref<?x64xf32>, memref<4xf32>, memref<4xf32>)
        outs(%dq : memref<4x64xf32>)
        memory(%weights, %slopes : memref<4x32xf32>, memref<4x32xf32>)
        maps [affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (o, d)>,
              affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
              affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
              affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (r, b)>,
              affine_map<(r, o, d, c, b) -> (r, b)>] {
    ^bb0(%row: index, %other: index, %dot: f32):
      %score = arith.mulf %dot, %scale : f32
      ark.yield %score : f32
    }
    ```
  }];
  let arguments = (ins Ark_TensorOrBuffer:$left, Ark_TensorOrBuffer:$right,
                       Ark_TensorOrBuffer:$left_slope, Ark_TensorOrBuffer:$right_slope,
                       Ark_TensorOrBuffer:$log_sum_exp, Ark_TensorOrBuffer:$mean,
                       Optional<Ark_TensorOrBuffer>:$mask,
                       Ark_TensorOrBuffer:$gradient, Optional<Ark_TensorOrBuffer>:$value_gradient,
                       Ark_TensorOrBuffer:$weights, Ark_TensorOrBuffer:$slopes,
                       AffineMapArrayAttr:$indexing_maps, UnitAttr:$causal);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$region);
  let assemblyFormat = [{
    `ins` `(` $left `,` $right `,` $left_slope `,` $right_slope `,` $log_sum_exp `,` $mean `:`
              type($left) `,` type($right) `,` type($left_slope) `,` type($right_slope) `,`
              type($log_sum_exp) `,` type($mean) `)`
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    `outs` `(` $gradient `:` type($gradient) `)`
    (`value_gradient` `(` $value_gradient^ `:` type($value_gradient) `)`)?
    `memory` `(` $weights `,` $slopes `:` type($weights) `,` type($slopes) `)`
    `maps` $indexing_maps (`causal` $causal^)? attr-dict-with-keyword $region (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      unsigned outs = hasKeyRows() ? 4 : 3;
      return ::mlir::MutableOperandRange(*this, getNumOperands() - outs, outs);
    }
    ::llvm::ArrayRef<int64_t> getShape(::mlir::OpOperand *operand) {
      return ::llvm::cast<::mlir::ShapedType>(operand->get().getType()).getShape();
    }
    /// The structured ops of one block, and the fills before the loop.
    int64_t getNumExpandedOps() { return hasKeyRows() ? 10 : 8; }
    int64_t countFlops(::llvm::ArrayRef<int64_t> extents, int64_t flopsOfFunction);
    int64_t countRuns(::mlir::Region &region, ::llvm::ArrayRef<int64_t> extents);
    bool fillsOut(::mlir::OpOperand &out) {
      return out.getOperandNumber() < getWeightsMutable().getOperandNumber();
    }
    bool multipliesMatrices() { return true; }
    bool growsWithRows();
    bool keepsResults() { return true; }
    void dropRowIndices(::mlir::Value zero, const ::llvm::SmallBitVector &dropped);

    /// Returns true if the rows are keys, and the others queries.
    bool hasKeyRows() { return static_cast<bool>(getValueGradient()); }
    /// Return indices of loops. The first `getNumRowLoops()` loops are over rows, the next
    /// `getNumOtherLoops()` over the others.
    unsigned getNumLoops() { return getMap(getLeftMutable()).getNumDims(); }
    unsigned getNumRowLoops() {
      return ::llvm::cast<::mlir::ShapedType>(getGradient().getType()).getRank() - 1;
    }
    unsigned getNumOtherLoops() { return getNumLoops() - getNumRowLoops() - 3; }
    unsigned getOtherLoop() { return getNumLoops() - 4; }
    unsigned getDepthLoop() { return getNumLoops() - 3; }
    unsigned getColumnLoop() { return getNumLoops() - 2; }
    unsigned getBlockLoop() { return getNumLoops() - 1; }
    /// Returns the number of others in a block.
    int64_t getBlockSize() { return getShape(&getWeightsMutable()).back(); }
    /// Returns the type of scores and of all results.
    ::mlir::Type getElementType() {
      return ::llvm::cast<::mlir::ShapedType>(getWeights().getType()).getElementType();
    }
    /// Return the region's arguments.
    ::mlir::Block *getScoreBlock() { return &getRegion().front(); }
    ::mlir::ValueRange getIndices() {
      return getScoreBlock()->getArguments().take_front(getNumRowLoops() + getNumOtherLoops());
    }
    ::mlir::BlockArgument getDotArgument() {
      return getScoreBlock()->getArgument(getNumRowLoops() + getNumOtherLoops());
    }
    /// Returns the argument of the mask's element, or null.
    ::mlir::BlockArgument getMaskArgument() {
      return getMask() ? getScoreBlock()->getArgument(getNumRowLoops() + getNumOtherLoops() + 1)
                       : ::mlir::BlockArgument();
    }
    /// Returns the score that the region yields.
    ::mlir::Value getScore() { return getScoreBlock()->getTerminator()->getOperand(0); }
  }];
}

def Ark_RowNormOp : Ark_Op<"row_norm", [
    AttrSizedOperandSegments, BodyOpInterface, DestinationStyleOpInterface, IndexingMapOpInterface,
    SingleBlock, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Layer norm or RMS norm of rows";
  let description = [{
    `ark-decompose` makes this op of `ark.layernorm` and `ark.rmsnorm`. `ark-expand-norms` replaces it by
    structured ops at the beginning of code generation.

    The loops are the rows, then the column. A row has one element for each column, and is never
    divided. Maps select the elements of the operands, in the order of the operands. With
    `x = prologue(inputs)`, the op computes for each row

    - `mean`, the mean of `x`; without this out, the mean counts as zero,
    - `scale`, `1 / sqrt(m + eps)`, where `m` is the mean of `(x - mean)^2`,
    - `out`, `epilogue((x - mean) * scale, inputs)`.

    The prologue converts an element of the row to the type of `scale`. The epilogue multiplies by
    the weight, adds the bias, and converts the result; `ark-fuse-elementwise` adds elementwise ops
    that precede or follow the norm. The arguments of the prologue are the elements of the inputs.
    The epilogue has one more argument before these, the normalised number. The regions may use
    values that are defined outside of the op.

    `scale` and `mean` are memory of the op. Their contents after the op are unspecified.

    - (row_norm_c1) every operand has a map from the loops to the dimensions of the operand.
    - (row_norm_c2) the map of `out` is the rows and the column, and those of `scale` and `mean` are the
      rows.
    - (row_norm_c3) the number of columns is static and positive.
    - (row_norm_c4) static extents of one loop are equal.
    - (row_norm_c5) `scale` and `mean` have one float type.
    - (row_norm_c6) the regions have the arguments named above, and access no memory. The prologue yields
      the element type of `scale`, the epilogue that of `out`.
    - (row_norm_c7) the op works on tensors and returns one result for each out, or works on buffers and
      has no results.

    ```mlir
    ark.row_norm ins(%x, %weight : memref<4x64xbf16>, memref<64xbf16>)
        outs(%y : memref<4x64xbf16>) scale(%scale : memref<4xf32>) eps = 1.0e-5
        maps [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>,
              affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>]
        prologue {
    ^bb0(%element: bf16, %factor: bf16):
      %number = arith.extf %element : bf16 to f32
      ark.yield %number : f32
    } epilogue {
    ^bb0(%normalised: f32, %element: bf16, %factor: bf16):
      %wide = arith.extf %factor : bf16 to f32
      %product = arith.mulf %normalised, %wide : f32
      %narrow = arith.truncf %product : f32 to bf16
      ark.yield %narrow : bf16
    }
    ```
  }];
  let arguments = (ins Variadic<Ark_TensorOrBuffer>:$inputs, Ark_TensorOrBuffer:$out,
                       Optional<Ark_TensorOrBuffer>:$mean, Ark_TensorOrBuffer:$scale, F64Attr:$eps,
                       AffineMapArrayAttr:$indexing_maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$prologue, SizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $out `:` type($out) `)` (`mean` `(` $mean^ `:` type($mean) `)`)?
    `scale` `(` $scale `:` type($scale) `)`
    `eps` `=` $eps `maps` $indexing_maps attr-dict-with-keyword
    `prologue` $prologue `epilogue` $epilogue (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      unsigned outs = getMean() ? 3 : 2;
      return ::mlir::MutableOperandRange(*this, getNumOperands() - outs, outs);
    }
    ::llvm::ArrayRef<int64_t> getShape(::mlir::OpOperand *operand) {
      return ::llvm::cast<::mlir::ShapedType>(operand->get().getType()).getShape();
    }
    /// A fill, a sum of squares, the scale and the result; with a mean also a fill, a sum and the mean.
    int64_t getNumExpandedOps() { return isCentred() ? 7 : 4; }
    int64_t countFlops(::llvm::ArrayRef<int64_t> extents, int64_t flopsOfFunction);
    int64_t countRuns(::mlir::Region &region, ::llvm::ArrayRef<int64_t> extents);
    bool mayOverwrite(::mlir::OpOperand &input, ::mlir::OpOperand &out);
    bool fillsOut(::mlir::OpOperand &out) { return &out == &getOutMutable(); }
    ::mlir::Region *getYieldingRegion(::mlir::OpOperand &out) {
      return fillsOut(out) ? &getEpilogue() : nullptr;
    }

    /// Returns true if the op subtracts the mean: a layer norm.
    bool isCentred() { return static_cast<bool>(getMean()); }
    /// Return the loops: those over rows, and the last one, over the column.
    unsigned getNumLoops() { return getMap(getOutMutable()).getNumDims(); }
    unsigned getNumRowLoops() { return getNumLoops() - 1; }
    unsigned getColumnLoop() { return getNumLoops() - 1; }
    int64_t getNumColumns() { return getShape(&getOutMutable()).back(); }
    /// Returns the type in which the op computes.
    ::mlir::Type getElementType() {
      return ::llvm::cast<::mlir::ShapedType>(getScale().getType()).getElementType();
    }
    ::mlir::Block *getPrologueBlock() { return &getPrologue().front(); }
    ::mlir::Block *getEpilogueBlock() { return &getEpilogue().front(); }
    /// Returns the epilogue's argument for the normalised number.
    ::mlir::BlockArgument getNormalised() { return getEpilogueBlock()->getArgument(0); }
    /// Return the arguments of the regions for the element of an input.
    ::mlir::BlockArgument getPrologueArgument(unsigned input) {
      return getPrologueBlock()->getArgument(input);
    }
    ::mlir::BlockArgument getEpilogueArgument(unsigned input) {
      return getEpilogueBlock()->getArgument(input + 1);
    }
  }];
}

#endif // ARK_BODY_OPS_TD
