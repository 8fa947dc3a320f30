//===- ResultConversions.h - Conversions of a product's result --*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_RESULTCONVERSIONS_H
#define ARK_PASSES_TARGET_MATMUL_RESULTCONVERSIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <optional>

namespace mlir::ark {

/// An op that computes each element of a temporary from one element of a
/// product's result, and the only op that reads this temporary. The product of
/// gate and up projections rounds one result to bf16 in this way.
struct ResultConversion {
  linalg::GenericOp conversion, reader;
  memref::AllocaOp temporary;

  /// Returns nothing if `user` is not such an op.
  static std::optional<ResultConversion> match(Operation *user);

  /// Moves the computation into the reader and erases the temporary. Values are
  /// the same: the reader rounds each element before it uses it. The result of
  /// the product must not change between both ops.
  void inlineIntoReader();
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_RESULTCONVERSIONS_H
