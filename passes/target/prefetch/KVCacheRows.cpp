//===- KVCacheRows.cpp - Keys and values of a KV cache --------------------===//

#include "passes/target/prefetch/KVCacheRows.h"

#include "passes/target/support/Aliasing.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::ark;

bool ark::isRuntimeSized(Value view) {
  auto type = dyn_cast<MemRefType>(view.getType());
  if (!type || type.getRank() != 2 || !type.isDynamicDim(0) ||
      type.isDynamicDim(1) || !isa<BlockArgument>(getRoot(view)))
    return false;
  auto [strides, offset] = type.getStridesAndOffset();
  return strides[1] == 1 && !ShapedType::isDynamic(strides[0]);
}

bool ark::moveBefore(Value value, Operation *before) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) {
    return op->getBlock() == before->getBlock() && before->isBeforeInBlock(op);
  };
  if (failed(getBackwardSlice(value, &slice, options)) ||
      !llvm::all_of(slice, [](Operation *op) {
        return isMemoryEffectFree(op) && op->getNumRegions() == 0;
      }))
    return false;
  for (Operation *op : slice)
    op->moveBefore(before);
  return true;
}
