//===- GraphUtils.h - Queries on the tensor graph ---------------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_GRAPHUTILS_H
#define ARK_LIB_SUPPORT_GRAPHUTILS_H

#include "dialects/ark/ArkOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::ark {

/// Returns the type of a value; every value of a graph is a tensor.
RankedTensorType getTensorType(Value value);

/// Returns the elements of an `ark.constant` if it is a splat, otherwise null.
SplatElementsAttr getSplat(Value value);

/// Returns the tensor that `value` is a view of, through any number of views.
Value getViewBase(Value value);

/// Returns the state that an op overwrites if the op is an update or a group
/// around one, otherwise null.
Value getUpdatedState(Operation *op);

/// Returns true if element `i` of `operand` lies at the address to which the
/// update writes element `i` of its value. A vCTA of the update then reads
/// nothing that another vCTA writes.
bool readsOwnElements(UpdateOp update, Value operand);

/// The updates of a block, by the value that they overwrite. Without this map,
/// a search among all readers of a state for each of its readers would take
/// quadratic time.
class Overwriters {
public:
  explicit Overwriters(Block &block);

  /// Returns the update that overwrites elements of `value`, or null. A correct
  /// program has at most one, because later updates update its result.
  Operation *lookup(Value value) const;

private:
  DenseMap<Value, Operation *> updates;
};

/// Returns true if `value` consists of elements of a state: of a state
/// argument, or of the result of an update.
bool isState(Value value);

/// Returns true if `second`, which comes later in the block, depends on `first`
/// directly or through ops between them.
bool dependsOn(Operation *second, Operation *first);

/// Returns the name that the user gave an op, from its location, or an empty
/// string.
StringRef getUserName(Location loc);

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_GRAPHUTILS_H
