//===- GraphUtils.h - Queries on the tensor graph ---------------*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_GRAPHUTILS_H
#define ARK_PASSES_GRAPH_GRAPHUTILS_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Returns the type of a value; every value of a graph is a tensor.
RankedTensorType getTensorType(Value value);

/// Returns the elements of an `ark.constant` if it is a splat, else null.
SplatElementsAttr getSplat(Value value);

/// Follows views to the tensor whose elements `value` names.
Value getViewBase(Value value);

/// Returns the state that an op overwrites, if the op is an update or a group
/// around one; else null.
Value getUpdatedState(Operation *op);

/// Returns true if element `i` of `operand` lies where the update writes
/// element `i` of its value. A vCTA that computes one from the other then reads
/// nothing that another vCTA writes.
bool readsWhatItWrites(UpdateOp update, Value operand);

/// Returns the update that overwrites the elements which `value` names, or
/// null. A correct program has at most one: later updates update its result.
Operation *getOverwriter(Value value);

/// Returns true if `value` names elements of a state: of an argument of that
/// kind, or of the result of an update.
bool isState(Value value);

/// Returns the name that the user gave an op, from its location; empty without
/// one.
StringRef getUserName(Location loc);

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_GRAPHUTILS_H
