//===- RowPrologue.h - What makes rows before a product -*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ROWPROLOGUE_H
#define ARK_PASSES_TARGET_ROWPROLOGUE_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// How warps divide a row: a part for each, of so many loads of so many
/// elements for each thread. Neighbouring threads load neighbours.
struct RowShares {
  int64_t parts = 0, loads = 0, width = 0;

  /// Elements of all threads from one load of a thread to its next one.
  int64_t getStep() const;
  /// The first element of thread `lane` in part `part`.
  Value getFirst(ImplicitLocOpBuilder &builder, Value part, Value lane) const;
};

/// Which part of which row the thread has, and what it is among all of a CTA.
struct RowPlace {
  Value row, part, warp, lane;
};

/// The ops before the loop over vCTAs that make rows, `memref<MxK>`, of
/// arguments of the body: a norm, say. Several warps make one of them
/// together: each asks at once for all that it loads of its part, and a number
/// that belongs to a whole row, such as a sum, is all that they exchange.
class RowPrologue {
public:
  /// Of rows that only `users` read.
  RowPrologue(Value rows, ArrayRef<Operation *> users, scf::ForOp vctas);

  /// Whether ops make the rows.
  bool isComputed() const { return !ops.empty(); }
  /// The elements that a thread makes of a row, a vector for each of its loads.
  /// All threads of a CTA come here, as many warps as the last argument says.
  SmallVector<Value> build(ImplicitLocOpBuilder &builder, const RowPlace &place,
                           const RowShares &shares, int64_t warps) const;
  /// Erases the ops, and what only they used.
  void erase();

private:
  bool match(ArrayRef<Operation *> users, scf::ForOp vctas);
  bool matchNumber(Value number, scf::ForOp vctas);
  bool addInput(Value input, AffineMap map);
  bool isNumber(Value value) const;
  ReceivePacketsOp getReceived(Value input) const;
  /// Whether none but the last op reads it: the weights of a norm.
  bool isOnlyOfLast(Value input) const;

  Value rows;
  SmallVector<Value> inputs;
  /// In their order; the last one makes the rows. None where they are not made
  /// like that.
  SmallVector<linalg::GenericOp> ops;
};

/// Whether an argument of a body begins where the widest loads are allowed.
bool isAlignedArgument(Value value);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ROWPROLOGUE_H
