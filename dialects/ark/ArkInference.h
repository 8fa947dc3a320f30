//===- ArkInference.h - Checks shared by type inference ---------*- C++ -*-===//
//
// Private to this folder: checks that several families of ops share, each with
// its constraint label.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_ARK_ARKINFERENCE_H
#define DIALECTS_ARK_ARKINFERENCE_H

#include "dialects/ark/ArkOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::ark {

using Loc = std::optional<Location>;
using Types = SmallVectorImpl<Type>;

inline RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

inline bool isEmpty(Value value) {
  return tensorType(value).getNumElements() == 0;
}

inline TypedAttr getZero(Type element) {
  return Builder(element.getContext()).getZeroAttr(element);
}

/// Returns the least or the largest value of an element type.
inline TypedAttr getLimit(Type element, bool least) {
  if (auto type = dyn_cast<FloatType>(element))
    return FloatAttr::get(element,
                          APFloat::getInf(type.getFloatSemantics(), least));
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger();
  APInt value = least ? (isUnsigned ? APInt::getMinValue(width)
                                    : APInt::getSignedMinValue(width))
                      : (isUnsigned ? APInt::getMaxValue(width)
                                    : APInt::getSignedMaxValue(width));
  return IntegerAttr::get(element, value);
}

/// Prints a shape as users write it in messages: `[4, 64]`.
inline std::string toString(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(shape, os);
  os << ']';
  return text;
}

inline LogicalResult infer(Types &types, ArrayRef<int64_t> shape,
                           Type element) {
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

inline LogicalResult checkAxis(Loc loc, StringRef label, int64_t axis,
                               RankedTensorType type) {
  if (axis >= 0 && axis < type.getRank())
    return success();
  return emitOptionalError(loc, "axis ", axis, " is not a dimension of shape ",
                           toString(type.getShape()), " (", label, ")");
}

/// Returns true for an 8-bit float. Every wider float type has all of its
/// values.
inline bool isNarrowFloat(Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  return floatType && floatType.getWidth() == 8;
}

inline LogicalResult checkSameElement(Loc loc, StringRef label, Value a,
                                      Value b) {
  if (tensorType(a).getElementType() == tensorType(b).getElementType())
    return success();
  return emitOptionalError(loc, "operands have different element types, ",
                           tensorType(a).getElementType(), " and ",
                           tensorType(b).getElementType(),
                           "; cast one of them (", label, ")");
}

} // namespace mlir::ark

#endif // DIALECTS_ARK_ARKINFERENCE_H
