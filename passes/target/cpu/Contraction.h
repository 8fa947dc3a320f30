//===- Contraction.h - C[m, n] += A[m, k] * B[n, k] on buffers --*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_CPU_CONTRACTION_H
#define ARK_PASSES_TARGET_CPU_CONTRACTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <array>

namespace mlir::ark {

/// Returns true if consecutive values of a loop access consecutive elements of
/// a buffer with the subscript `map`.
bool isContiguousIn(MemRefType type, AffineMap map, unsigned dim);

/// A loop of a contraction. If an operand is a vector instead of a matrix, the
/// missing loop has extent 1 and no dimension.
struct ContractionDim {
  std::optional<unsigned> dim;
  /// The extent, if it is static.
  std::optional<int64_t> extent;
};

/// A linalg contraction as a matrix product over three of its loops. All other
/// loops enclose these three.
struct Contraction {
  linalg::LinalgOp op;
  ContractionDim m, n, k;
  /// Operand indices of A (indexed by m) and B (indexed by n).
  unsigned lhs, rhs;
  /// True if B is contiguous in k instead of n.
  bool rhsTransposed;
  /// True if A is contiguous in k.
  bool lhsContiguous;
  /// True if C is contiguous in m instead of n.
  bool resultTransposed;
  /// The operands and their subscripts.
  std::array<Value, 3> buffers;
  std::array<AffineMap, 3> maps;

  /// Returns the contraction in `op`, or nothing if no vector form applies.
  static std::optional<Contraction> match(linalg::LinalgOp op);

  /// Permutes the dimensions of buffers such that the contiguous dimension is
  /// the last one, along which vectors are loaded.
  void transposeBuffers(ImplicitLocOpBuilder &builder);

  MemRefType getType(unsigned operand) const {
    return cast<MemRefType>(buffers[operand].getType());
  }
};

/// Emits the register-blocked form. `ivs` holds the indices of all loops except
/// m, n and k.
void emitBlocks(ImplicitLocOpBuilder &builder, const Contraction &contraction,
                MutableArrayRef<Value> ivs, ArrayRef<Value> extents,
                int64_t vectorElements);

/// Emits the dot-product form for at most four rows.
void emitDots(ImplicitLocOpBuilder &builder, const Contraction &contraction,
              MutableArrayRef<Value> ivs, ArrayRef<Value> extents,
              int64_t vectorElements);

/// Returns true if the dot-product form applies.
bool prefersDots(const Contraction &contraction);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_CPU_CONTRACTION_H
