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

/// Discardable attribute of a task, a unit: the time of a vCTA grows along the
/// grid, so that the first vCTA and the last one, the second and the second to
/// last, and so on, together take equal times.
inline constexpr llvm::StringLiteral kGrowingAttr = "ark.growing";

/// Verify the attributes on their op.
LogicalResult verifyMeasuredNs(Operation *op, NamedAttribute attribute);
LogicalResult verifyGrowing(Operation *op, NamedAttribute attribute);

} // namespace mlir::ark

#endif // DIALECTS_ARK_ARKMEASUREMENTS_H
