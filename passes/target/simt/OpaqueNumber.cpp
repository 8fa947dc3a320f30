//===- OpaqueNumber.cpp - Numbers opaque to compilers ---------------------===//

#include "passes/target/simt/OpaqueNumber.h"

#include "dialects/ark/ArkDialect.h"
#include "lib/backend/GpuBackend.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the backend of the module that the builder builds in. The passes
/// that use these functions have checked that the target is a GPU.
static const GpuBackend &getBackend(OpBuilder &builder) {
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  auto module = parent->getParentOfType<ModuleOp>();
  auto target = module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
  const Backend *backend = target ? findBackend(target.getBackend()) : nullptr;
  assert(backend && backend->asGpu() && "the target is not a GPU");
  return *backend->asGpu();
}

Value ark::createOpaqueIndex(OpBuilder &builder, Location loc, Value number) {
  Value narrow =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), number);
  Value opaque = getBackend(builder).createOpaqueNumber(builder, loc, narrow);
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      opaque);
}

Value ark::createOpaqueThread(OpBuilder &builder, Location loc) {
  Value thread = getBackend(builder).createOpaqueThread(builder, loc);
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      thread);
}

Value ark::createOpaqueFence(OpBuilder &builder, Location loc, Value number) {
  Value word =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
  Value opaque = getBackend(builder).createLoadFence(builder, loc, word);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    opaque);
}
