//===- RowPrologue.h - Ops that compute shared rows -------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ROWWISE_ROWPROLOGUE_H
#define ARK_PASSES_TARGET_ROWWISE_ROWPROLOGUE_H

#include "passes/target/rowwise/RowBuilder.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// The ops before the loop over vCTAs that compute rows, `memref<MxK>`, from
/// arguments of the body, such as a norm, or a sum over ranks and its norm.
/// Several warps compute one row together. Each warp issues all loads of its
/// share at once. Warps exchange only row scalars, such as a sum of squares.
class RowPrologue {
public:
  /// Matches the ops that compute `rows`, which only `users` read, in the loop
  /// over vCTAs. `shares` divides the rows among warps.
  RowPrologue(Value rows, ArrayRef<Operation *> users, scf::ForOp vctas,
              const RowShares &shares);

  /// Returns true if ops before the loop over vCTAs compute the rows.
  bool isComputed() const { return !ops.empty(); }
  /// Builds the elements of a row that a thread computes. Returns one vector
  /// per load. All `warps` warps of the CTA must execute the code.
  SmallVector<Value> build(ImplicitLocOpBuilder &builder,
                           const ThreadIndices &indices, int64_t warps) const;
  /// Erases the ops, and the buffers and receives that no other op uses.
  void erase();

private:
  bool match(bool keepsIntermediates);
  bool matchRow(linalg::GenericOp op);
  bool matchInput(linalg::GenericOp op, OpOperand *operand);
  bool matchRowScalar(Value scalar);
  bool addInput(Value input, AffineMap map);
  bool isRowScalar(Value value) const;
  bool isBeforeLoop(Operation *op) const;
  bool ownsResults() const;
  bool ownsRows() const;
  bool inputsLast() const;
  bool fits() const;
  /// Returns the number of rows that stay in registers between two ops.
  int64_t countIntermediates() const;
  linalg::GenericOp getMaker() const;
  linalg::GenericOp getIntermediateWriter(Value value) const;
  ReceivePacketsOp findReceived(Value input) const;
  /// Returns true if only the last op reads the input. An example is the weight
  /// of a norm.
  bool isOnlyOfLast(Value input) const;

  Value rows;
  ArrayRef<Operation *> users;
  scf::ForOp vctas;
  RowShares shares;
  /// True if rows between the ops stay in registers.
  bool keepsIntermediates = true;
  SmallVector<Value> inputs;
  /// The ops that receive inputs in registers.
  SmallVector<ReceivePacketsOp> received;
  /// The ops in program order; the last op writes the rows. Empty if the ops
  /// did not match.
  SmallVector<linalg::GenericOp> ops;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ROWWISE_ROWPROLOGUE_H
