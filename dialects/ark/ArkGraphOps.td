//===- ArkGraphOps.td - Creation, views and elementwise ops -----*- tablegen -*-===//
//
// Semantics are numpy's. Every op has one result, whose type is inferred. Constraints that ODS
// cannot state are numbered; the .cpp of the same name checks them under their labels.
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
          [DeclareOpInterfaceMethods<ViewOpInterface>], traits)>;

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
    The bytes are those of the elements in row-major order, the lowest first. A bool is a byte of 0
    or 1. The last extent changes by the ratio of the item sizes.

    - (bitcast_c1) the result is a tensor of bool only if `source` is one: a byte may be neither 0
      nor 1.
    - (bitcast_c2) item sizes agree, or the bytes of the last dimension are a multiple of the new
      size.

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
  let summary = "Keeps a tensor: it is computed although nothing reads it";
  let description = [{
    The op does not become a task, and no task waits for it. The tensor is computed in every
    iteration.

    ```mlir
    ark.noop %0 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Ark_Tensor:$source);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

def Ark_ConcatOp : Ark_GraphOp<"concat", [AnchorOpInterface]> {
  let summary = "Tensors joined along one dimension";
  let description = [{
    - (concat_c1) there is at least one tensor; all have one rank and element type.
    - (concat_c2) `axis` is a dimension of the tensors.
    - (concat_c3) extents agree in every other dimension.
  }];
  let arguments = (ins Variadic<Ark_Tensor>:$inputs, I64Attr:$axis);
  let assemblyFormat = [{
    $inputs `axis` `=` $axis attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool takesEpilogue() { return false; }
    ::llvm::SmallVector<int64_t> getWholeDims(int64_t) {
      return {static_cast<int64_t>(getAxis())};
    }
    bool copiesElements() { return true; }
  }];
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

class Ark_UnaryOp<string mnemonic, Type operand = Ark_FloatTensor>
    : Ark_GraphOp<mnemonic, [DeclareOpInterfaceMethods<ElementwiseOpInterface>]> {
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
  let summary = "A copy of the operand in a separate buffer";
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

def Ark_CastOp : Ark_GraphOp<"cast", [DeclareOpInterfaceMethods<ElementwiseOpInterface>]> {
  let summary = "Values converted to another element type";
  let description = [{
    A cast from float to integer truncates toward zero and saturates. A cast to a narrower integer
    wraps. A cast to bool gives `x != 0`.
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
        [DeclareOpInterfaceMethods<ElementwiseOpInterface>], traits)> {
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
  let summary = "The greater operand; NaN if either is NaN";
}
def Ark_MinimumOp : Ark_BinaryOp<"minimum", Ark_NumberTensor, [Commutative]> {
  let summary = "The lesser operand; NaN if either is NaN";
}
def Ark_PowOp : Ark_BinaryOp<"pow"> {
  let summary = "Power; integer results wrap, and fractions become zero";
}
def Ark_LogicalAndOp : Ark_BinaryOp<"logical_and", Ark_BoolTensor, [Commutative]> {
  let summary = "Logical and";
}
def Ark_LogicalOrOp : Ark_BinaryOp<"logical_or", Ark_BoolTensor, [Commutative]> {
  let summary = "Logical or";
}

def Ark_CompareOp
    : Ark_GraphOp<"compare", [DeclareOpInterfaceMethods<ElementwiseOpInterface>]> {
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
    : Ark_GraphOp<"where", [DeclareOpInterfaceMethods<ElementwiseOpInterface>]> {
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

def Ark_PhiloxOp
    : Ark_GraphOp<"philox", [DeclareOpInterfaceMethods<ElementwiseOpInterface>]> {
  let summary = "Random bits by index, from the generator Philox4x32-10";
  let description = [{
    The bits at index `i` of a stream are word `i mod 4` of the block that Philox4x32-10 computes
    from the counter `(i / 4, counter)` and the key `seed`, low words first. The op has no state:
    equal operands give equal bits.

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

#endif // ARK_GRAPH_OPS_TD
