//===- ReloadResults.cpp - Addresses that bodies need last ----------------===//

#include "passes/target/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::ark {
#define GEN_PASS_DEF_RELOADRESULTSPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

static constexpr StringLiteral kOperand = "ark_operand";

/// The stores that an address goes to, through any number of computations, if
/// it goes nowhere else.
static bool collectStores(Value address, SmallVectorImpl<Operation *> &stores) {
  for (OpOperand &use : address.getUses()) {
    Operation *user = use.getOwner();
    if (isa<LLVM::GEPOp, LLVM::AddrSpaceCastOp>(user) &&
        use.getOperandNumber() == 0) {
      if (!collectStores(user->getResult(0), stores))
        return false;
    } else if (auto store = dyn_cast<LLVM::StoreOp>(user);
               store && use.get() == store.getAddr() &&
               use.get() != store.getValue()) {
      stores.push_back(store);
    } else {
      return false;
    }
  }
  return true;
}

namespace {
/// A call of a body, and which operand of the task each argument is.
struct BodyCall {
  LLVM::CallOp call;
  LLVM::LLVMFuncOp body;
  Value context, first;
  /// By argument, the place behind the first operand.
  SmallVector<std::pair<unsigned, int64_t>> operands;
};

struct ReloadResultsPass : ark::impl::ReloadResultsPassBase<ReloadResultsPass> {
  using ReloadResultsPassBase::ReloadResultsPassBase;

  void runOnOperation() override {
    SmallVector<LLVM::CallOp> calls;
    getOperation().walk([&](LLVM::CallOp call) { calls.push_back(call); });
    llvm::StringMap<int> times;
    for (LLVM::CallOp call : calls)
      if (auto callee = call.getCallee())
        ++times[*callee];
    for (LLVM::CallOp call : calls)
      if (auto found = match(call); found && times[*call.getCallee()] == 1)
        reload(*found);
  }

  std::optional<BodyCall> match(LLVM::CallOp call);
  void reload(BodyCall found);
};
} // namespace

/// The first operand that the table has for a task, and how far behind it this
/// one is.
static std::pair<Value, int64_t> splitNumber(Value number) {
  if (auto sum = number.getDefiningOp<LLVM::AddOp>())
    if (APInt behind; matchPattern(sum.getRhs(), m_ConstantInt(&behind)))
      return {sum.getLhs(), behind.getSExtValue()};
  return {number, 0};
}

std::optional<BodyCall> ReloadResultsPass::match(LLVM::CallOp call) {
  if (!call.getCallee())
    return std::nullopt;
  BodyCall found{
      call,
      SymbolTable(getOperation()).lookup<LLVM::LLVMFuncOp>(*call.getCallee()),
      {},
      {},
      {}};
  for (OpOperand &operand : call->getOpOperands()) {
    auto load = operand.get().getDefiningOp<LLVM::CallOp>();
    if (!load || load.getCallee() != kOperand)
      continue;
    auto [first, behind] = splitNumber(load.getArgOperands()[1]);
    if (found.first && found.first != first)
      return std::nullopt;
    found.first = first;
    found.context = load.getArgOperands()[0];
    found.operands.emplace_back(operand.getOperandNumber(), behind);
  }
  bool isBody = found.body && !found.body.isExternal() &&
                static_cast<int64_t>(found.operands.size()) >= minOperands;
  return isBody ? std::optional(found) : std::nullopt;
}

/// Where all stores come after, as near as may be.
static void setBeforeAll(OpBuilder &builder, ArrayRef<Operation *> stores,
                         DominanceInfo &dominance) {
  Block *block = stores.front()->getBlock();
  for (Operation *store : stores.drop_front())
    block = dominance.findNearestCommonDominator(block, store->getBlock());
  Operation *before = block->getTerminator();
  for (Operation *store : stores)
    if (store->getBlock() == block && store->isBeforeInBlock(before))
      before = store;
  builder.setInsertionPoint(before);
}

/// The same place behind another address.
static Value compute(OpBuilder &builder, Value place, Value old,
                     Value address) {
  if (place == old)
    return address;
  Operation *computation = place.getDefiningOp();
  Value base = compute(builder, computation->getOperand(0), old, address);
  Operation *copy = builder.clone(*computation);
  copy->setOperand(0, base);
  return copy->getResult(0);
}

/// The body is given one more value by its call.
static BlockArgument addArgument(BodyCall &found, Value value) {
  LLVM::LLVMFuncOp body = found.body;
  LLVM::LLVMFunctionType type = body.getFunctionType();
  SmallVector<Type> parameters(type.getParams());
  parameters.push_back(value.getType());
  if (ArrayAttr attributes = body.getArgAttrsAttr()) {
    SmallVector<Attribute> all(attributes.getValue());
    all.push_back(DictionaryAttr::get(body.getContext()));
    body.setArgAttrsAttr(ArrayAttr::get(body.getContext(), all));
  }
  body.setFunctionType(LLVM::LLVMFunctionType::get(
      type.getReturnType(), parameters, type.isVarArg()));
  OpBuilder builder(found.call);
  SmallVector<Value> operands(found.call.getArgOperands());
  operands.push_back(value);
  auto call =
      LLVM::CallOp::create(builder, found.call.getLoc(), body, operands);
  found.call.erase();
  found.call = call;
  return body.getBody().front().addArgument(value.getType(), body.getLoc());
}

void ReloadResultsPass::reload(BodyCall found) {
  LLVM::LLVMFuncOp body = found.body;
  DominanceInfo dominance(body);
  OpBuilder builder(body.getContext());
  Location loc = body.getLoc();
  BlockArgument context, first;
  for (auto [number, behind] : found.operands) {
    BlockArgument argument = body.getArgument(number);
    SmallVector<Operation *> stores;
    if (!collectStores(argument, stores) || stores.empty())
      continue;
    if (!first) {
      context = addArgument(found, found.context);
      first = addArgument(found, found.first);
    }
    setBeforeAll(builder, stores, dominance);
    Value place = first;
    if (behind) {
      Value constant =
          LLVM::ConstantOp::create(builder, loc, first.getType(), behind);
      place = LLVM::AddOp::create(builder, loc, first, constant);
    }
    Value address = LLVM::CallOp::create(builder, loc, argument.getType(),
                                         kOperand, ValueRange{context, place})
                        .getResult();
    for (Operation *store : stores) {
      builder.setInsertionPoint(store);
      auto old = cast<LLVM::StoreOp>(store);
      old.getAddrMutable().assign(
          compute(builder, old.getAddr(), argument, address));
    }
    ++numReloaded;
  }
}
