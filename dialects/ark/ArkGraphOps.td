//===- ArkGraphOps.td - Tensor ops of the graph level -----------*- tablegen -*-===//
//
// Semantics are numpy's. Every op has one result, whose type is inferred;
// constraints that ODS cannot state are numbered and checked in
// ArkGraphInference.cpp under the same label.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_GRAPH_OPS_TD
#define ARK_GRAPH_OPS_TD

include "dialects/ark/ArkAttrs.td"
include "dialects/ark/ArkInterfaces.td"
include "dialects/ark/ArkTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// A pure op on tensors whose result type is inferred from its operands.
class Ark_GraphOp<string mnemonic, list<Trait> traits = []>
    : Ark_Op<mnemonic, !listconcat([Pure, InferTypeOpAdaptor], traits)> {
  let results = (outs Ark_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

def Ark_ConstantOp : Ark_GraphOp<"constant", [ConstantLike]> {
  let summary = "A tensor known at compile time";
  let description = [{
    ```mlir
    %0 = ark.constant dense<1.0> : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

class Ark_ViewOp<string mnemonic, list<Trait> traits = []>
    : Ark_GraphOp<mnemonic, !listconcat(
          [DeclareOpInterfaceMethods<Ark_ViewOpInterface>], traits)>;

def Ark_ReshapeOp : Ark_ViewOp<"reshape"> {
  let summary = "The same elements in row-major order under another shape";
  let description = [{
    - (reshape_c1) `shape` holds as many elements as `source`; no extent is negative.

    ```mlir
    %1 = ark.reshape %0 shape = [2, 3, 4] : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
    ```
  }];
  let arguments = (ins Ark_Tensor:$source, DenseI64ArrayAttr:$shape);
  let assemblyFormat = [{
    $source `shape` `=` $shape attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def Ark_TransposeOp : Ark_ViewOp<"transpose"> {
  let summary = "Dimensions in another order";
  let description = [{
    - (transpose_c1) `permutation` is a permutation of the dimensions of `source`.

    ```mlir
    %1 = ark.transpose %0 perm = [0, 2, 1] : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
    ```
  }];
  let arguments = (ins Ark_Tensor:$source, DenseI64ArrayAttr:$permutation);
  let assemblyFormat = [{
    $source `perm` `=` $permutation attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def Ark_SliceOp : Ark_ViewOp<"slice"> {
  let summary = "A strided part of a tensor, by static bounds";
  let description = [{
    - (slice_c1) `starts`, `stops` and `steps` have one entry for every dimension.
    - (slice_c2) `0 <= start <= stop <= extent` and `step >= 1` in every dimension.

    ```mlir
    %1 = ark.slice %0 starts = [0, 2] stops = [4, 8] steps = [1, 2]
      : (tensor<4x8xf32>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Ark_Tensor:$source, DenseI64ArrayAttr:$starts,
                       DenseI64ArrayAttr:$stops, DenseI64ArrayAttr:$steps);
  let assemblyFormat = [{
    $source `starts` `=` $starts `stops` `=` $stops `steps` `=` $steps attr-dict
    `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def Ark_BroadcastToOp : Ark_ViewOp<"broadcast_to"> {
  let summary = "A tensor repeated along dimensions of extent one, as numpy does";
  let description = [{
    - (broadcast_to_c1) `source` broadcasts to `shape`.
  }];
  let arguments = (ins Ark_Tensor:$source, DenseI64ArrayAttr:$shape);
  let assemblyFormat = [{
    $source `shape` `=` $shape attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def Ark_BitcastOp : Ark_ViewOp<"bitcast"> {
  let summary = "The same bytes as elements of another type (numpy's `view`)";
  let description = [{
    Bytes are those of the elements in row-major order, the lowest first; a bool is a byte of 0 or
    1. The last extent changes by the ratio of the item sizes.

    - (bitcast_c1) the result is no tensor of bool, unless `source` is one: a byte may be neither.
    - (bitcast_c2) item sizes agree, or the bytes of the last dimension are a multiple of the new size.

    ```mlir
    %1 = ark.bitcast %0 to f16 : (tensor<4x8xf32>) -> tensor<4x16xf16>
    ```
  }];
  let arguments = (ins Ark_Tensor:$source, TypeAttr:$dtype);
  let assemblyFormat = [{
    $source `to` $dtype attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def Ark_IdentityOp : Ark_ViewOp<"identity"> {
  let summary = "The same tensor, available only after other tensors are";
  let description = [{
    `deps` are control dependences: they are complete before any consumer of
    the result starts.
  }];
  let arguments = (ins Ark_Tensor:$source, Variadic<Ark_Tensor>:$deps);
  let assemblyFormat = [{
    $source (`after` $deps^)? attr-dict `:` functional-type(operands, results)
  }];
}

def Ark_NoopOp : Ark_Op<"noop", [MemoryEffects<[MemWrite]>]> {
  let summary = "Keeps a tensor: it is computed though nothing reads it";
  let description = [{
    It becomes no task and nothing waits for it; what makes the tensor runs in every iteration.

    ```mlir
    ark.noop %0 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Ark_Tensor:$source);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

def Ark_ConcatOp : Ark_GraphOp<"concat"> {
  let summary = "Tensors joined along one dimension";
  let description = [{
    - (concat_c1) at least one tensor; all of one rank and element type.
    - (concat_c2) `axis` is a dimension of them.
    - (concat_c3) extents agree in every other dimension.
  }];
  let arguments = (ins Variadic<Ark_Tensor>:$inputs, I64Attr:$axis);
  let assemblyFormat = [{
    $inputs `axis` `=` $axis attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

class Ark_UnaryOp<string mnemonic, Type operand = Ark_FloatTensor>
    : Ark_GraphOp<mnemonic, [DeclareOpInterfaceMethods<Ark_ElementwiseOpInterface>]> {
  let arguments = (ins operand:$operand);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let description = "The result has the type of the operand.";
}

def Ark_AbsOp : Ark_UnaryOp<"abs", Ark_NumberTensor> { let summary = "Absolute value"; }
def Ark_NegOp : Ark_UnaryOp<"neg", Ark_NumberTensor> { let summary = "Negation"; }
def Ark_ExpOp : Ark_UnaryOp<"exp"> { let summary = "Exponential"; }
def Ark_LogOp : Ark_UnaryOp<"log"> { let summary = "Natural logarithm"; }
def Ark_SqrtOp : Ark_UnaryOp<"sqrt"> { let summary = "Square root"; }
def Ark_RsqrtOp : Ark_UnaryOp<"rsqrt"> { let summary = "Reciprocal of the square root"; }
def Ark_ReciprocalOp : Ark_UnaryOp<"reciprocal"> { let summary = "Reciprocal"; }
def Ark_SinOp : Ark_UnaryOp<"sin"> { let summary = "Sine"; }
def Ark_CosOp : Ark_UnaryOp<"cos"> { let summary = "Cosine"; }
def Ark_TanhOp : Ark_UnaryOp<"tanh"> { let summary = "Hyperbolic tangent"; }
def Ark_ErfOp : Ark_UnaryOp<"erf"> { let summary = "Error function"; }
def Ark_ReluOp : Ark_UnaryOp<"relu", Ark_NumberTensor> { let summary = "Maximum with zero"; }
def Ark_SigmoidOp : Ark_UnaryOp<"sigmoid"> { let summary = "Logistic function"; }
def Ark_SiluOp : Ark_UnaryOp<"silu"> { let summary = "x * sigmoid(x)"; }
def Ark_LogicalNotOp : Ark_UnaryOp<"logical_not", Ark_BoolTensor> { let summary = "Logical negation"; }
def Ark_CopyOp : Ark_UnaryOp<"copy", Ark_Tensor> {
  let summary = "The same values in a buffer of their own";
}

def Ark_GeluOp : Ark_UnaryOp<"gelu"> {
  let summary = "Gaussian error linear unit, exact or by its tanh form";
  let arguments = (ins Ark_FloatTensor:$operand,
      DefaultValuedAttr<Ark_GeluApproximationAttr,
                        "::mlir::ark::GeluApproximation::Tanh">:$approximate);
  let assemblyFormat = [{
    $operand `approximate` `=` `` $approximate attr-dict `:` functional-type(operands, results)
  }];
}

def Ark_CastOp : Ark_GraphOp<"cast", [DeclareOpInterfaceMethods<Ark_ElementwiseOpInterface>]> {
  let summary = "Values converted to another element type";
  let description = [{
    Float to integer truncates toward zero and saturates; integer to narrower
    integer wraps; anything to bool is `x != 0`.
  }];
  let arguments = (ins Ark_Tensor:$operand, TypeAttr:$dtype);
  let assemblyFormat = [{
    $operand `to` $dtype attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

/// Operands broadcast; element types agree.
class Ark_BinaryOp<string mnemonic, Type operand = Ark_NumberTensor, list<Trait> traits = []>
    : Ark_GraphOp<mnemonic, !listconcat(
        [DeclareOpInterfaceMethods<Ark_ElementwiseOpInterface>], traits)> {
  let arguments = (ins operand:$lhs, operand:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let description = [{
    - (binary_c1) the operands have one element type.
    - (binary_c2) the shapes broadcast.
  }];
}

def Ark_AddOp : Ark_BinaryOp<"add", Ark_NumberTensor, [Commutative]> { let summary = "Sum"; }
def Ark_SubOp : Ark_BinaryOp<"sub"> { let summary = "Difference"; }
def Ark_MulOp : Ark_BinaryOp<"mul", Ark_NumberTensor, [Commutative]> { let summary = "Product"; }
def Ark_DivOp : Ark_BinaryOp<"div"> { let summary = "Quotient; integers truncate toward zero"; }
def Ark_MaximumOp : Ark_BinaryOp<"maximum", Ark_NumberTensor, [Commutative]> {
  let summary = "The greater one; NaN if either is";
}
def Ark_MinimumOp : Ark_BinaryOp<"minimum", Ark_NumberTensor, [Commutative]> {
  let summary = "The lesser one; NaN if either is";
}
def Ark_PowOp : Ark_BinaryOp<"pow"> {
  let summary = "Power; that of integers wraps, and is zero where it would be a fraction";
}
def Ark_LogicalAndOp : Ark_BinaryOp<"logical_and", Ark_BoolTensor, [Commutative]> {
  let summary = "Logical and";
}
def Ark_LogicalOrOp : Ark_BinaryOp<"logical_or", Ark_BoolTensor, [Commutative]> {
  let summary = "Logical or";
}

def Ark_CompareOp
    : Ark_GraphOp<"compare", [DeclareOpInterfaceMethods<Ark_ElementwiseOpInterface>]> {
  let summary = "Comparison; the result is a tensor of bool";
  let description = [{
    - (binary_c1) the operands have one element type.
    - (binary_c2) the shapes broadcast.
  }];
  let arguments = (ins Ark_ComparePredicateAttr:$predicate, Ark_Tensor:$lhs, Ark_Tensor:$rhs);
  let assemblyFormat = [{
    `` $predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)
  }];
}

def Ark_WhereOp
    : Ark_GraphOp<"where", [DeclareOpInterfaceMethods<Ark_ElementwiseOpInterface>]> {
  let summary = "One of two values, by a condition";
  let description = [{
    - (binary_c1) both values have one element type.
    - (binary_c2) the three shapes broadcast.
  }];
  let arguments = (ins Ark_BoolTensor:$condition, Ark_Tensor:$lhs, Ark_Tensor:$rhs);
  let assemblyFormat = [{
    $condition `,` $lhs `,` $rhs attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Reductions and normalisations
//===----------------------------------------------------------------------===//

class Ark_AnchorOp<string mnemonic, list<Trait> traits = []>
    : Ark_GraphOp<mnemonic, !listconcat(
        [DeclareOpInterfaceMethods<Ark_AnchorOpInterface>], traits)>;

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
}

def Ark_PartialArgmaxOp : Ark_AnchorOp<"partial_argmax"> {
  let summary = "The maximum of each of several pieces and where it is, as one i64";
  let description = [{
    Dimension `axis` is reduced; the one before it has the pieces, each of neighbours: element `n`
    of piece `p` of `N` elements each has the index `p * N + n`.

    The result orders as `ark.argmax` chooses. Its upper half orders like the values do, a NaN above
    all, and minus zero like zero; its lower half is the complement of the index, so that the
    larger one of two results has the larger value, or of equal ones the lesser index.
    `ark.combine_argmax` makes an index of the largest.

    - (partial_argmax_c1) `axis` is a dimension of the operand but the first, of positive extent.
    - (partial_argmax_c2) elements have 32 bits or fewer.
    - (partial_argmax_c3) there are indices of both dimensions together in i32.
  }];
  let arguments = (ins Ark_NumberTensor:$operand, I64Attr:$axis);
  let assemblyFormat = [{
    $operand `axis` `=` $axis attr-dict `:` functional-type(operands, results)
  }];
}

def Ark_CombineArgmaxOp : Ark_AnchorOp<"combine_argmax"> {
  let summary = "The index that pieces of an argmax give together, as i32";
  let description = [{
    The operand is the result of `ark.partial_argmax`; dimension `axis`, that of the pieces, is dropped.

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
}

class Ark_NormOp<string mnemonic> : Ark_AnchorOp<mnemonic, [AttrSizedOperandSegments]> {
  let arguments = (ins Ark_FloatTensor:$operand, Optional<Ark_FloatTensor>:$weight,
                       Optional<Ark_FloatTensor>:$bias, F64Attr:$eps);
  let assemblyFormat = [{
    $operand (`weight` $weight^)? (`bias` $bias^)? `eps` `=` $eps attr-dict
    `:` functional-type(operands, results)
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
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

def Ark_PhiloxOp
    : Ark_GraphOp<"philox", [DeclareOpInterfaceMethods<Ark_ElementwiseOpInterface>]> {
  let summary = "Random bits by place, from the generator Philox4x32-10";
  let description = [{
    Bits `i` of a stream are word `i mod 4` of the block that Philox4x32-10 makes of the
    counter `(i / 4, counter)` under the key `seed`, low words first. There is no state: equal
    operands give equal bits.

    - (binary_c2) the three shapes broadcast.

    ```mlir
    %1 = ark.philox %0 counter = %step seed = %seed
      : (tensor<1000xi64>, tensor<i64>, tensor<i64>) -> tensor<1000xui32>
    ```
  }];
  let arguments = (ins Ark_I64Tensor:$index, Ark_I64Tensor:$counter, Ark_I64Tensor:$seed);
  let assemblyFormat = [{
    $index `counter` `=` $counter `seed` `=` $seed attr-dict `:` functional-type(operands, results)
  }];
}

def Ark_TopThresholdOp : Ark_AnchorOp<"top_threshold"> {
  let summary = "The least of the numbers that top-k and top-p keep";
  let description = [{
    For every row along the last dimension, of numbers from zero on: first the `k` largest are
    kept, or all where `k` is not positive; of those, the fewest largest ones whose sum is at
    least `p` times that of the `k`, and one at least. The result is the least that is kept, and
    the dimension stays with extent one. What is equal to it is kept, too.

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
}

//===----------------------------------------------------------------------===//
// Linear algebra, attention, position
//===----------------------------------------------------------------------===//

def Ark_MatmulOp : Ark_AnchorOp<"matmul"> {
  let summary = "Matrix product over the last two dimensions; leading ones broadcast";
  let description = [{
    Floats accumulate in f32, integers wrap in their own type. An 8-bit float may meet a wider
    one, whose type the result has; 8-bit floats among themselves give f32.

    - (matmul_c1) both operands have rank two or more and one element type, or are floats, at
      least one of which has 8 bits.
    - (matmul_c2) the contracted extents agree, after `transpose_input` and `transpose_other`.
    - (matmul_c3) the leading dimensions broadcast.

    ```mlir
    %2 = ark.matmul %0, %1 {transpose_other} : (tensor<4x64xf32>, tensor<256x64xf32>) -> tensor<4x256xf32>
    ```
  }];
  let arguments = (ins Ark_MatrixTensor:$lhs, Ark_MatrixTensor:$rhs,
                       UnitAttr:$transpose_input, UnitAttr:$transpose_other);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def Ark_AttentionOp : Ark_AnchorOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "softmax(q k^T * scale + mask) v for every head";
  let description = [{
    q is `[..., Hq, Tq, D]`, k and v are `[..., Hkv, Tk, D]`; query head `h`
    reads key head `h / (Hq / Hkv)`. `kv_length` bounds `Tk` at run time.
    `causal` aligns the last query with the last valid key. The mask is added
    to the scores and broadcasts to `[..., Hq, Tq, Tk]`; a bool mask keeps where true.
    A row with no valid key gives zeros.

    - (attention_c1) ranks agree and are three or more; q, k and v have one element type.
    - (attention_c2) leading extents agree, Hq is a multiple of Hkv, D and Tk agree.
    - (attention_c3) the mask broadcasts to the scores and is bool or of q's element type.
  }];
  let arguments = (ins Ark_FloatTensor:$query, Ark_FloatTensor:$key, Ark_FloatTensor:$value,
                       Optional<Ark_Tensor>:$mask, Optional<Ark_ScalarTensor>:$kv_length,
                       F64Attr:$scale, UnitAttr:$causal);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`kv_length` $kv_length^)?
    `scale` `=` $scale attr-dict `:` functional-type(operands, results)
  }];
}

def Ark_PartialAttentionOp : Ark_AnchorOp<"partial_attention", [AttrSizedOperandSegments]> {
  let summary = "Attention over every P-th key, for each of P pieces";
  let description = [{
    q is `[..., Hq, Tq, D]`, k and v are `[..., Hkv, N, P, D]`: the key with number `n * P + p`
    is row `n` of piece `p`. `kv_length`, `causal` and the mask are those of `ark.attention`.

    The result is `[..., Hq, Tq, P, D + 2]`, in f32 (f64 of f64). For every piece it holds the sum
    of the values times `exp(score - m)`, then `m`, the largest score, and then the sum of the
    `exp(score - m)`. A piece without valid key gives zeros and a `m` of minus infinity.
    `ark.combine_attention` makes one result of the pieces.

    - (partial_attention_c1) k and v have one rank, one more than q, which has three or more; one element type.
    - (partial_attention_c2) leading extents agree, Hq is a multiple of Hkv, D, N and P agree, P is positive.
    - (partial_attention_c3) the mask broadcasts to `[..., Hq, Tq, N, P]` and is bool or of q's element type.
  }];
  let arguments = (ins Ark_FloatTensor:$query, Ark_FloatTensor:$key, Ark_FloatTensor:$value,
                       Optional<Ark_Tensor>:$mask, Optional<Ark_ScalarTensor>:$kv_length,
                       F64Attr:$scale, UnitAttr:$causal);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`kv_length` $kv_length^)?
    `scale` `=` $scale attr-dict `:` functional-type(operands, results)
  }];
}

def Ark_CombineAttentionOp : Ark_AnchorOp<"combine_attention"> {
  let summary = "The attention that pieces of the keys give together";
  let description = [{
    The operand is the result of `ark.partial_attention`, `[..., P, D + 2]`; the result is
    `[..., D]`, of the same element type. Rows without valid key are zero.

    - (combine_attention_c1) the operand has rank two or more and a last extent of two or more.

    ```mlir
    %1 = ark.combine_attention %0 : (tensor<32x1x16x66xf32>) -> tensor<32x1x64xf32>
    ```
  }];
  let arguments = (ins Ark_FloatTensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
}

def Ark_RopeOp : Ark_GraphOp<"rope", [DeclareOpInterfaceMethods<Ark_AnchorOpInterface>]> {
  let summary = "Rotary position embedding of the last dimension";
  let description = [{
    Half-split pairs element `i` with `i + D/2`; `interleaved` pairs `2i` with `2i + 1`.
    `cos` and `sin` hold one value for every pair.

    - (rope_c1) the last extent is even; all three have one element type.
    - (rope_c2) `cos` and `sin` have one shape, which ends in `D/2` and broadcasts to the operand's pairs.
  }];
  let arguments = (ins Ark_FloatTensor:$operand, Ark_FloatTensor:$cos, Ark_FloatTensor:$sin,
                       UnitAttr:$interleaved);
  let assemblyFormat = [{
    $operand `,` $cos `,` $sin attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Indexing and state
//===----------------------------------------------------------------------===//

def Ark_EmbeddingOp : Ark_GraphOp<"embedding", [DeclareOpInterfaceMethods<Ark_AnchorOpInterface>]> {
  let summary = "Rows of a table, by index";
  let description = [{
    The result has the shape of `indices` followed by the row length. An index
    outside of the table is an error that the run reports.

    - (embedding_c1) the table has rank two.
  }];
  let arguments = (ins Ark_IndexTensor:$indices, Ark_Tensor:$weight);
  let assemblyFormat = [{
    $indices `,` $weight attr-dict `:` functional-type(operands, results)
  }];
}

def Ark_GatherOp : Ark_GraphOp<"gather", [DeclareOpInterfaceMethods<Ark_AnchorOpInterface>]> {
  let summary = "Slices of a tensor along one dimension, by index (numpy.take)";
  let description = [{
    - (gather_c1) `axis` is a dimension of `source`.
  }];
  let arguments = (ins Ark_Tensor:$source, Ark_IndexTensor:$indices, I64Attr:$axis);
  let assemblyFormat = [{
    $source `,` $indices `axis` `=` $axis attr-dict `:` functional-type(operands, results)
  }];
}

def Ark_UpdateOp : Ark_Op<"update", [InferTypeOpAdaptor,
      DeclareOpInterfaceMethods<Ark_AnchorOpInterface>,
      MemoryEffects<[MemWrite]>]> {
  let summary = "Writes a slice of a state in place and gives the updated tensor";
  let description = [{
    Offsets are static or, where `static_offsets` holds the smallest i64, taken
    from `offsets` in order. A slice that does not fit is an error that the
    run reports.

    - (update_c1) the state is an `ark.kind = #ark.kind<state>` argument or the result of an update.
    - (update_c2) state and value have one rank and element type; the value fits into the state.
    - (update_c3) one static offset for every dimension, and one operand for every dynamic one.
    - (update_c4) a static offset keeps the slice inside of the state.
  }];
  let arguments = (ins Ark_Tensor:$state, Ark_Tensor:$value,
                       Variadic<Ark_ScalarTensor>:$offsets,
                       DenseI64ArrayAttr:$static_offsets);
  let results = (outs Ark_Tensor:$result);
  let assemblyFormat = [{
    $value `into` $state custom<DynamicIndexList>($offsets, $static_offsets) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // ARK_GRAPH_OPS_TD
