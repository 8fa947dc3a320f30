//===- PlanUnit.h - Unit of a pipeline in a plan ----------------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_PLANUNIT_H
#define ARK_LIB_SUPPORT_PLANUNIT_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Entry of a plan: the number of the microbatch on which an op or task works.
inline constexpr llvm::StringLiteral kMicrobatchKey = "microbatch";

/// A unit of a pipeline: the work on one microbatch in one stage, in one
/// direction.
struct PlanUnit {
  int64_t stage, microbatch;
  bool backward;

  friend bool operator<(const PlanUnit &a, const PlanUnit &b) {
    return a.getKey() < b.getKey();
  }

private:
  std::tuple<int64_t, int64_t, bool> getKey() const {
    return {stage, microbatch, backward};
  }
};

/// Returns the unit in the plan of a task, or nothing if the plan names no
/// microbatch. The stage is the rank unless the plan names it. Fails with an
/// error at the task if an entry of the plan has another type or is out of
/// range.
FailureOr<std::optional<PlanUnit>> readPlanUnit(TaskOp task);

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_PLANUNIT_H
