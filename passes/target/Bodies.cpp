//===- Bodies.cpp - Functions of a kernel's tasks -------------------------===//

#include "passes/target/Bodies.h"

#include "dialects/ark/ArkBodyAttrs.h"
#include "dialects/ark/ArkOps.h"
#include "passes/kernel/KernelAbi.h"
#include "passes/target/Aliasing.h"

using namespace mlir;
using namespace mlir::ark;

SmallVector<func::FuncOp> ark::getBodies(ModuleOp module) {
  SymbolTable symbols(module);
  SmallVector<func::FuncOp> bodies;
  for (auto kernel : module.getOps<KernelOp>())
    for (auto entry : kernel.getBodies().getAsRange<DictionaryAttr>())
      if (auto name = entry.getAs<FlatSymbolRefAttr>("function"))
        if (auto body = symbols.lookup<func::FuncOp>(name.getAttr());
            body && !body.isExternal())
          bodies.push_back(body);
  return bodies;
}

scf::ForOp ark::getVctaLoop(func::FuncOp body) {
  for (auto loop : body.getBody().front().getOps<scf::ForOp>())
    if (loop.getLowerBound() == body.getArgument(abi::kBodyBegin) &&
        loop.getUpperBound() == body.getArgument(abi::kBodyEnd))
      return loop;
  return {};
}

// These attributes are hints: code without them is slower and still correct.
static constexpr llvm::StringLiteral kCrowdedAttr = "crowded";
static constexpr llvm::StringLiteral kFillsRegistersAttr = "fills_registers";
static constexpr llvm::StringLiteral kReadOnceAttr = "read_once";

bool ark::isCooperative(Operation *op) { return op->hasAttr(kCooperativeAttr); }

int64_t ark::getNumWritten(Operation *cooperative) {
  return cooperative->getAttrOfType<IntegerAttr>(kCooperativeAttr).getInt();
}

void ark::setCooperative(Operation *op, int64_t numWritten) {
  Builder builder(op->getContext());
  op->setAttr(kCooperativeAttr, builder.getI64IntegerAttr(numWritten));
}

bool ark::isReadOnce(Operation *view) { return view->hasAttr(kReadOnceAttr); }

void ark::setReadOnce(Operation *view) {
  view->setAttr(kReadOnceAttr, UnitAttr::get(view->getContext()));
}

bool ark::isCrowded(Operation *loop) { return loop->hasAttr(kCrowdedAttr); }

void ark::setCrowded(Operation *loop) {
  loop->setAttr(kCrowdedAttr, UnitAttr::get(loop->getContext()));
}

bool ark::fillsRegisters(Operation *loop) {
  return loop->hasAttr(kFillsRegistersAttr);
}

void ark::setFillsRegisters(Operation *loop) {
  loop->setAttr(kFillsRegistersAttr, UnitAttr::get(loop->getContext()));
}

bool ark::arePackets(Value buffer) {
  auto argument = dyn_cast<BlockArgument>(getRoot(buffer));
  auto body = argument
                  ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                  : nullptr;
  return body &&
         body.getArgAttr(argument.getArgNumber(), ArkDialect::kPacketsAttr);
}
