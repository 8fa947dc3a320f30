//===- GraphUtils.h - Questions about the tensor graph ----------*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_GRAPHUTILS_H
#define ARK_PASSES_GRAPH_GRAPHUTILS_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// The type of a tensor. Every value of a graph is one.
RankedTensorType getTensorType(Value value);

/// The elements of an `ark.constant` that holds one value everywhere.
SplatElementsAttr getSplat(Value value);

/// Follows views to the tensor whose elements `value` names.
Value getViewBase(Value value);

/// The state that an op overwrites: of an update, or of a group around one.
/// Null for other ops.
Value getUpdatedState(Operation *op);

/// Whether element `i` of `operand` is where the update writes element `i` of
/// its value: then a vCTA that computes the one from the other reads nothing
/// that another vCTA writes.
bool readsWhatItWrites(UpdateOp update, Value operand);

/// The update that overwrites the elements that `value` names, or null. In a
/// correct program there is one at most: later updates update its result.
Operation *getOverwriter(Value value);

/// Whether `value` names elements of a state: an argument of that kind or the
/// result of an update.
bool isState(Value value);

/// The name that the user gave an op, from its location; empty without one.
StringRef getUserName(Location loc);

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_GRAPHUTILS_H
