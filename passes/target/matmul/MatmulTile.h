//===- MatmulTile.h - Matrix products for tensor cores ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_MATMULTILE_H
#define ARK_PASSES_TARGET_MATMUL_MATMULTILE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::ark {

/// Rows of weights (columns of results) that one instruction multiplies.
inline constexpr int64_t kMmaColumns = 16;
/// Rows of activations that one instruction multiplies.
inline constexpr int64_t kMmaRows = 8;
/// Elements of K that one instruction multiplies.
inline constexpr int64_t kMmaDepth = 16;
/// Elements of a row, a piece of K, that the four threads which share the row
/// load at once: enough for two instructions.
inline constexpr int64_t kPieceElements = 32;
/// Elements of a piece that one thread loads.
inline constexpr int64_t kElementsPerLoad = kPieceElements / 4;

/// out[m, n] += left[m, k] * right[n, k] on buffers, in tiles of one CTA.
/// Operands are bf16 or f16, accumulators f32. Both operands are contiguous
/// along K, and aligned for loads of 8 elements. Either operand may have 8
/// bits, and is widened in registers.
struct MatmulTile {
  linalg::LinalgOp op;
  Value left, right, out;
  /// Extents; those of rows and columns are upper bounds.
  int64_t rows, columns, depth;

  /// Returns nothing if `op` is no such product.
  static std::optional<MatmulTile> match(linalg::LinalgOp op);

  /// Returns the type that is multiplied: f16 if both operands have 8 bits.
  Type getElementType() const;
  /// Returns true if both operands have this type in memory.
  bool isPlain() const;

  /// Returns true if one warp has accumulators for all rows.
  bool isSkinny() const { return rows <= 2 * kMmaRows; }
  /// Returns true if the left operand is a temporary with few rows. Warps load
  /// its rows only when they multiply them.
  bool hasNearRows() const;
  /// Returns the 16-byte loads of a thread for its share of a piece of 16
  /// columns. Eight columns need one load only.
  int64_t getLoads() const {
    return columns > kMmaColumns / 2 || !isSkinny() ? 2 : 1;
  }
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_MATMULTILE_H
