//===- Bodies.cpp - Functions of a kernel's tasks -------------------------===//

#include "passes/target/support/Bodies.h"

#include "dialects/ark/ArkBodyAttrs.h"
#include "dialects/ark/ArkOps.h"
#include "passes/kernel/KernelAbi.h"
#include "passes/target/support/Aliasing.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::ark;

SmallVector<func::FuncOp> ark::getBodies(ModuleOp module) {
  SymbolTable symbols(module);
  // Several bodies of a kernel may have the same function.
  llvm::SetVector<func::FuncOp> bodies;
  for (auto kernel : module.getOps<KernelOp>())
    for (auto entry : kernel.getBodies().getAsRange<DictionaryAttr>())
      if (auto name = entry.getAs<FlatSymbolRefAttr>("function"))
        if (auto body = symbols.lookup<func::FuncOp>(name.getAttr());
            body && !body.isExternal())
          bodies.insert(body);
  return bodies.takeVector();
}

scf::ForOp ark::getVctaLoop(func::FuncOp body) {
  for (auto loop : body.getBody().front().getOps<scf::ForOp>())
    if (loop.getLowerBound() == body.getArgument(abi::kBodyBegin) &&
        loop.getUpperBound() == body.getArgument(abi::kBodyEnd))
      return loop;
  return {};
}

bool ark::isCtaCollective(Operation *op) {
  return op->hasAttr(kCtaCollectiveAttr);
}

int64_t ark::getNumWritten(Operation *call) {
  return call->getAttrOfType<IntegerAttr>(kCtaCollectiveAttr).getInt();
}

void ark::setCtaCollective(Operation *op, int64_t numWritten) {
  Builder builder(op->getContext());
  op->setAttr(kCtaCollectiveAttr, builder.getI64IntegerAttr(numWritten));
}

bool ark::isReadOnce(Operation *view) { return view->hasAttr(kReadOnceAttr); }

void ark::setReadOnce(Operation *view) {
  view->setAttr(kReadOnceAttr, UnitAttr::get(view->getContext()));
}

bool ark::hasHighRegisterPressure(Operation *loop) {
  return loop->hasAttr(kHighRegisterPressureAttr);
}

void ark::setHighRegisterPressure(Operation *loop) {
  loop->setAttr(kHighRegisterPressureAttr, UnitAttr::get(loop->getContext()));
}

bool ark::hasFullRegisterPressure(Operation *loop) {
  return loop->hasAttr(kFullRegisterPressureAttr);
}

void ark::setFullRegisterPressure(Operation *loop) {
  loop->setAttr(kFullRegisterPressureAttr, UnitAttr::get(loop->getContext()));
}

bool ark::arePackets(Value buffer) {
  auto argument = dyn_cast<BlockArgument>(getRoot(buffer));
  auto body = argument
                  ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                  : nullptr;
  return body &&
         body.getArgAttr(argument.getArgNumber(), ArkDialect::kPacketsAttr);
}
