//===- BodyBounds.h - Ranges of the indices in a body -----------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_BODYBOUNDS_H
#define ARK_PASSES_MEMORY_BODYBOUNDS_H

#include "dialects/ark/ArkOps.h"
#include "llvm/ADT/DynamicAPInt.h"

#include <map>

namespace mlir::linalg {
class LinalgOp;
} // namespace mlir::linalg

namespace mlir::ark {

/// An integer constant plus a sum of variables with integer coefficients.
/// `BodyBounds` numbers the variables.
class LinearForm {
public:
  LinearForm(int64_t constant = 0) : constant(constant) {}
  static LinearForm variable(unsigned number) {
    LinearForm form;
    form.terms[number] = 1;
    return form;
  }

  /// Returns the value of a form without variables, or nothing.
  std::optional<int64_t> getConstant() const;

  LinearForm &operator+=(const LinearForm &other);
  LinearForm &operator*=(const llvm::DynamicAPInt &factor);
  bool operator<(const LinearForm &other) const {
    return std::tie(terms, constant) < std::tie(other.terms, other.constant);
  }

  /// Nonzero coefficients by variable.
  std::map<unsigned, llvm::DynamicAPInt> terms;
  llvm::DynamicAPInt constant;
};

inline LinearForm operator+(LinearForm left, const LinearForm &right) {
  return left += right;
}
inline LinearForm operator*(LinearForm form, int64_t factor) {
  return form *= llvm::DynamicAPInt(factor);
}
inline LinearForm operator-(LinearForm left, const LinearForm &right) {
  return left += right * -1;
}

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

  /// Returns true if `form` is proven to be at least 0 whenever `at` runs.
  /// False means only that no proof was found.
  bool isNonNegative(const LinearForm &form, Operation *at);

private:
  /// Inequalities: every form is at least 0.
  using Facts = SmallVector<LinearForm>;
  struct Variable {
    /// True if the value is the same in all iterations of all loops of a vCTA.
    bool isUniform = false;
    Facts facts;
    /// Alternatives: the facts of at least one case hold as well.
    SmallVector<Facts, 0> cases;
  };

  LinearForm computeIndex(Value index);
  LinearForm computeIndexOf(BlockArgument argument);
  LinearForm computeIndexOf(Operation *op);
  LinearForm computeLoaded(Value buffer, Operation *at);
  LinearForm computeProduct(const LinearForm &left, const LinearForm &right);
  LinearForm createVariable();
  LinearForm createBetween(const LinearForm &first, const LinearForm &last);
  LinearForm createFloorDiv(const LinearForm &dividend, int64_t divisor);
  LinearForm getInductionVariable(OpFoldResult lowerBound,
                                  OpFoldResult upperBound, OpFoldResult step);
  LinearForm getMinimum(LinearForm left, LinearForm right);
  LinearForm getSelected(Value condition, const LinearForm &ifTrue,
                         const LinearForm &ifFalse);
  LinearForm computeTileExtent(BlockArgument tile, int64_t dim);

  bool isUniform(const LinearForm &form) const;
  bool fills(linalg::LinalgOp op, OpOperand &operand);
  bool isWhole(Operation *view);
  Value skipWholeViews(Value buffer);
  Operation *findLastFill(Value buffer, ArrayRef<OpOperand *> uses,
                          Operation *reader);
  LinearForm renameVarying(const LinearForm &form,
                           llvm::DenseMap<unsigned, unsigned> &names);
  void addFacts(Value condition, bool holds, Facts &facts);
  Facts getFactsAt(Operation *at);
  bool isImpossible(Facts facts, unsigned numSplits);

  TaskOp task;
  unsigned depth = 0;
  SmallVector<Variable, 0> variables;
  llvm::DenseMap<Value, LinearForm> indices;
  llvm::DenseMap<std::pair<Operation *, unsigned>, LinearForm> loopIndices;
  /// Variables of minima, one per pair of operands. A clipped tile and a loop
  /// over its elements hence have equal extents.
  std::map<std::pair<LinearForm, LinearForm>, LinearForm> minima;
};

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_BODYBOUNDS_H
