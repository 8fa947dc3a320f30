//===- BodyBounds.h - Ranges of the indices in a body -----------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_VERIFY_BODYBOUNDS_H
#define ARK_PASSES_MEMORY_VERIFY_BODYBOUNDS_H

#include "passes/memory/verify/LinearSystem.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::linalg {
class LinalgOp;
} // namespace mlir::linalg

namespace mlir::ark {

/// Proves inequalities between the indices of a task's body and the extents of
/// its buffers. An index is a linear form. Its variables are grid indices,
/// induction variables, extents of tiles, and results of nonlinear ops. Linear
/// inequalities describe the values of every variable.
class BodyBounds {
public:
  explicit BodyBounds(TaskOp task) : task(task) {}

  LinearForm getIndex(Value index);
  LinearForm getIndex(OpFoldResult index);
  /// Returns the extent of a dimension of a buffer.
  LinearForm getExtent(Value buffer, int64_t dim);
  /// Returns the number of iterations of a structured op's loop: the extent of
  /// the first operand dimension that the loop indexes.
  LinearForm getLoopExtent(IndexingMapOpInterface op, unsigned loop);
  /// Returns the index of a structured op's loop: the same form at every call.
  LinearForm getLoopIndex(IndexingMapOpInterface op, unsigned loop);

  /// Returns the product of the extents of some dimensions.
  LinearForm getProduct(Value buffer, ArrayRef<int64_t> dims);
  /// Returns the value of an expression in which dimension `d` is `dims[d]`.
  LinearForm evaluate(AffineExpr expr, ArrayRef<LinearForm> dims);

  /// Returns true if an op of the body writes every element of `buffer` before
  /// each execution of `reader`. False means only that no such op was found.
  bool isFilledBefore(Value buffer, Operation *reader);

  /// Returns true if `form` is proven to be at least 0 whenever `at` runs.
  /// False means only that no proof was found.
  bool isNonNegative(const LinearForm &form, Operation *at);

  /// Returns true if 64 bits are proven to hold `form` whenever `at` runs.
  /// False means only that no proof was found.
  bool fitsIndex(const LinearForm &form, Operation *at);

private:
  using Facts = LinearSystem::Facts;

  LinearForm computeIndex(Value index);
  LinearForm computeIndexOf(BlockArgument argument);
  LinearForm computeIndexOf(Operation *op);
  LinearForm computeLoaded(Value buffer, Operation *at);
  LinearForm computeProduct(const LinearForm &left, const LinearForm &right);
  /// Returns the induction variable of dimension `number` of a loop.
  LinearForm getInductionVariable(LoopLikeOpInterface loop, unsigned dim);
  /// Returns the result of an index op whose exact result is `form`: the op
  /// wraps around unless the exact result is proven to fit into 64 bits.
  LinearForm getExact(const LinearForm &form, Operation *op);
  LinearForm getSelected(Value condition, const LinearForm &ifTrue,
                         const LinearForm &ifFalse);
  LinearForm computeTileExtent(BlockArgument tile, int64_t dim);

  bool writesResult(Operation *op, AffineMap map);
  bool fills(OpOperand &operand);
  bool contains(Value whole, Value part, Operation *at);
  bool isWhole(Operation *view);
  Value skipWholeViews(Value buffer);
  llvm::SmallPtrSet<Value, 4> collectWholes(Value buffer);
  bool isFillBefore(OpOperand &use, Operation *reader);
  bool isFilledByViews(Value root, Value buffer, ArrayRef<OpOperand *> uses,
                       Operation *reader);
  bool hasFillBefore(const llvm::SmallPtrSetImpl<Value> &buffers,
                     ArrayRef<OpOperand *> uses, Operation *reader);
  bool areCovering(ArrayRef<memref::SubViewOp> parts, Value buffer,
                   Operation *reader);
  Operation *findLastFill(Value buffer, ArrayRef<OpOperand *> uses,
                          Operation *reader);
  void addFacts(Value condition, bool holds, Facts &facts);
  Facts getFactsAt(Operation *at);

  TaskOp task;
  unsigned depth = 0;
  LinearSystem system;
  llvm::DenseMap<Value, LinearForm> indices;
  llvm::DenseMap<std::pair<Operation *, unsigned>, LinearForm> loopIndices;
};

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_VERIFY_BODYBOUNDS_H
