//===- ProductLifetime.h - Temporaries of single products -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_PRODUCTLIFETIME_H
#define ARK_PASSES_TARGET_MATMUL_PRODUCTLIFETIME_H

#include "passes/target/matrix_units/MatmulTile.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::ark {

/// Returns the temporary that a buffer is, or of which it is the only view.
memref::AllocaOp getTemporary(Value buffer);

/// The uses of a temporary while it holds one product.
struct Lifetime {
  memref::AllocaOp temporary;
  /// The buffer that the ops use: the temporary, or its only view, which has
  /// the extents of a clipped tile.
  Value buffer;
  /// The fill that zeroes the temporary.
  linalg::LinalgOp fill;
  /// The ops that use the buffer after the product and before the next fill.
  SmallVector<Operation *> users;
};

/// Returns nothing unless `product` is added to a zeroed temporary, which the
/// accumulators can then replace.
std::optional<Lifetime> findLifetime(const MatmulTile &product);

/// Returns the bytes of temporaries that hold only the given products.
int64_t getReplacedBytes(ArrayRef<MatmulTile> products);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_PRODUCTLIFETIME_H
