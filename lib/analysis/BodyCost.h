//===- BodyCost.h - Work of one unclipped vCTA ------------------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_BODYCOST_H
#define ARK_LIB_ANALYSIS_BODYCOST_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Floating-point operations of a body, with every tile at full extent.
int64_t countBodyFlops(TaskOp task);

/// Bytes of one operand's tile that the body touches: all of them, but where it
/// picks parts at run time (rows of an embedding table) only as many as it
/// picks.
int64_t countTouchedBytes(TaskOp task, unsigned operand);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_BODYCOST_H
