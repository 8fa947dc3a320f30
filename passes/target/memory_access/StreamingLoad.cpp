//===- StreamingLoad.cpp - Loads of data that is read once ----------------===//

#include "passes/target/memory_access/StreamingLoad.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

/// LLVM cannot express that a load should fetch its whole line.
static constexpr llvm::StringLiteral kLoadTwo =
    "ld.global.L1::no_allocate.L2::128B.v2.b32 {$0, $1}, [$2];";
static constexpr llvm::StringLiteral kLoadFour =
    "ld.global.L1::no_allocate.L2::128B.v4.b32 {$0, $1, $2, $3}, [$4];";

Value ark::createStreamingLoad(ImplicitLocOpBuilder &builder, Value pointer,
                               int64_t words) {
  assert((words == 2 || words == 4) && "no such instruction");
  Type word = builder.getI32Type();
  auto all = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                              SmallVector<Type>(words, word));
  // The memory may be written by other SMs, so the load must stay after the
  // wait.
  auto load = LLVM::InlineAsmOp::create(
      builder, all, pointer, words == 4 ? kLoadFour : kLoadTwo,
      words == 4 ? "=r,=r,=r,=r,l" : "=r,=r,l", /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr(), ArrayAttr());
  SmallVector<Value> loaded;
  for (int64_t i = 0; i < words; ++i)
    loaded.push_back(LLVM::ExtractValueOp::create(builder, load.getRes(), i));
  return vector::FromElementsOp::create(builder, VectorType::get({words}, word),
                                        loaded);
}
