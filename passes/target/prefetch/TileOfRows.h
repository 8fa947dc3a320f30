//===- TileOfRows.h - Tiles of rows of an argument --------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_PREFETCH_TILEOFROWS_H
#define ARK_PASSES_TARGET_PREFETCH_TILEOFROWS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Consecutive rows of an argument. The first row depends on the vCTA's index.
struct TileOfRows {
  memref::SubViewOp view;
  int64_t rows, rowBytes;

  static std::optional<TileOfRows> match(memref::SubViewOp view);
  /// Returns the address of the tile of a vCTA in the loop `vctas`.
  Value getAddress(ImplicitLocOpBuilder &builder, scf::ForOp vctas,
                   Value vcta) const;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_PREFETCH_TILEOFROWS_H
