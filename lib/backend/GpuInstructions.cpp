//===- GpuInstructions.cpp - Instructions of a family of GPUs -------------===//

#include "lib/backend/GpuInstructions.h"

#include "lib/backend/GpuBackend.h"

#include "dialects/ark/ArkDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::ark;

GpuInstructions::~GpuInstructions() = default;

/// Returns `number`, which compilers can neither fold nor move: inline assembly
/// without text, which every code generator of LLVM accepts. With
/// `fencesLoads`, compilers move no load across the instruction.
static Value createEmptyAssembly(OpBuilder &builder, Location loc, Value number,
                                 bool fencesLoads) {
  return createAssembly(builder, loc, number.getType(), number, "",
                        fencesLoads ? "=r,0,~{memory}" : "=r,0");
}

Value GpuInstructions::createOpaqueNumber(OpBuilder &builder, Location loc,
                                          Value number) const {
  return createEmptyAssembly(builder, loc, number, /*fencesLoads=*/false);
}

Value GpuInstructions::createOpaqueThread(OpBuilder &builder,
                                          Location loc) const {
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  return createOpaqueNumber(
      builder, loc,
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), thread));
}

Value GpuInstructions::createLoadFence(OpBuilder &builder, Location loc,
                                       Value number) const {
  return createEmptyAssembly(builder, loc, number, /*fencesLoads=*/true);
}

void GpuInstructions::awaitLoads(OpBuilder &, Location, ValueRange) const {}

Value GpuInstructions::createWarpPointer(OpBuilder &, Location,
                                         Value base) const {
  return base;
}

void GpuInstructions::keepOrder(OpBuilder &, Location) const {}

Value GpuInstructions::createExp2(OpBuilder &builder, Location loc,
                                  Value exponent) const {
  return LLVM::Exp2Op::create(builder, loc, exponent);
}

Value GpuInstructions::joinHalves(OpBuilder &builder, Location loc, Value a,
                                  Value b, bool areUpper) const {
  auto word = [&](uint32_t bits) {
    return arith::ConstantIntOp::create(builder, loc, bits, 32).getResult();
  };
  Value low, high;
  if (areUpper) {
    low = arith::ShRUIOp::create(builder, loc, a, word(16));
    high = arith::AndIOp::create(builder, loc, b, word(0xffff0000));
  } else {
    low = arith::AndIOp::create(builder, loc, a, word(0xffff));
    high = arith::ShLIOp::create(builder, loc, b, word(16));
  }
  return arith::OrIOp::create(builder, loc, low, high);
}

Value GpuInstructions::createStreamingLoad(OpBuilder &builder, Location loc,
                                           Value pointer, int64_t words) const {
  return LLVM::LoadOp::create(builder, loc,
                              VectorType::get({words}, builder.getI32Type()),
                              pointer, /*alignment=*/4 * words);
}

const GpuInstructions &ark::getGpuInstructions(OpBuilder &builder) {
  static const GpuInstructions defaults;
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  auto module = parent->getParentOfType<ModuleOp>();
  auto target = module
                    ? module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr)
                    : TargetAttr();
  const Backend *backend = target ? findBackend(target.getBackend()) : nullptr;
  const GpuBackend *gpu = backend ? backend->asGpu() : nullptr;
  return gpu ? *gpu : defaults;
}
