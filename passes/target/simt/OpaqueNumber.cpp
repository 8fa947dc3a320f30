//===- OpaqueNumber.cpp - Numbers opaque to compilers ---------------------===//

#include "passes/target/simt/OpaqueNumber.h"

#include "dialects/ark/ArkOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Inline assembly that copies a number.
struct Assembly {
  StringRef text, constraints;
};
} // namespace

// LLVM's assembler for AMD GPUs accepts empty text, so that no instruction is
// needed.
static constexpr Assembly kAmdNumber = {"", "=v,0"};
static constexpr Assembly kAmdFence = {"", "=v,0,~{memory}"};
static constexpr Assembly kPtxNumber = {"mov.u32 $0, $1;", "=r,r"};
static constexpr Assembly kPtxThread = {"mov.u32 $0, %tid.x;", "=r"};
// ptxas moves no load across a warp barrier.
static constexpr Assembly kPtxFence = {
    "bar.warp.sync 0xffffffff; mov.b64 $0, $1;", "=l,l"};

static bool isForHip(OpBuilder &builder) {
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  auto module = parent->getParentOfType<ModuleOp>();
  auto target = module
                    ? module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr)
                    : TargetAttr();
  return target && target.getBackend() == Backend::HIP;
}

static Value create(OpBuilder &builder, Location loc, Type type,
                    ValueRange number, const Assembly &assembly) {
  return LLVM::InlineAsmOp::create(
             builder, loc, type, number, assembly.text, assembly.constraints,
             /*has_side_effects=*/true, /*is_align_stack=*/false,
             LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

Value ark::createOpaqueIndex(OpBuilder &builder, Location loc, Value number) {
  Type i32 = builder.getI32Type();
  Value narrow = arith::IndexCastOp::create(builder, loc, i32, number);
  Value opaque = create(builder, loc, i32, narrow,
                        isForHip(builder) ? kAmdNumber : kPtxNumber);
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      opaque);
}

Value ark::createOpaqueThread(OpBuilder &builder, Location loc) {
  if (isForHip(builder)) {
    Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
    return createOpaqueIndex(builder, loc, thread);
  }
  Value thread =
      create(builder, loc, builder.getI32Type(), ValueRange(), kPtxThread);
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      thread);
}

Value ark::createOpaqueFence(OpBuilder &builder, Location loc, Value number) {
  Type i64 = builder.getI64Type();
  Value word = arith::IndexCastOp::create(builder, loc, i64, number);
  Value opaque = create(builder, loc, i64, word,
                        isForHip(builder) ? kAmdFence : kPtxFence);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    opaque);
}
