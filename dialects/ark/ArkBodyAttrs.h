//===- ArkBodyAttrs.h - Facts about bodies of a GPU -------------*- C++ -*-===//
//
// Discardable attributes between passes of the target stage. Code is wrong
// without them, so that they are verified, and so is what depends on them.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_ARK_ARKBODYATTRS_H
#define DIALECTS_ARK_ARKBODYATTRS_H

#include "mlir/IR/Operation.h"

namespace mlir::ark {

/// Of a call that all threads of a CTA make together: how many of its last
/// operands it writes, an i64. It only reads the others.
inline constexpr llvm::StringLiteral kCooperativeAttr = "ark.cooperative";

/// Of a body: the tensor maps that it asks for by number, an array of operand,
/// columns, rows, stride and rows of a box each.
inline constexpr llvm::StringLiteral kTensorMapsAttr = "ark.tensor_maps";
inline constexpr int64_t kTensorMapFields = 5;

inline bool isBodyAttr(StringRef name) {
  return name == kCooperativeAttr || name == kTensorMapsAttr;
}

/// Checks one of these where it stands.
LogicalResult verifyBodyAttr(Operation *op, NamedAttribute attribute);

} // namespace mlir::ark

#endif // DIALECTS_ARK_ARKBODYATTRS_H
