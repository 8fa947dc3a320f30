//===- DimIndices.cpp - Verification of dimension indices -----------------===//

#include "lib/support/DimIndices.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"

using namespace mlir;

LogicalResult ark::verifyDimIndices(Operation *root) {
  WalkResult result = root->walk([](ShapedDimOpInterface op) {
    auto type = cast<ShapedType>(op.getShapedValue().getType());
    std::optional<int64_t> index = getConstantIntValue(op.getDimension());
    if (!index || !type.hasRank() || (*index >= 0 && *index < type.getRank()))
      return WalkResult::advance();
    op->emitOpError("reads the extent of dimension ")
        << *index << ", which " << type << " does not have";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
