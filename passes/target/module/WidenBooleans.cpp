//===- WidenBooleans.cpp - Load and store booleans as bytes ---------------===//

#include "passes/target/module/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::ark {
#define GEN_PASS_DEF_WIDENBOOLEANSPASS
#include "passes/target/module/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns the type of the bytes that hold booleans: a boolean or a vector.
static Type getBytes(Type booleans) {
  Type byte = IntegerType::get(booleans.getContext(), 8);
  auto vector = dyn_cast<VectorType>(booleans);
  return vector ? vector.clone(byte) : byte;
}

static bool isBoolean(Type type) {
  return getElementTypeOrSelf(type).isInteger(1);
}

/// Loads bytes. Any nonzero byte is true.
static void widenLoad(LLVM::LoadOp load) {
  OpBuilder builder(load);
  Location loc = load.getLoc();
  Type bytes = getBytes(load.getType());
  Value wide = LLVM::LoadOp::create(
      builder, loc, bytes, load.getAddr(), load.getAlignment().value_or(1),
      load.getVolatile_(), load.getNontemporal(), load.getInvariant());
  Value zero = LLVM::ZeroOp::create(builder, loc, bytes);
  Value value =
      LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, wide, zero);
  load.replaceAllUsesWith(value);
  load.erase();
}

static void widenStore(LLVM::StoreOp store) {
  OpBuilder builder(store);
  Location loc = store.getLoc();
  Type type = store.getValue().getType();
  Value wide =
      LLVM::ZExtOp::create(builder, loc, getBytes(type), store.getValue());
  LLVM::StoreOp::create(builder, loc, wide, store.getAddr(),
                        store.getAlignment().value_or(1), store.getVolatile_(),
                        store.getNontemporal());
  store.erase();
}

namespace {
struct WidenBooleansPass : ark::impl::WidenBooleansPassBase<WidenBooleansPass> {
  using WidenBooleansPassBase::WidenBooleansPassBase;

  void runOnOperation() override {
    SmallVector<LLVM::LoadOp> loads;
    SmallVector<LLVM::StoreOp> stores;
    getOperation()->walk([&](Operation *op) {
      if (auto load = dyn_cast<LLVM::LoadOp>(op);
          load && isBoolean(load.getType()))
        loads.push_back(load);
      if (auto store = dyn_cast<LLVM::StoreOp>(op);
          store && isBoolean(store.getValue().getType()))
        stores.push_back(store);
    });
    llvm::for_each(loads, widenLoad);
    llvm::for_each(stores, widenStore);
    numWidened += loads.size() + stores.size();
  }
};
} // namespace
