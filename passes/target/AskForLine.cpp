//===- AskForLine.cpp - Loads that nobody waits for -----------------------===//

#include "passes/target/AskForLine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::ark;

void ark::askForLine(ImplicitLocOpBuilder &builder, Value address) {
  Value word =
      arith::IndexCastOp::create(builder, builder.getI64Type(), address);
  auto global = LLVM::LLVMPointerType::get(
      builder.getContext(),
      static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
  NVVM::PrefetchOp::create(
      builder,
      NVVM::PrefetchCacheLevelAttr::get(builder.getContext(),
                                        NVVM::PrefetchCacheLevel::L2),
      /*evictPriority=*/nullptr,
      LLVM::IntToPtrOp::create(builder, global, word), /*predicate=*/nullptr,
      /*tensormap=*/nullptr, /*uniform=*/nullptr, /*in_param_space=*/nullptr);
}
