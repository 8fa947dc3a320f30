//===- RowPrologue.h - Ops that compute shared rows -------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ROWWISE_ROWPROLOGUE_H
#define ARK_PASSES_TARGET_ROWWISE_ROWPROLOGUE_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// The division of a row among warps of `warpSize` threads: a range of elements
/// for each warp, and `loads` loads of `width` elements for each thread.
/// Neighbouring threads load neighbouring elements.
struct RowShares {
  int64_t warpSize = 0, warpsPerRow = 0, loads = 0, width = 0;

  /// Returns the distance in elements between two loads of a thread.
  int64_t getStep() const;
  /// Returns the first element of thread `inWarp` in warp `warpOfRow` of a row.
  Value getFirst(ImplicitLocOpBuilder &builder, Value warpOfRow,
                 Value inWarp) const;
};

/// The row of a thread, the index of its warp among the warps of this row and
/// among the warps of the CTA, and the index of the thread in its warp.
struct ThreadIndices {
  Value row, warpOfRow, warp, inWarp;
};

/// The ops before the loop over vCTAs that compute rows, `memref<MxK>`, from
/// arguments of the body, such as a norm. Several warps compute one row
/// together. Each warp issues all loads of its share at once. Warps exchange
/// only row scalars, such as a sum.
class RowPrologue {
public:
  /// Matches the ops that compute `rows`, which only `users` read.
  RowPrologue(Value rows, ArrayRef<Operation *> users, scf::ForOp vctas);

  /// Returns true if ops before the loop over vCTAs compute the rows.
  bool isComputed() const { return !ops.empty(); }
  /// Builds the elements of a row that a thread computes. Returns one vector
  /// per load. All `warps` warps of the CTA must execute the code.
  SmallVector<Value> build(ImplicitLocOpBuilder &builder,
                           const ThreadIndices &indices,
                           const RowShares &shares, int64_t warps) const;
  /// Erases the ops, and the buffers and receives that no other op uses.
  void erase();

private:
  bool match(ArrayRef<Operation *> users, scf::ForOp vctas);
  bool matchRowScalar(Value scalar, scf::ForOp vctas);
  bool addInput(Value input, AffineMap map);
  bool isRowScalar(Value value) const;
  ReceivePacketsOp getReceived(Value input) const;
  /// Returns true if only the last op reads the input. An example is the weight
  /// of a norm.
  bool isOnlyOfLast(Value input) const;

  Value rows;
  SmallVector<Value> inputs;
  /// The ops in program order; the last op writes the rows. Empty if the ops
  /// did not match.
  SmallVector<linalg::GenericOp> ops;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ROWWISE_ROWPROLOGUE_H
