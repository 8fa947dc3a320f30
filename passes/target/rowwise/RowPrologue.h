//===- RowPrologue.h - Ops that make rows of arguments ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ROWWISE_ROWPROLOGUE_H
#define ARK_PASSES_TARGET_ROWWISE_ROWPROLOGUE_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// The division of a row among warps: a part for each warp, and `loads` loads
/// of `width` elements for each thread. Neighbouring threads load neighbouring
/// elements.
struct RowShares {
  int64_t parts = 0, loads = 0, width = 0;

  /// Returns the number of elements from one load of a thread to its next one.
  int64_t getStep() const;
  /// Returns the first element of thread `lane` in part `part`.
  Value getFirst(ImplicitLocOpBuilder &builder, Value part, Value lane) const;
};

/// The row and the part of it that the thread has, and the thread's warp in the
/// CTA and lane in the warp.
struct RowPlace {
  Value row, part, warp, lane;
};

/// The ops before the loop over vCTAs that make rows, `memref<MxK>`, of
/// arguments of the body, such as a norm. Several warps make one row together.
/// Each of them issues all loads of its part at once. The warps exchange only
/// numbers that belong to a whole row, such as a sum.
class RowPrologue {
public:
  /// Matches the ops that make `rows`, which only `users` read.
  RowPrologue(Value rows, ArrayRef<Operation *> users, scf::ForOp vctas);

  /// Returns true if ops before the loop over vCTAs make the rows.
  bool isComputed() const { return !ops.empty(); }
  /// Builds the elements that a thread makes of a row, and returns a vector for
  /// each of its loads. All threads of the CTA, `warps` warps, must execute the
  /// code.
  SmallVector<Value> build(ImplicitLocOpBuilder &builder, const RowPlace &place,
                           const RowShares &shares, int64_t warps) const;
  /// Erases the ops, and the buffers and receives that only the ops used.
  void erase();

private:
  bool match(ArrayRef<Operation *> users, scf::ForOp vctas);
  bool matchNumber(Value number, scf::ForOp vctas);
  bool addInput(Value input, AffineMap map);
  bool isNumber(Value value) const;
  ReceivePacketsOp getReceived(Value input) const;
  /// Returns true if only the last op reads the input: the weights of a norm,
  /// for example.
  bool isOnlyOfLast(Value input) const;

  Value rows;
  SmallVector<Value> inputs;
  /// The ops in their order; the last one makes the rows. Empty if the ops did
  /// not match.
  SmallVector<linalg::GenericOp> ops;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ROWWISE_ROWPROLOGUE_H
