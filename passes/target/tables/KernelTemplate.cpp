//===- KernelTemplate.cpp - Completes the text of a kernel ----------------===//

#include "passes/target/tables/KernelTemplate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::ark;

void KernelTemplate::report(StringRef name, StringRef problem) {
  hasFailed = true;
  module.emitError("function '@") << name << "' of the kernel " << problem;
}

func::FuncOp KernelTemplate::begin(StringRef name) {
  func::FuncOp function = lookUp(name);
  if (!function || !function.isExternal() || function.getNumArguments() != 0 ||
      function.getNumResults() != 1) {
    report(name, "must be a declaration without arguments and with one "
                 "result");
    return {};
  }
  builder.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

void KernelTemplate::defineConstant(StringRef name, int64_t value) {
  func::FuncOp function = begin(name);
  if (!function)
    return;
  Type type = function.getResultTypes()[0];
  if (!type.isSignlessIntOrIndex())
    return report(name, "must return an integer");
  Value result =
      arith::ConstantOp::create(builder, builder.getIntegerAttr(type, value));
  func::ReturnOp::create(builder, result);
}

void KernelTemplate::defineAddress(StringRef name, LLVM::GlobalOp global,
                                   int64_t offset) {
  func::FuncOp function = begin(name);
  if (!function)
    return;
  Value base = LLVM::AddressOfOp::create(builder, global);
  Value address =
      LLVM::GEPOp::create(builder, base.getType(), builder.getI8Type(), base,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  func::ReturnOp::create(builder, address);
}

void KernelTemplate::setCallee(StringRef callback, StringRef callee) {
  func::FuncOp function = lookUp(callback);
  if (!function || function.isExternal())
    return report(callback, "is missing");
  if (!lookUp(callee))
    return report(callee, "is missing");
  // Each callback has at most one callee, so that only the kernel text orders
  // callees.
  if (!llvm::hasSingleElement(function.getBody().front()))
    return report(callback, "has more than one callee");
  builder.setInsertionPointToStart(&function.getBody().front());
  func::CallOp::create(builder, callee, TypeRange(), function.getArguments());
}
