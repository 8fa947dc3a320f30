//===- ArkBodyAttrs.cpp - Attributes of outlined bodies -------------------===//

#include "dialects/ark/ArkBodyAttrs.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::ark;

static bool isCtaCollective(Operation *op, Attribute value) {
  auto call = dyn_cast<CallOpInterface>(op);
  auto written = dyn_cast<IntegerAttr>(value);
  return call && written && written.getType().isInteger(64) &&
         written.getInt() >= 0 &&
         written.getInt() <= static_cast<int64_t>(call.getArgOperands().size());
}

static bool areTensorMaps(Operation *op, Attribute value) {
  auto maps = dyn_cast<ArrayAttr>(value);
  return isa<FunctionOpInterface>(op) && maps &&
         llvm::all_of(maps, [](Attribute map) {
           auto fields = dyn_cast<DenseI64ArrayAttr>(map);
           return fields && fields.size() == kTensorMapFields &&
                  llvm::all_of(fields.asArrayRef(),
                               [](int64_t field) { return field >= 0; });
         });
}

static bool isNumberOfVctas(Operation *op, Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return isa<FunctionOpInterface>(op) && number &&
         number.getType().isInteger(64) && number.getInt() > 0;
}

static bool isMeanOfTrips(Operation *op, Attribute value) {
  auto mean = dyn_cast<FloatAttr>(value);
  return isa<LoopLikeOpInterface>(op) && mean && mean.getType().isF64() &&
         mean.getValue().isFinite() && !mean.getValue().isNegative();
}

static bool isHint(StringRef name) {
  return name == kHighRegisterPressureAttr ||
         name == kFullRegisterPressureAttr || name == kReadOnceAttr;
}

bool mlir::ark::isBodyAttr(StringRef name) {
  return name == kOutlinedBodyAttr || name == kWorkItemVctasAttr ||
         name == kCtaCollectiveAttr || name == kTensorMapsAttr ||
         name == kLineTableAttr || name == kNetworkCopyAttr ||
         name == kMeanTripsAttr || isHint(name);
}

LogicalResult mlir::ark::verifyBodyAttr(Operation *op,
                                        NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (isHint(name) || name == kNetworkCopyAttr) {
    if (isa<UnitAttr>(attribute.getValue()))
      return success();
    return op->emitOpError("attribute '") << name << "' must be a unit";
  }
  if (name == kOutlinedBodyAttr) {
    if (isa<TaskOp>(op) && isa<FlatSymbolRefAttr>(attribute.getValue()))
      return success();
    return op->emitOpError("attribute '")
           << name << "' must be the symbol of a function, on a task";
  }
  if (name == kWorkItemVctasAttr) {
    if (isNumberOfVctas(op, attribute.getValue()))
      return success();
    return op->emitOpError("attribute '")
           << name << "' must be a positive i64, on a function";
  }
  if (name == kMeanTripsAttr) {
    if (isMeanOfTrips(op, attribute.getValue()))
      return success();
    return op->emitOpError("attribute '")
           << name << "' must be a finite f64 from 0 on, on a loop";
  }
  if (name == kLineTableAttr) {
    if (isa<ArrayAttr>(attribute.getValue()))
      return success();
    return op->emitOpError("attribute '") << name << "' must be an array";
  }
  if (attribute.getName() == kCtaCollectiveAttr) {
    if (isCtaCollective(op, attribute.getValue()))
      return success();
    return op->emitOpError("attribute '")
           << kCtaCollectiveAttr << "' must be an i64 from 0 to the number of "
           << "operands, on a call";
  }
  if (areTensorMaps(op, attribute.getValue()))
    return success();
  return op->emitOpError("attribute '")
         << kTensorMapsAttr << "' must be an array of arrays of "
         << kTensorMapFields << " non-negative i64, on a function";
}
