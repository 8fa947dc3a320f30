//===- Decompose.h - From ark ops to structured ops -------------*- C++ -*-===//
//
// Every family of ops has a file Decompose<Family>.cpp with its patterns.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TILING_DECOMPOSE_H
#define ARK_PASSES_TILING_DECOMPOSE_H

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
void populateDecomposeCombination(const TypeConverter &converter,
                                  RewritePatternSet &patterns);
void populateDecomposeElementwise(const TypeConverter &converter,
                                  RewritePatternSet &patterns);
void populateDecomposeIndexing(const TypeConverter &converter,
                               RewritePatternSet &patterns);
void populateDecomposeMatmul(const TypeConverter &converter,
                             RewritePatternSet &patterns);
void populateDecomposeNorm(const TypeConverter &converter,
                           RewritePatternSet &patterns);
void populateDecomposeReduce(const TypeConverter &converter,
                             RewritePatternSet &patterns);
void populateDecomposeRope(const TypeConverter &converter,
                           RewritePatternSet &patterns);

//===----------------------------------------------------------------------===//
// Types and scalars
//===----------------------------------------------------------------------===//

/// The type that bodies compute in: f32 for narrower floats, signless for
/// unsigned integers.
Type getComputeType(Type element);

/// Tensors of compute types; conversions are structured ops.
class ComputeTypeConverter : public TypeConverter {
public:
  ComputeTypeConverter();
};

/// A scalar as another type, between an element type and its compute type.
Value convertScalar(OpBuilder &builder, Location loc, Value value, Type type);

/// A number as a constant of a compute type.
Value createNumber(OpBuilder &builder, Location loc, Type type, double value);

/// The least (or greatest) value of a compute type.
Value createExtreme(OpBuilder &builder, Location loc, Type type, bool least,
                    bool isUnsigned);

/// The value of a splat constant as a scalar of its compute type.
Value createSplatScalar(OpBuilder &builder, Location loc,
                        SplatElementsAttr splat);

/// What an elementwise op makes of scalars of compute types.
Value emitScalar(OpBuilder &builder, Operation *op, ValueRange operands);

/// Random bits as i32, of operands of type i64; see ark.philox.
Value emitPhilox(OpBuilder &builder, Location loc, Value index, Value counter,
                 Value seed);

/// Maximum or minimum of two scalars of a compute type.
Value emitExtremum(OpBuilder &builder, Location loc, Value lhs, Value rhs,
                   bool isMaximum, bool isUnsigned);

/// Zero for minus infinity, which is the largest score of a row without valid
/// key: its scores then all give exp(-inf).
Value emitFinite(OpBuilder &builder, Location loc, Value maximum);

/// exp(score - maximum).
Value emitPower(OpBuilder &builder, Location loc, Value score, Value maximum);

/// 1 / sum; zero where the sum is.
Value emitInverse(OpBuilder &builder, Location loc, Value sum);

//===----------------------------------------------------------------------===//
// Structured ops
//===----------------------------------------------------------------------===//

using BodyFn = function_ref<Value(OpBuilder &, Location, ValueRange)>;

/// A tensor without values, with extents that may be values.
Value createEmpty(OpBuilder &builder, Location loc,
                  ArrayRef<OpFoldResult> shape, Type element);
Value createEmpty(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                  Type element);

/// A tensor of one value.
Value createFill(OpBuilder &builder, Location loc, ArrayRef<OpFoldResult> shape,
                 Value scalar);

/// Reads an operand of `shape` where the result is of rank `rank`, with numpy's
/// broadcasting: dimensions align at the end, and those of extent one repeat.
AffineMap getBroadcastMap(MLIRContext *context, ArrayRef<int64_t> shape,
                          ArrayRef<int64_t> resultShape);

/// One value for every element of `init`, from the elements that `maps` name.
Value createElementwise(OpBuilder &builder, Location loc, ValueRange inputs,
                        ArrayRef<AffineMap> maps, Value init, BodyFn body);

/// Reduces the dimensions `axes` of `input`. `combine` is given the element,
/// then the accumulator. The result lacks the dimensions.
Value createReduction(OpBuilder &builder, Location loc, Value input,
                      ArrayRef<int64_t> axes, Value start, BodyFn combine);

/// Sum of products over what the last map lacks, the dimension or dimensions at
/// the end of the iteration space. Operands are converted to `element`.
Value createContraction(OpBuilder &builder, Location loc, Value lhs, Value rhs,
                        ArrayRef<AffineMap> maps, ArrayRef<OpFoldResult> shape,
                        Type element);

/// Operand of a contraction: narrow floats that come from memory are read as
/// they are, and converted in registers; other values have their compute type.
Value getContractionOperand(Value original, Value converted);

/// Map of a tensor that lacks dimensions of an iteration space.
AffineMap getMapWithout(MLIRContext *context, int64_t rank,
                        ArrayRef<int64_t> axes);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_DECOMPOSE_H
