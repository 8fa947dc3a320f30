//===- ArkBodyAttrs.h - Attributes of bodies on GPUs ------------*- C++ -*-===//
//
// Discardable attributes between passes of the target stage. Code is wrong
// without these attributes, so they are verified, as is the code that depends
// on them.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_ARK_ARKBODYATTRS_H
#define DIALECTS_ARK_ARKBODYATTRS_H

#include "mlir/IR/Operation.h"

namespace mlir::ark {

/// On a call that all threads of a CTA make together: the number of its last
/// operands that the callee writes, an i64. The callee only reads the other
/// operands.
inline constexpr llvm::StringLiteral kCooperativeAttr = "ark.cooperative";

/// On a body: the tensor maps that it requests by number. Each is an array of
/// operand, columns, rows, stride and rows of a box.
inline constexpr llvm::StringLiteral kTensorMapsAttr = "ark.tensor_maps";
inline constexpr int64_t kTensorMapFields = 5;

inline bool isBodyAttr(StringRef name) {
  return name == kCooperativeAttr || name == kTensorMapsAttr;
}

/// Checks one of these attributes on its op.
LogicalResult verifyBodyAttr(Operation *op, NamedAttribute attribute);

} // namespace mlir::ark

#endif // DIALECTS_ARK_ARKBODYATTRS_H
