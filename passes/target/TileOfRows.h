//===- TileOfRows.h - Rows of an argument that a vCTA reads -----*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_TILEOFROWS_H
#define ARK_PASSES_TARGET_TILEOFROWS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Neighbouring rows of an argument, from one on that the vCTA's number tells.
struct TileOfRows {
  memref::SubViewOp view;
  int64_t rows, rowBytes;

  static std::optional<TileOfRows> match(memref::SubViewOp view);
  /// Where the tile of vCTA `number` of the loop around it begins.
  Value getAddress(ImplicitLocOpBuilder &builder, scf::ForOp vctas,
                   Value number) const;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_TILEOFROWS_H
