//===- HideThreadIds.cpp - Thread ids that are known within a work item ---===//

#include "passes/target/simt/Passes.h"

#include "lib/backend/GpuInstructions.h"

#include "dialects/ark/ArkBodyAttrs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_HIDETHREADIDSPASS
#include "passes/target/simt/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
struct HideThreadIdsPass : ark::impl::HideThreadIdsPassBase<HideThreadIdsPass> {
  using HideThreadIdsPassBase::HideThreadIdsPassBase;

  void runOnOperation() override;
  void hide(func::FuncOp function);
};
} // namespace

/// Returns the bodies, and the functions that only bodies and such functions
/// call.
static llvm::SetVector<Operation *>
getFunctionsOfWorkItems(gpu::GPUModuleOp module) {
  SymbolTableCollection tables;
  SymbolUserMap users(tables, module);
  llvm::SetVector<Operation *> found;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(kWorkItemVctasAttr))
      found.insert(function);
  auto isOnlyCalledByFound = [&](func::FuncOp function) {
    ArrayRef<Operation *> calls = users.getUsers(function);
    return !calls.empty() && llvm::all_of(calls, [&](Operation *call) {
      return found.contains(call->getParentOfType<func::FuncOp>());
    });
  };
  for (size_t before = 0; before != found.size();) {
    before = found.size();
    for (auto function : module.getOps<func::FuncOp>())
      if (!found.contains(function) && isOnlyCalledByFound(function))
        found.insert(function);
  }
  return found;
}

void HideThreadIdsPass::runOnOperation() {
  for (Operation *function : getFunctionsOfWorkItems(getOperation()))
    hide(cast<func::FuncOp>(function));
}

/// Reads the id once, when the function begins. The mask states the range of
/// the id again, from which LLVM derives shorter code.
void HideThreadIdsPass::hide(func::FuncOp function) {
  SmallVector<gpu::ThreadIdOp> ids;
  function.walk([&](gpu::ThreadIdOp id) {
    if (id.getDimension() == gpu::Dimension::x)
      ids.push_back(id);
  });
  if (ids.empty())
    return;
  Location loc = ids.front().getLoc();
  auto builder = OpBuilder::atBlockBegin(&function.getBody().front());
  Value opaque = getGpuInstructions(builder).createOpaqueThread(builder, loc);
  int64_t mask = llvm::NextPowerOf2(threads - 1) - 1;
  Value id = arith::AndIOp::create(
      builder, loc, opaque,
      arith::ConstantIntOp::create(builder, loc, mask, /*width=*/32));
  Value index =
      arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), id);
  for (gpu::ThreadIdOp old : ids) {
    old.replaceAllUsesWith(index);
    old.erase();
  }
  numHidden += ids.size();
}
