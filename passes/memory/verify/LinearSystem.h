//===- LinearSystem.h - Linear inequalities over integers -------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_VERIFY_LINEARSYSTEM_H
#define ARK_PASSES_MEMORY_VERIFY_LINEARSYSTEM_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DynamicAPInt.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <optional>

namespace mlir::ark {

/// An integer constant plus a sum of variables with integer coefficients.
/// `LinearSystem` numbers the variables.
class LinearForm {
public:
  LinearForm(int64_t constant = 0) : constant(constant) {}
  static LinearForm variable(unsigned index) {
    LinearForm form;
    form.terms[index] = 1;
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

/// Bounds of the values of a form. A bound that is not known has no value.
struct Interval {
  std::optional<llvm::DynamicAPInt> least, most;

  /// Returns true if all values lie between `first` and `last`, both included.
  bool isWithin(int64_t first, int64_t last) const;
};

/// Returns the smallest interval that contains both.
Interval unite(const Interval &left, const Interval &right);

/// Integer variables with linear inequalities, and proofs that inequalities
/// have no solution.
class LinearSystem {
public:
  /// Inequalities: every form is at least 0.
  using Facts = SmallVector<LinearForm>;

  /// Creates a variable that may have any value of an interval.
  LinearForm createVariable(Interval interval = {});
  /// Creates a variable from `first` to `last`. A uniform variable has the same
  /// value in all iterations of all loops.
  LinearForm createBetween(const LinearForm &first, const LinearForm &last,
                           bool isUniform = false);
  /// Creates the quotient of `dividend` and a positive divisor, rounded down.
  LinearForm createFloorDiv(const LinearForm &dividend, int64_t divisor);
  /// Returns the minimum: the same variable at every call with these operands.
  LinearForm getMinimum(LinearForm left, LinearForm right);
  /// Returns an interval that contains all values of a form. Considers the
  /// intervals of its variables only, not their facts, so that this is fast.
  Interval getInterval(const LinearForm &form) const;
  /// Sets the facts that always hold of a variable.
  void setFacts(const LinearForm &variable, Facts facts);
  /// Sets alternatives: the facts of at least one case hold as well.
  void setCases(const LinearForm &variable, SmallVector<Facts, 0> cases);

  /// Renames the form for other iterations: every variable that is not uniform
  /// becomes a new variable with the same facts.
  LinearForm renameVarying(const LinearForm &form,
                           llvm::DenseMap<unsigned, unsigned> &names);
  /// Returns true if the facts contradict each other, given the facts and cases
  /// of their variables. False means only that no proof was found.
  bool isImpossible(Facts facts) { return isImpossible(std::move(facts), 0); }

private:
  struct Variable {
    bool isUniform = false;
    Interval interval;
    Facts facts;
    SmallVector<Facts, 0> cases;
  };

  Variable &getVariable(const LinearForm &variable);
  bool isUniform(const LinearForm &form) const;
  bool isImpossible(Facts facts, unsigned numSplits);

  SmallVector<Variable, 0> variables;
  /// Variables of minima, one per pair of operands. A clipped tile and a loop
  /// over its elements hence have equal extents.
  std::map<std::pair<LinearForm, LinearForm>, LinearForm> minima;
};

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_VERIFY_LINEARSYSTEM_H
