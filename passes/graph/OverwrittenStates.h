//===- OverwrittenStates.h - Copy states before their updates ---*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_OVERWRITTENSTATES_H
#define ARK_PASSES_GRAPH_OVERWRITTENSTATES_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Copies states for ops that read old elements after an update has overwritten
/// them. Returns the number of copies.
unsigned copyOverwrittenStates(ProgramOp program);

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_OVERWRITTENSTATES_H
