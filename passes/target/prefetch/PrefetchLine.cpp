//===- PrefetchLine.cpp - L2 prefetch of a line ---------------------------===//

#include "passes/target/prefetch/PrefetchLine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::ark;

/// Inline assembly, because LLVM 22 selects `nvvm.prefetch` only from sm_90 on.
void ark::prefetchLine(ImplicitLocOpBuilder &builder, Value address) {
  Value word =
      arith::IndexCastOp::create(builder, builder.getI64Type(), address);
  LLVM::InlineAsmOp::create(builder, TypeRange(), word,
                            "prefetch.global.L2 [$0];", "l",
                            /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            LLVM::AsmDialectAttr(), ArrayAttr());
}
