//===- SwizzledStage.cpp - Operands of wgmma in shared memory -------------===//

#include "passes/target/matrix_units/SwizzledStage.h"

#include "lib/backend/GpuInstructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::ark;

Value ark::createStageDescriptor(ImplicitLocOpBuilder &builder, Value pointer,
                                 bool hasPanels) {
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, value, 64);
  };
  // Most descriptors are constants once shared memory has its address. LLVM
  // would compute those of all bodies before the dispatch loop, where each
  // takes two registers, and ptxas would spill them.
  Value opaque = getGpuInstructions(builder).createOpaqueNumber(
      builder, builder.getLoc(),
      LLVM::PtrToIntOp::create(builder, builder.getI32Type(), pointer));
  Value address = arith::ExtUIOp::create(builder, builder.getI64Type(), opaque);
  Value offset =
      arith::DivUIOp::create(builder, address, constant(kDescriptorUnit));
  int64_t layout = kDescriptorLayout | (hasPanels ? kPanelLayout : 0);
  return arith::OrIOp::create(builder, offset, constant(layout));
}

void ark::fenceStages(ImplicitLocOpBuilder &builder) {
  MLIRContext *context = builder.getContext();
  NVVM::FenceProxyOp::create(
      builder, NVVM::ProxyKindAttr::get(context, NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(context, NVVM::SharedSpace::shared_cta));
  gpu::BarrierOp::create(builder);
}

void ark::waitForStageCopies(ImplicitLocOpBuilder &builder, int64_t count) {
  NVVM::CpAsyncWaitGroupOp::create(builder, count);
  fenceStages(builder);
}
