//===- ArkMatmulOp.cpp - Matrix products ----------------------------------===//
//
// Checks carry the constraint labels of ArkAnchorOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkInference.h"
#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace mlir::ark;

Attribute MatmulOp::getValueIfEmpty() {
  return isEmpty(getLhs()) ? getZero(getType().getElementType()) : TypedAttr();
}

bool MatmulOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  if (inferred == actual)
    return true;
  if (inferred.size() != 1 || actual.size() != 1)
    return false;
  auto type = cast<RankedTensorType>(inferred.front());
  Type element = type.getElementType();
  MLIRContext *context = type.getContext();
  if (isa<FloatType>(element))
    return actual.front() == type.clone(Float32Type::get(context));
  return element.isSignlessInteger(8) &&
         actual.front() == type.clone(IntegerType::get(context, 32));
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *, Loc loc,
                                         Adaptor adaptor, Types &types) {
  RankedTensorType lhs = tensorType(adaptor.getLhs());
  RankedTensorType rhs = tensorType(adaptor.getRhs());
  // matmul_c1
  if (lhs.getRank() < 2 || rhs.getRank() < 2)
    return emitOptionalError(loc, "needs operands of rank two or more, not ",
                             toString(lhs.getShape()), " and ",
                             toString(rhs.getShape()), " (matmul_c1)");
  bool isMixed = isNarrowFloat(lhs.getElementType())
                     ? isa<FloatType>(rhs.getElementType())
                     : isNarrowFloat(rhs.getElementType()) &&
                           isa<FloatType>(lhs.getElementType());
  if (!isMixed && failed(checkSameElement(loc, "matmul_c1", adaptor.getLhs(),
                                          adaptor.getRhs())))
    return failure();
  auto matrix = [](RankedTensorType type, bool transposed) {
    ArrayRef<int64_t> tail = type.getShape().take_back(2);
    return transposed ? std::pair(tail[1], tail[0])
                      : std::pair(tail[0], tail[1]);
  };
  auto [m, k] = matrix(lhs, adaptor.getTransposeInput());
  auto [otherK, n] = matrix(rhs, adaptor.getTransposeOther());
  // matmul_c2
  if (k != otherK)
    return emitOptionalError(loc, "contracted extents differ, ", k, " and ",
                             otherK, ", in shapes ", toString(lhs.getShape()),
                             " and ", toString(rhs.getShape()), " (matmul_c2)");
  SmallVector<int64_t> shape;
  // matmul_c3
  if (!OpTrait::util::getBroadcastedShape(lhs.getShape().drop_back(2),
                                          rhs.getShape().drop_back(2), shape))
    return emitOptionalError(
        loc, "leading dimensions of ", toString(lhs.getShape()), " and ",
        toString(rhs.getShape()), " do not broadcast (matmul_c3)");
  shape.append({m, n});
  // 8-bit floats are storage only: a result has the other operand's type, or
  // f32.
  Type element = lhs.getElementType();
  if (isNarrowFloat(element))
    element = rhs.getElementType();
  if (isNarrowFloat(element))
    element = Float32Type::get(element.getContext());
  return infer(types, shape, element);
}
