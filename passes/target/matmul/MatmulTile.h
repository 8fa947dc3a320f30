//===- MatmulTile.h - Matrix products for tensor cores ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_MATMULTILE_H
#define ARK_PASSES_TARGET_MATMUL_MATMULTILE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::ark {

/// Rows of weights (columns of the result) per instruction.
inline constexpr int64_t kMmaColumns = 16;
/// Rows of activations per instruction.
inline constexpr int64_t kMmaRows = 8;
/// Elements of K per instruction.
inline constexpr int64_t kMmaDepth = 16;
/// Elements of a piece of K: the four threads of a row load a piece with one
/// load each. A piece suffices for two instructions.
inline constexpr int64_t kPieceElements = 32;
/// Elements of a piece per thread.
inline constexpr int64_t kElementsPerLoad = kPieceElements / 4;

/// out[m, n] += left[m, k] * right[n, k] on buffers, a tile of one CTA.
/// Operands are bf16 or f16, accumulators f32. Both operands are contiguous
/// along K and aligned for loads of 8 elements. An operand may also have 8-bit
/// floats, which are widened in registers.
struct MatmulTile {
  linalg::LinalgOp op;
  Value left, right, out;
  /// Extents; `rows` and `columns` are upper bounds.
  int64_t rows, columns, depth;

  /// Returns nothing if `op` is not a supported product.
  static std::optional<MatmulTile> match(linalg::LinalgOp op);

  /// Returns the element type of the instruction: f16 if both operands have 8
  /// bits.
  Type getElementType() const;
  /// Returns true if both operands have the instruction's type in memory.
  bool isPlain() const;

  /// Returns true if one warp holds the accumulators of all rows.
  bool isSkinny() const { return rows <= 2 * kMmaRows; }
  /// Returns true if the left operand is a temporary with few rows. Warps load
  /// such rows right before they multiply them.
  bool hasNearRows() const;
  /// Returns the number of 16-byte loads per thread for a piece of 16 columns;
  /// one load if there are only eight columns.
  int64_t getLoads() const {
    return columns > kMmaColumns / 2 || !isSkinny() ? 2 : 1;
  }
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_MATMULTILE_H
