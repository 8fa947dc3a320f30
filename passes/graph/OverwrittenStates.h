//===- OverwrittenStates.h - Copies of what updates overwrite ---*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_OVERWRITTENSTATES_H
#define ARK_PASSES_GRAPH_OVERWRITTENSTATES_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// An update overwrites its state, so whoever wants the old elements later
/// needs a copy of them. Returns the number of copies made.
unsigned copyOverwrittenStates(ProgramOp program);

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_OVERWRITTENSTATES_H
