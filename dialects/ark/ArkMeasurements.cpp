//===- ArkMeasurements.cpp - Measured times of tasks ----------------------===//

#include "dialects/ark/ArkMeasurements.h"

using namespace mlir;
using namespace mlir::ark;

std::optional<double> mlir::ark::getMeasuredNs(TaskOp task) {
  auto ns = task->getAttrOfType<FloatAttr>(kMeasuredNsAttr);
  return ns ? std::optional(ns.getValueAsDouble()) : std::nullopt;
}

LogicalResult mlir::ark::verifyMeasuredNs(Operation *op,
                                          NamedAttribute attribute) {
  auto ns = dyn_cast<FloatAttr>(attribute.getValue());
  if (isa<TaskOp>(op) && ns && ns.getType().isF64() &&
      ns.getValue().isFinite() && ns.getValueAsDouble() >= 0)
    return success();
  return op->emitOpError("attribute '")
         << kMeasuredNsAttr << "' must be a time in ns, an f64, on an ark.task";
}

LogicalResult mlir::ark::verifyGrowing(Operation *op,
                                       NamedAttribute attribute) {
  if (isa<TaskOp>(op) && isa<UnitAttr>(attribute.getValue()))
    return success();
  return op->emitOpError("attribute '")
         << kGrowingAttr << "' must be a unit, on an ark.task";
}
