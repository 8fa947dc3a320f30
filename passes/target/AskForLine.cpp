//===- AskForLine.cpp - Loads that nobody waits for -----------------------===//

#include "passes/target/AskForLine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::ark;

/// Not by `nvvm.prefetch`, which LLVM 22 selects for sm_90 and later alone.
void ark::askForLine(ImplicitLocOpBuilder &builder, Value address) {
  Value word =
      arith::IndexCastOp::create(builder, builder.getI64Type(), address);
  LLVM::InlineAsmOp::create(builder, TypeRange(), word,
                            "prefetch.global.L2 [$0];", "l",
                            /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            LLVM::AsmDialectAttr(), ArrayAttr());
}
