//===- RowPrologue.h - What makes rows before a product -*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ROWPROLOGUE_H
#define ARK_PASSES_TARGET_ROWPROLOGUE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// How the threads of a warp divide a row: into parts of so many loads of so
/// many elements for each thread. Neighbouring threads load neighbours.
struct RowShares {
  int64_t parts = 0, loads = 0, width = 0;

  /// Elements of all threads from one load of a thread to its next one.
  int64_t getStep() const;
  /// The first element of thread `lane` in part `part`.
  Value getFirst(ImplicitLocOpBuilder &builder, Value part, Value lane) const;
};

/// The ops before the loop over vCTAs that make rows, `memref<MxK>`, of
/// arguments of the body: none, or a norm, say. A warp computes one of them by
/// itself: all that it loads is asked for at once, and it waits for no other.
class RowPrologue {
public:
  /// Of rows that only `users` read.
  RowPrologue(Value rows, ArrayRef<Operation *> users, scf::ForOp vctas);

  /// What the rows are made of.
  ArrayRef<Value> getInputs() const { return inputs; }
  /// Whether ops make them: else they are an input.
  bool isComputed() const { return !ops.empty(); }
  /// The elements of part `part` of row `row` that thread `lane` of a warp has,
  /// a vector for each load; `arguments` stand for the inputs.
  SmallVector<Value> build(ImplicitLocOpBuilder &builder, ValueRange arguments,
                           Value row, Value lane, Value part,
                           const RowShares &shares) const;
  /// Erases the ops, and the rows if nobody reads them any more.
  void erase();

private:
  bool match(ArrayRef<Operation *> users, scf::ForOp vctas);
  bool matchNumber(Value number, scf::ForOp vctas);
  bool addInput(Value input, AffineMap map);
  bool isNumber(Value value) const;

  Value rows;
  SmallVector<Value> inputs;
  /// In their order; the last one makes the rows. None: they are an input.
  SmallVector<linalg::GenericOp> ops;
};

/// Whether an argument of a body begins where the widest loads are allowed.
bool isAlignedArgument(Value value);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ROWPROLOGUE_H
