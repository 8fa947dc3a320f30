//===- KernelCompleter.cpp - What a kernel's text leaves open -------------===//

#include "passes/target/KernelCompleter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::ark;

void KernelCompleter::setNumber(StringRef name, int64_t value) {
  func::FuncOp function = lookUp(name);
  builder.setInsertionPointToStart(function.addEntryBlock());
  Value result = arith::ConstantOp::create(
      builder, builder.getIntegerAttr(function.getResultTypes()[0], value));
  func::ReturnOp::create(builder, result);
}

void KernelCompleter::setAddress(StringRef name, LLVM::GlobalOp global,
                                 int64_t offset) {
  func::FuncOp function = lookUp(name);
  builder.setInsertionPointToStart(function.addEntryBlock());
  Value base = LLVM::AddressOfOp::create(builder, global);
  Value place =
      LLVM::GEPOp::create(builder, base.getType(), builder.getI8Type(), base,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  func::ReturnOp::create(builder, place);
}

void KernelCompleter::setHook(StringRef hook, StringRef callee) {
  func::FuncOp function = lookUp(hook);
  builder.setInsertionPointToStart(&function.getBody().front());
  func::CallOp::create(builder, callee, TypeRange(), function.getArguments());
}
