//===- Warp.cpp - Threads of a warp ---------------------------------------===//

#include "passes/target/support/Warp.h"

#include "dialects/ark/ArkAttrs.h"
#include "dialects/ark/ArkDialect.h"

using namespace mlir;
using namespace mlir::ark;

FailureOr<int64_t> ark::getWarpSize(ModuleOp module, int64_t option) {
  if (option != 0)
    return option;
  auto target = module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
  if (target && target.isGpu())
    return target.getWarpSize();
  return module.emitOpError("has no GPU as its target: set the attribute '")
         << ArkDialect::kTargetAttr << "', or the option 'warp-size'";
}
