//===- ArkMeasurements.h - Measured times of tasks --------------*- C++ -*-===//

#ifndef DIALECTS_ARK_ARKMEASUREMENTS_H
#define DIALECTS_ARK_ARKMEASUREMENTS_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Discardable attribute of a task: the measured time of one of its vCTAs, in
/// ns, an f64.
inline constexpr llvm::StringLiteral kMeasuredNsAttr = "ark.measured_ns";

/// Returns the measured time of one vCTA of a task, or nothing.
std::optional<double> getMeasuredNs(TaskOp task);

/// Checks the attribute on its op.
LogicalResult verifyMeasuredNs(Operation *op, NamedAttribute attribute);

} // namespace mlir::ark

#endif // DIALECTS_ARK_ARKMEASUREMENTS_H
