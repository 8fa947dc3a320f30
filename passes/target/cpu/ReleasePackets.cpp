//===- ReleasePackets.cpp - Stores LL packets with release ----------------===//

#include "dialects/ark/ArkOps.h"
#include "passes/target/cpu/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::ark {
#define GEN_PASS_DEF_RELEASEPACKETSPASS
#include "passes/target/cpu/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

static Value getBase(Value pointer) {
  while (auto element = pointer.getDefiningOp<LLVM::GEPOp>())
    pointer = element.getBase();
  return pointer;
}

namespace {
struct ReleasePacketsPass
    : ark::impl::ReleasePacketsPassBase<ReleasePacketsPass> {
  using ReleasePacketsPassBase::ReleasePacketsPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      for (unsigned index = 0; index < function.getNumArguments(); ++index)
        if (function.getArgAttr(index, ArkDialect::kPacketsAttr) &&
            failed(release(function, index)))
          return signalPassFailure();
  }

  LogicalResult release(LLVM::LLVMFuncOp function, unsigned argument);
};
} // namespace

/// Adds release ordering to the packet store of a body. A body must have
/// exactly one packet store: with several, a reader could take an earlier store
/// for the last store.
LogicalResult ReleasePacketsPass::release(LLVM::LLVMFuncOp function,
                                          unsigned argument) {
  SmallVector<LLVM::StoreOp> stores;
  // A declaration has no values of arguments, and no stores.
  function.walk([&](LLVM::StoreOp store) {
    if (getBase(store.getAddr()) == function.getArgument(argument))
      stores.push_back(store);
  });
  if (stores.size() != 1 || !stores.front().getValue().getType().isInteger(64))
    return function.emitOpError(
        "does not write its packets with a single store of "
        "64 bits");
  stores.front().setOrdering(LLVM::AtomicOrdering::release);
  stores.front().setAlignment(8);
  ++numReleased;
  return success();
}
