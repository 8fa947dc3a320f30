//===- ArkMeasurements.h - What tasks were measured to take -----*- C++ -*-===//

#ifndef DIALECTS_ARK_ARKMEASUREMENTS_H
#define DIALECTS_ARK_ARKMEASUREMENTS_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Discardable attribute of a task: what one of its vCTAs took, in ns, an f64.
inline constexpr llvm::StringLiteral kMeasuredNsAttr = "ark.measured_ns";

/// What one vCTA of a task took, where it was measured.
std::optional<double> getMeasuredNs(TaskOp task);

/// Checks the attribute where it stands.
LogicalResult verifyMeasuredNs(Operation *op, NamedAttribute attribute);

} // namespace mlir::ark

#endif // DIALECTS_ARK_ARKMEASUREMENTS_H
