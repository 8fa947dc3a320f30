//===- WarpCopy.cpp - Copies of a warp to shared memory -------------------===//

#include "passes/target/memory_access/WarpCopy.h"

#include "passes/target/memory_access/WideLoad.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the alias scope of copies. All copies have the same one.
static ArrayAttr getCopyScopes(MLIRContext *context) {
  auto name = [&](StringRef text) { return StringAttr::get(context, text); };
  auto domain = LLVM::AliasScopeDomainAttr::get(
      context, name("ark.shared_memory"), /*description=*/StringAttr());
  return ArrayAttr::get(
      context, LLVM::AliasScopeAttr::get(context, name("ark.copies"), domain,
                                         /*description=*/StringAttr()));
}

void ark::createWarpCopy(ImplicitLocOpBuilder &builder, Value source,
                         Value target, int64_t bytes) {
  ROCDL::GlobalLoadLDSOp::create(
      builder, source, target, /*size=*/kLoadBytes, bytes, /*aux=*/0,
      getCopyScopes(builder.getContext()), /*noalias_scopes=*/ArrayAttr(),
      /*tbaa=*/ArrayAttr());
}

void ark::waitForWarpCopies(ImplicitLocOpBuilder &builder, int64_t count) {
  // Bits 0 to 3, 14 and 15 are the number of loads in flight (vmcnt). The
  // number of accesses to shared memory (bits 8 to 11) is zero. That of exports
  // is the largest one, so that the instruction does not wait for them.
  constexpr int64_t kOthers = 0x0070;
  assert(count < 64 && "the counter has six bits");
  ROCDL::SWaitcntOp::create(builder,
                            kOthers | (count & 15) | (count >> 4) << 14);
}

void ark::createCopyBarrier(ImplicitLocOpBuilder &builder, int64_t count) {
  // Fences at the scope of the CTA wait for all copies of the warp. Those at
  // the scope of the warp bind the compiler only.
  auto fence = [&](LLVM::AtomicOrdering ordering) {
    LLVM::FenceOp::create(builder, ordering, "wavefront");
  };
  waitForWarpCopies(builder, count);
  fence(LLVM::AtomicOrdering::release);
  ROCDL::SBarrierOp::create(builder);
  fence(LLVM::AtomicOrdering::acquire);
}

void ark::ignoreWarpCopies(LLVM::LoadOp load) {
  load.setNoaliasScopesAttr(getCopyScopes(load.getContext()));
}
