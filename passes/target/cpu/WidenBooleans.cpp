//===- WidenBooleans.cpp - Loads and stores booleans as bytes -------------===//

#include "passes/target/cpu/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::ark {
#define GEN_PASS_DEF_WIDENBOOLEANSPASS
#include "passes/target/cpu/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Loads a byte. Any nonzero byte is true.
static void widenLoad(LLVM::LoadOp load) {
  OpBuilder builder(load);
  Location loc = load.getLoc();
  Type byte = builder.getI8Type();
  Value wide = LLVM::LoadOp::create(builder, loc, byte, load.getAddr(),
                                    /*alignment=*/1);
  Value zero = LLVM::ConstantOp::create(builder, loc, byte, 0);
  Value value =
      LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, wide, zero);
  load.replaceAllUsesWith(value);
  load.erase();
}

static void widenStore(LLVM::StoreOp store) {
  OpBuilder builder(store);
  Location loc = store.getLoc();
  Value wide =
      LLVM::ZExtOp::create(builder, loc, builder.getI8Type(), store.getValue());
  LLVM::StoreOp::create(builder, loc, wide, store.getAddr(), /*alignment=*/1);
  store.erase();
}

namespace {
struct WidenBooleansPass : ark::impl::WidenBooleansPassBase<WidenBooleansPass> {
  using WidenBooleansPassBase::WidenBooleansPassBase;

  void runOnOperation() override {
    SmallVector<LLVM::LoadOp> loads;
    SmallVector<LLVM::StoreOp> stores;
    getOperation().walk([&](Operation *op) {
      if (auto load = dyn_cast<LLVM::LoadOp>(op);
          load && load.getType().isInteger(1))
        loads.push_back(load);
      if (auto store = dyn_cast<LLVM::StoreOp>(op);
          store && store.getValue().getType().isInteger(1))
        stores.push_back(store);
    });
    llvm::for_each(loads, widenLoad);
    llvm::for_each(stores, widenStore);
    numWidened += loads.size() + stores.size();
  }
};
} // namespace
