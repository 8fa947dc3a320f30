//===- TensorProduct.h - Matrix products for tensor cores -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_TENSORPRODUCT_H
#define ARK_PASSES_TARGET_TENSORPRODUCT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::ark {

/// Rows of weights, columns of results, that one instruction multiplies.
inline constexpr int64_t kMmaColumns = 16;
/// Rows of activations, likewise.
inline constexpr int64_t kMmaRows = 8;
/// Elements of both that it multiplies with each other.
inline constexpr int64_t kMmaDepth = 16;
/// Elements of a row that the four threads which share it load at once: enough
/// for two instructions.
inline constexpr int64_t kPieceElements = 32;
/// Of those, what one thread loads.
inline constexpr int64_t kElementsPerLoad = kPieceElements / 4;

/// out[m, n] += left[m, k] * right[n, k] on buffers, in tiles of one CTA: bf16
/// or f16 with sums in f32, both operands contiguous in k and aligned for loads
/// of 8 elements. Either may have 8 bits, and is widened in registers.
struct TensorProduct {
  linalg::LinalgOp op;
  Value left, right, out;
  /// Extents; of rows and columns the largest that they can be.
  int64_t rows, columns, depth;

  /// Nothing, if `op` is no such product.
  static std::optional<TensorProduct> match(linalg::LinalgOp op);

  /// What is multiplied: f16 where both sides have 8 bits.
  Type getElementType() const;
  /// Whether what lies in memory is what is multiplied.
  bool isPlain() const;

  /// Whether one warp has sums for all rows.
  bool isSkinny() const { return rows <= 2 * kMmaRows; }
  /// Whether the rows lie in memory so close that warps read them when they are
  /// needed.
  bool hasNearRows() const;
  /// 16-byte loads of a thread for its share of one piece of 16 columns: eight
  /// do with one.
  int64_t getLoads() const {
    return columns > kMmaColumns / 2 || !isSkinny() ? 2 : 1;
  }
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_TENSORPRODUCT_H
