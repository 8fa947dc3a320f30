//===- OpaqueNumber.cpp - Numbers opaque to compilers ---------------------===//

#include "passes/target/simt/OpaqueNumber.h"

#include "dialects/ark/ArkDialect.h"
#include "lib/backend/GpuBackend.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the backend of the module into which the builder inserts, or null if
/// the module has no target or if its target is not a GPU.
static const GpuBackend *findGpuBackend(OpBuilder &builder) {
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  auto module = parent->getParentOfType<ModuleOp>();
  auto target = module
                    ? module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr)
                    : TargetAttr();
  const Backend *backend = target ? findBackend(target.getBackend()) : nullptr;
  return backend ? backend->asGpu() : nullptr;
}

Value ark::createOpaqueIndex(OpBuilder &builder, Location loc, Value number) {
  Value narrow =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), number);
  const GpuBackend *backend = findGpuBackend(builder);
  Value opaque = backend ? backend->createOpaqueNumber(builder, loc, narrow)
                         : createEmptyAssembly(builder, loc, narrow,
                                               /*fencesLoads=*/false);
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      opaque);
}

Value ark::createOpaqueThread(OpBuilder &builder, Location loc) {
  const GpuBackend *backend = findGpuBackend(builder);
  if (!backend) {
    Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
    return createOpaqueIndex(builder, loc, thread);
  }
  Value thread = backend->createOpaqueThread(builder, loc);
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      thread);
}

Value ark::createOpaqueFence(OpBuilder &builder, Location loc, Value number) {
  Value word =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
  const GpuBackend *backend = findGpuBackend(builder);
  Value opaque =
      backend ? backend->createLoadFence(builder, loc, word)
              : createEmptyAssembly(builder, loc, word, /*fencesLoads=*/true);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    opaque);
}
