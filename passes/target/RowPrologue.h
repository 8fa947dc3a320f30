//===- RowPrologue.h - What makes a row before it is multiplied -*- C++ -*-===//

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
};

/// The ops before the loop over vCTAs that make a row, `memref<1xK>`, of
/// arguments of the body: none, or a norm, say. A warp computes them by itself:
/// all that it loads is asked for at once, and it waits for no other.
class RowPrologue {
public:
  /// Of a row that only `users` read.
  RowPrologue(Value row, ArrayRef<Operation *> users, scf::ForOp vctas);

  /// What the row is made of.
  ArrayRef<Value> getInputs() const { return inputs; }
  /// The elements of part `part` that thread `lane` of a warp has, a vector for
  /// each load; `arguments` stand for the inputs.
  SmallVector<Value> build(ImplicitLocOpBuilder &builder, ValueRange arguments,
                           Value lane, Value part,
                           const RowShares &shares) const;
  /// Erases the ops; nobody reads the row any more.
  void erase();

private:
  bool match(ArrayRef<Operation *> users, scf::ForOp vctas);
  bool matchNumber(Value number, scf::ForOp vctas);
  bool addInput(Value input, AffineMap map);

  Value row;
  SmallVector<Value> inputs;
  /// In their order; the last one makes the row. None: it is an input.
  SmallVector<linalg::GenericOp> ops;
};

/// Whether an argument of a body begins where the widest loads are allowed.
bool isAlignedArgument(Value value);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ROWPROLOGUE_H
