//===- SharedProductLoop.cpp - Tasks with an equal loop ------------------===//

#include "passes/tiling/fusion/SharedProductLoop.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the ops of a body that multiply matrices in a loop of their own.
static SmallVector<BodyOpInterface> getProductLoops(TaskOp task) {
  SmallVector<BodyOpInterface> found;
  for (auto op : task.getBody().front().getOps<BodyOpInterface>())
    if (op.multipliesMatrices())
      found.push_back(op);
  return found;
}

BodyOpInterface ark::getProductLoop(TaskOp task) {
  SmallVector<BodyOpInterface> found = getProductLoops(task);
  return found.empty() ? BodyOpInterface() : found.front();
}

namespace {
/// Compares values of the bodies of two tasks.
class Comparison {
public:
  Comparison(TaskOp first, TaskOp second) : first(first), second(second) {}

  bool areEqual(Operation *a, Operation *b);
  /// Returns true if the tasks read one region of one tensor.
  bool readSame(unsigned a, unsigned b);

private:
  bool areEqual(Value a, Value b);

  TaskOp first, second;
  /// Arguments of regions, and ops that were compared before.
  llvm::DenseMap<Value, Value> known;
};
} // namespace

bool Comparison::readSame(unsigned a, unsigned b) {
  return a < first.getInputs().size() && b < second.getInputs().size() &&
         first.getInputs()[a] == second.getInputs()[b] &&
         first.getRegion(a) == second.getRegion(b);
}

bool Comparison::areEqual(Value a, Value b) {
  if (known.lookup(a) == b)
    return true;
  auto argument = dyn_cast<BlockArgument>(a),
       other = dyn_cast<BlockArgument>(b);
  if (!argument || !other)
    return !argument && !other &&
           cast<OpResult>(a).getResultNumber() ==
               cast<OpResult>(b).getResultNumber() &&
           areEqual(a.getDefiningOp(), b.getDefiningOp());
  if (argument.getOwner() != &first.getBody().front() ||
      other.getOwner() != &second.getBody().front())
    return false;
  // Indices of the grid precede the operands.
  unsigned dims = first.getGrid().size(), number = argument.getArgNumber();
  if (number < dims)
    return number == other.getArgNumber();
  return other.getArgNumber() >= dims &&
         readSame(number - dims, other.getArgNumber() - dims);
}

bool Comparison::areEqual(Operation *a, Operation *b) {
  return OperationEquivalence::isEquivalentTo(
      a, b, [&](Value x, Value y) { return success(areEqual(x, y)); },
      [&](Value x, Value y) { known[x] = y; },
      OperationEquivalence::IgnoreLocations);
}

bool ark::shareProductLoop(TaskOp first, TaskOp second) {
  BodyOpInterface loop = getProductLoop(first);
  SmallVector<BodyOpInterface> others = getProductLoops(second);
  if (!loop || others.size() != 1 || first.getGrid() != second.getGrid())
    return false;
  Comparison comparison(first, second);
  auto isRead = [&](unsigned input) {
    return llvm::any_of(
        llvm::seq<unsigned>(first.getInputs().size()),
        [&](unsigned a) { return comparison.readSame(a, input); });
  };
  return llvm::all_of(llvm::seq<unsigned>(second.getInputs().size()), isRead) &&
         comparison.areEqual(loop, others.front());
}
