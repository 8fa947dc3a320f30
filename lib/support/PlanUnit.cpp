//===- PlanUnit.cpp - Unit of a pipeline in a plan ------------------------===//

#include "lib/support/PlanUnit.h"
#include "lib/support/PlanRank.h"

#include <limits>

using namespace mlir;
using namespace mlir::ark;

/// Returns the number under a key of a plan, or nothing if there is no entry.
static FailureOr<std::optional<int64_t>> readNumber(TaskOp task,
                                                    StringRef key) {
  Attribute value = task.getPlanAttr().get(key);
  if (!value)
    return std::optional<int64_t>();
  auto number = dyn_cast<IntegerAttr>(value);
  if (!number || number.getType().isInteger(1) || number.getInt() < 0 ||
      number.getInt() > std::numeric_limits<int32_t>::max())
    return task.emitOpError("plan names ")
           << key << " " << value
           << ", which is not an integer from 0 to 2147483647";
  return std::optional<int64_t>(number.getInt());
}

FailureOr<std::optional<PlanUnit>> ark::readPlanUnit(TaskOp task) {
  if (!task.getPlanAttr())
    return std::optional<PlanUnit>();
  FailureOr<std::optional<int64_t>> stage = readNumber(task, "stage"),
                                    microbatch =
                                        readNumber(task, kMicrobatchKey);
  if (failed(stage) || failed(microbatch))
    return failure();
  Attribute direction = task.getPlanAttr().get("backward");
  if (direction && !isa<BoolAttr>(direction))
    return task.emitOpError("plan names backward ")
           << direction << ", which is neither true nor false";
  if (!*microbatch)
    return std::optional<PlanUnit>();
  return std::optional<PlanUnit>(
      {stage->value_or(getRank(task)), **microbatch,
       direction && cast<BoolAttr>(direction).getValue()});
}
