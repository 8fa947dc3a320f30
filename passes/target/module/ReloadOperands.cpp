//===- ReloadOperands.cpp - Looks up operand addresses late ---------------===//

#include "passes/kernel/KernelAbi.h"
#include "passes/target/module/Passes.h"

#include "mlir/Analysis/CFGLoopInfo.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::ark {
#define GEN_PASS_DEF_RELOADOPERANDSPASS
#include "passes/target/module/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

static constexpr StringLiteral kOperand = "ark_operand";

/// Collects the uses of an address, including uses through address
/// computations.
static void collectUses(Value address, SmallVectorImpl<OpOperand *> &uses) {
  for (OpOperand &use : address.getUses()) {
    Operation *user = use.getOwner();
    if (isa<LLVM::GEPOp, LLVM::AddrSpaceCastOp>(user) &&
        use.getOperandNumber() == 0)
      collectUses(user->getResult(0), uses);
    else
      uses.push_back(&use);
  }
}

static bool isStoredTo(OpOperand *use) {
  auto store = dyn_cast<LLVM::StoreOp>(use->getOwner());
  return store && use->get() == store.getAddr() &&
         use->get() != store.getValue();
}

namespace {
/// A call of a body, and the operand of the task that each argument is.
struct BodyCall {
  LLVM::CallOp call;
  LLVM::LLVMFuncOp body;
  Value context, first;
  /// Arguments, each with its operand's index relative to the task's first
  /// operand.
  SmallVector<std::pair<unsigned, int64_t>> operands;
};

struct ReloadOperandsPass
    : ark::impl::ReloadOperandsPassBase<ReloadOperandsPass> {
  using ReloadOperandsPassBase::ReloadOperandsPassBase;

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

/// Splits an operand's index into the index of the task's first operand and a
/// constant distance.
static std::pair<Value, int64_t> splitIndex(Value index) {
  if (auto sum = index.getDefiningOp<LLVM::AddOp>())
    if (APInt behind; matchPattern(sum.getRhs(), m_ConstantInt(&behind)))
      return {sum.getLhs(), behind.getSExtValue()};
  return {index, 0};
}

std::optional<BodyCall> ReloadOperandsPass::match(LLVM::CallOp call) {
  if (!call.getCallee())
    return std::nullopt;
  BodyCall found;
  found.call = call;
  found.body = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(*call.getCallee());
  for (OpOperand &operand : call->getOpOperands()) {
    auto load = operand.get().getDefiningOp<LLVM::CallOp>();
    if (!load || load.getCallee() != kOperand)
      continue;
    auto [first, behind] = splitIndex(load.getArgOperands()[1]);
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

/// Returns the loop over the vCTAs of a body, which begins with the body's
/// first argument, or null.
static CFGLoop *getVctaLoop(LLVM::LLVMFuncOp body, CFGLoopInfo &loops) {
  for (CFGLoop *loop : loops.getTopLevelLoops())
    for (Block *before : loop->getHeader()->getPredecessors())
      if (!loop->contains(before) &&
          llvm::is_contained(before->getTerminator()->getOperands(),
                             body.getArgument(abi::kBodyBegin)))
        return loop;
  return nullptr;
}

/// Returns the op before which an address with these uses should be looked up:
/// as late as possible if the address is only stored to, and at the start of a
/// vCTA otherwise. Returns null if this op is not later than the present
/// lookup.
static Operation *getInsertionPoint(LLVM::LLVMFuncOp body,
                                    ArrayRef<OpOperand *> uses,
                                    DominanceInfo &dominance) {
  if (!llvm::all_of(uses, [&](OpOperand *use) {
        return dominance.isReachableFromEntry(use->getOwner()->getBlock());
      }))
    return nullptr;
  Block *block = uses.front()->getOwner()->getBlock();
  for (OpOperand *use : uses.drop_front())
    block = dominance.findNearestCommonDominator(block,
                                                 use->getOwner()->getBlock());
  if (!llvm::all_of(uses, isStoredTo)) {
    auto &tree = dominance.getDomTree(block->getParent());
    CFGLoopInfo loops(tree);
    CFGLoop *vctas = getVctaLoop(body, loops);
    if (!vctas || !vctas->contains(block))
      return nullptr;
    while (loops.getLoopFor(block) != vctas)
      block = tree.getNode(block)->getIDom()->getBlock();
  }
  Operation *insertionPoint = block->getTerminator();
  for (OpOperand *use : uses)
    if (use->getOwner()->getBlock() == block &&
        use->getOwner()->isBeforeInBlock(insertionPoint))
      insertionPoint = use->getOwner();
  return insertionPoint;
}

/// Clones the computation of `value` from address `old`, with `address` as the
/// new base.
static Value compute(OpBuilder &builder, Value value, Value old,
                     Value address) {
  if (value == old)
    return address;
  Operation *computation = value.getDefiningOp();
  Value base = compute(builder, computation->getOperand(0), old, address);
  Operation *copy = builder.clone(*computation);
  copy->setOperand(0, base);
  return copy->getResult(0);
}

/// Adds an argument to the body, and `value` to the call of the body.
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

void ReloadOperandsPass::reload(BodyCall found) {
  LLVM::LLVMFuncOp body = found.body;
  DominanceInfo dominance(body);
  OpBuilder builder(body.getContext());
  Location loc = body.getLoc();
  BlockArgument context, first;
  for (auto [argument, behind] : found.operands) {
    Value old = body.getArgument(argument);
    SmallVector<OpOperand *> uses;
    collectUses(old, uses);
    Operation *insertionPoint =
        uses.empty() ? nullptr : getInsertionPoint(body, uses, dominance);
    if (!insertionPoint)
      continue;
    if (!first) {
      context = addArgument(found, found.context);
      first = addArgument(found, found.first);
    }
    builder.setInsertionPoint(insertionPoint);
    Value operandIndex = LLVM::AddOp::create(
        builder, loc, first,
        LLVM::ConstantOp::create(builder, loc, first.getType(), behind));
    Value address = LLVM::CallOp::create(builder, loc, old.getType(), kOperand,
                                         ValueRange{context, operandIndex})
                        .getResult();
    for (OpOperand *use : uses) {
      builder.setInsertionPoint(use->getOwner());
      use->set(compute(builder, use->get(), old, address));
    }
    ++numReloaded;
  }
}
