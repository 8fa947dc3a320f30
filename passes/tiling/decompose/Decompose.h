//===- Decompose.h - Patterns that decompose ark ops ------------*- C++ -*-===//
//
// The patterns of every family of ops are in a file Decompose<Family>.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TILING_DECOMPOSE_DECOMPOSE_H
#define ARK_PASSES_TILING_DECOMPOSE_DECOMPOSE_H

#include "dialects/ark/ArkOps.h"

#include "mlir/Transforms/DialectConversion.h"

namespace mlir::ark {

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

void populateDecomposeArgmax(const TypeConverter &converter,
                             RewritePatternSet &patterns);
void populateDecomposeAttention(const TypeConverter &converter,
                                RewritePatternSet &patterns);
void populateDecomposeAttentionGradient(const TypeConverter &converter,
                                        RewritePatternSet &patterns);
void populateDecomposeCombination(const TypeConverter &converter,
                                  RewritePatternSet &patterns);
void populateDecomposeConvolution(const TypeConverter &converter,
                                  RewritePatternSet &patterns);
void populateDecomposeElementwise(const TypeConverter &converter,
                                  RewritePatternSet &patterns);
void populateDecomposeIndexing(const TypeConverter &converter,
                               RewritePatternSet &patterns);
void populateDecomposeMatmul(const TypeConverter &converter,
                             RewritePatternSet &patterns);
void populateDecomposeNorm(const TypeConverter &converter,
                           RewritePatternSet &patterns);
void populateDecomposeNormGradient(const TypeConverter &converter,
                                   RewritePatternSet &patterns);
void populateDecomposeQuantizedMatmul(const TypeConverter &converter,
                                      RewritePatternSet &patterns);
void populateDecomposeReduce(const TypeConverter &converter,
                             RewritePatternSet &patterns);
void populateDecomposeRope(const TypeConverter &converter,
                           RewritePatternSet &patterns);

//===----------------------------------------------------------------------===//
// Types and scalars
//===----------------------------------------------------------------------===//

/// Returns the type that bodies compute in: f32 for narrower floats, signless
/// for unsigned integers.
Type getComputeType(Type element);

/// Converts tensors to compute types. Materializations are structured ops.
class ComputeTypeConverter : public TypeConverter {
public:
  ComputeTypeConverter();
};

/// Converts a scalar between an element type and its compute type.
Value convertScalar(OpBuilder &builder, Location loc, Value value, Type type);

/// Creates a constant of a compute type.
Value createNumber(OpBuilder &builder, Location loc, Type type, double value);

/// Creates the smallest or the largest value of a compute type.
Value createExtreme(OpBuilder &builder, Location loc, Type type, bool least,
                    bool isUnsigned);

/// Creates a scalar of compute type with the value of a splat constant.
Value createSplatScalar(OpBuilder &builder, Location loc,
                        SplatElementsAttr splat);

/// Emits an elementwise op on scalars of compute types.
Value emitScalar(OpBuilder &builder, Operation *op, ValueRange operands);

/// Emits random bits as i32 from operands of type i64; see ark.philox.
Value emitPhilox(OpBuilder &builder, Location loc, Value index, Value counter,
                 Value seed);

/// Emits the maximum or minimum of two scalars of a compute type.
Value emitExtremum(OpBuilder &builder, Location loc, Value lhs, Value rhs,
                   bool isMaximum, bool isUnsigned);

/// Emits 1 / sum, or zero if the sum is zero.
Value emitInverse(OpBuilder &builder, Location loc, Value sum);

//===----------------------------------------------------------------------===//
// Structured ops
//===----------------------------------------------------------------------===//

using BodyFn = function_ref<Value(OpBuilder &, Location, ValueRange)>;

/// Creates an uninitialised tensor, whose extents may be values.
Value createEmpty(OpBuilder &builder, Location loc,
                  ArrayRef<OpFoldResult> shape, Type element);
Value createEmpty(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                  Type element);

/// Creates a tensor whose elements all equal `scalar`.
Value createFill(OpBuilder &builder, Location loc, ArrayRef<OpFoldResult> shape,
                 Value scalar);

/// Returns the indexing map of an operand of `shape` for a result of
/// `resultShape` with numpy's broadcasting: dimensions align at the end, and
/// extents of one repeat.
AffineMap getBroadcastMap(MLIRContext *context, ArrayRef<int64_t> shape,
                          ArrayRef<int64_t> resultShape);

/// Creates an elementwise op that computes every element of `init` from the
/// elements that `maps` select.
Value createElementwise(OpBuilder &builder, Location loc, ValueRange inputs,
                        ArrayRef<AffineMap> maps, Value init, BodyFn body);

/// Reduces the dimensions `axes` of `input`; the result lacks these dimensions.
/// `combine` takes the element, then the accumulator.
Value createReduction(OpBuilder &builder, Location loc, Value input,
                      ArrayRef<int64_t> axes, Value start, BodyFn combine);

/// Creates a contraction over the dimensions that the last map lacks, at the
/// end of the iteration space. Operands are converted to `element`.
Value createContraction(OpBuilder &builder, Location loc, Value lhs, Value rhs,
                        ArrayRef<AffineMap> maps, ArrayRef<OpFoldResult> shape,
                        Type element);

/// Returns the operand for a contraction. Floats in memory are read in their
/// memory type and converted in registers; other values have their compute
/// type.
Value getContractionOperand(Value original, Value converted);

/// Returns the first `length` keys of a tensor whose dimension `keyDim` has
/// `maxKeys` keys. A tensor with one entry for all keys, or without the
/// dimension, stays whole.
Value sliceKeys(OpBuilder &builder, Location loc, Value tensor, int64_t keyDim,
                int64_t maxKeys, OpFoldResult length);

/// Returns the map of a tensor that lacks the dimensions `axes` of an iteration
/// space.
AffineMap getMapWithout(MLIRContext *context, int64_t rank,
                        ArrayRef<int64_t> axes);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_DECOMPOSE_DECOMPOSE_H
