//===- DecomposeUtils.cpp - Helpers to build scalars and structured ops ---===//

#include "passes/tiling/decompose/Decompose.h"

#include "lib/support/GatheredMatrices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type ark::getComputeType(Type element) {
  if (auto type = dyn_cast<FloatType>(element); type && type.getWidth() < 32)
    return Float32Type::get(element.getContext());
  if (element.isUnsignedInteger())
    return IntegerType::get(element.getContext(),
                            element.getIntOrFloatBitWidth());
  return element;
}

/// Converts every element of a tensor to another type.
static Value convertElements(OpBuilder &builder, RankedTensorType type,
                             ValueRange inputs, Location loc) {
  if (inputs.size() != 1 || !isa<RankedTensorType>(inputs.front().getType()))
    return {};
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  Value init =
      createEmpty(builder, loc, type.getShape(), type.getElementType());
  return createElementwise(builder, loc, inputs, {map}, init,
                           [&](OpBuilder &b, Location l, ValueRange elements) {
                             return convertScalar(b, l, elements.front(),
                                                  type.getElementType());
                           });
}

ComputeTypeConverter::ComputeTypeConverter() {
  addConversion([](Type type) { return type; });
  addConversion([](RankedTensorType type) -> Type {
    return type.clone(getComputeType(type.getElementType()));
  });
  addSourceMaterialization(convertElements);
  addTargetMaterialization(convertElements);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value ark::convertScalar(OpBuilder &builder, Location loc, Value value,
                         Type type) {
  if (value.getType() == type)
    return value;
  if (isa<FloatType>(type)) {
    if (type.getIntOrFloatBitWidth() > value.getType().getIntOrFloatBitWidth())
      return arith::ExtFOp::create(builder, loc, type, value);
    return arith::TruncFOp::create(builder, loc, type, value);
  }
  unsigned width = type.getIntOrFloatBitWidth();
  if (value.getType().isSignlessInteger() && type.isSignlessInteger() &&
      width > value.getType().getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(builder, loc, type, value);
  // The cast between integer types of different signedness disappears with
  // memory types: the LLVM conversion gives both sides the same type.
  return UnrealizedConversionCastOp::create(builder, loc, type, value)
      .getResult(0);
}

Value ark::createNumber(OpBuilder &builder, Location loc, Type type,
                        double value) {
  TypedAttr attr = isa<FloatType>(type)
                       ? TypedAttr(builder.getFloatAttr(type, value))
                       : TypedAttr(builder.getIntegerAttr(
                             type, static_cast<int64_t>(value)));
  return arith::ConstantOp::create(builder, loc, attr);
}

Value ark::createExtreme(OpBuilder &builder, Location loc, Type type,
                         bool least, bool isUnsigned) {
  if (auto floatType = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(
        builder, loc,
        builder.getFloatAttr(
            type, APFloat::getInf(floatType.getFloatSemantics(), least)));
  unsigned width = type.getIntOrFloatBitWidth();
  APInt value = isUnsigned ? (least ? APInt::getMinValue(width)
                                    : APInt::getMaxValue(width))
                           : (least ? APInt::getSignedMinValue(width)
                                    : APInt::getSignedMaxValue(width));
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(type, value));
}

Value ark::createSplatScalar(OpBuilder &builder, Location loc,
                             SplatElementsAttr splat) {
  Type type = getComputeType(splat.getElementType());
  auto floatType = dyn_cast<FloatType>(type);
  if (!floatType)
    return arith::ConstantOp::create(
        builder, loc,
        builder.getIntegerAttr(type, splat.getSplatValue<APInt>()));
  APFloat value = splat.getSplatValue<APFloat>();
  bool lossy = false;
  value.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &lossy);
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}

Value ark::emitInverse(OpBuilder &builder, Location loc, Value sum) {
  Type element = sum.getType();
  Value zero = createNumber(builder, loc, element, 0);
  Value inverse = arith::DivFOp::create(
      builder, loc, createNumber(builder, loc, element, 1), sum);
  Value isEmpty =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, sum, zero);
  return arith::SelectOp::create(builder, loc, isEmpty, zero, inverse);
}

//===----------------------------------------------------------------------===//
// Structured ops
//===----------------------------------------------------------------------===//

Value ark::createEmpty(OpBuilder &builder, Location loc,
                       ArrayRef<OpFoldResult> shape, Type element) {
  return tensor::EmptyOp::create(builder, loc, shape, element);
}

Value ark::createEmpty(OpBuilder &builder, Location loc,
                       ArrayRef<int64_t> shape, Type element) {
  return tensor::EmptyOp::create(builder, loc, shape, element);
}

Value ark::createFill(OpBuilder &builder, Location loc,
                      ArrayRef<OpFoldResult> shape, Value scalar) {
  Value empty = createEmpty(builder, loc, shape, scalar.getType());
  return linalg::FillOp::create(builder, loc, ValueRange{scalar},
                                ValueRange{empty})
      .getResult(0);
}

AffineMap ark::getBroadcastMap(MLIRContext *context, ArrayRef<int64_t> shape,
                               ArrayRef<int64_t> resultShape) {
  int64_t rank = resultShape.size();
  int64_t first = rank - static_cast<int64_t>(shape.size());
  SmallVector<AffineExpr> exprs;
  for (auto [position, extent] : llvm::enumerate(shape)) {
    int64_t dim = first + position;
    bool repeats = extent == 1 && resultShape[dim] != 1;
    exprs.push_back(repeats ? getAffineConstantExpr(0, context)
                            : getAffineDimExpr(dim, context));
  }
  return AffineMap::get(rank, 0, exprs, context);
}

Value ark::createElementwise(OpBuilder &builder, Location loc,
                             ValueRange inputs, ArrayRef<AffineMap> maps,
                             Value init, BodyFn body) {
  auto type = cast<RankedTensorType>(init.getType());
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange{type}, inputs, ValueRange{init}, allMaps,
             iterators,
             [&](OpBuilder &b, Location l, ValueRange elements) {
               Value result = body(b, l, elements.drop_back());
               linalg::YieldOp::create(b, l, result);
             })
      .getResult(0);
}

AffineMap ark::getMapWithout(MLIRContext *context, int64_t rank,
                             ArrayRef<int64_t> axes) {
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(axes, dim))
      exprs.push_back(getAffineDimExpr(dim, context));
  return AffineMap::get(rank, 0, exprs, context);
}

Value ark::createReduction(OpBuilder &builder, Location loc, Value input,
                           ArrayRef<int64_t> axes, Value start,
                           BodyFn combine) {
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, input);
  SmallVector<OpFoldResult> shape;
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (llvm::is_contained(axes, static_cast<int64_t>(dim)))
      iterators[dim] = utils::IteratorType::reduction;
    else
      shape.push_back(size);
  }
  Value init = createFill(builder, loc, shape, start);
  AffineMap maps[] = {
      builder.getMultiDimIdentityMap(type.getRank()),
      getMapWithout(builder.getContext(), type.getRank(), axes)};
  return linalg::GenericOp::create(
             builder, loc, TypeRange{init.getType()}, ValueRange{input},
             ValueRange{init}, maps, iterators,
             [&](OpBuilder &b, Location l, ValueRange elements) {
               linalg::YieldOp::create(b, l, combine(b, l, elements));
             })
      .getResult(0);
}

Value ark::getContractionOperand(Value original, Value converted) {
  bool isFloat = isa<FloatType>(
      cast<RankedTensorType>(original.getType()).getElementType());
  auto gather = original.getDefiningOp<GatherOp>();
  bool isMemory =
      isa<BlockArgument>(original) || (gather && getProductOfGathered(gather));
  return isFloat && isMemory ? original : converted;
}

Value ark::sliceKeys(OpBuilder &builder, Location loc, Value tensor,
                     int64_t keyDim, int64_t maxKeys, OpFoldResult length) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (keyDim < 0 || type.getDimSize(keyDim) != maxKeys)
    return tensor;
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  sizes[keyDim] = length;
  SmallVector<OpFoldResult> zeros(sizes.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(sizes.size(), builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(builder, loc, tensor, zeros, sizes,
                                        ones);
}

Value ark::createContraction(OpBuilder &builder, Location loc, Value lhs,
                             Value rhs, ArrayRef<AffineMap> maps,
                             ArrayRef<OpFoldResult> shape, Type element) {
  Value init =
      createFill(builder, loc, shape, createNumber(builder, loc, element, 0));
  SmallVector<utils::IteratorType> iterators(maps.back().getNumDims(),
                                             utils::IteratorType::reduction);
  for (size_t dim = 0; dim < shape.size(); ++dim)
    iterators[dim] = utils::IteratorType::parallel;
  return linalg::GenericOp::create(
             builder, loc, TypeRange{init.getType()}, ValueRange{lhs, rhs},
             ValueRange{init}, maps, iterators,
             [&](OpBuilder &b, Location l, ValueRange elements) {
               Value x = convertScalar(b, l, elements[0], element);
               Value y = convertScalar(b, l, elements[1], element);
               Value sum;
               if (isa<FloatType>(element))
                 sum = arith::AddFOp::create(b, l, elements[2],
                                             arith::MulFOp::create(b, l, x, y));
               else
                 sum = arith::AddIOp::create(b, l, elements[2],
                                             arith::MulIOp::create(b, l, x, y));
               linalg::YieldOp::create(b, l, sum);
             })
      .getResult(0);
}
