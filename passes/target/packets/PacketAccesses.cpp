//===- PacketAccesses.cpp - Checks accesses to LL packets -----------------===//

#include "passes/target/packets/PacketAccesses.h"

#include "passes/kernel/KernelAbi.h"
#include "passes/kernel/PacketOperands.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Traces the addresses of packets from the operands of bodies to their uses,
/// through functions and branches.
class PacketTracker {
public:
  PacketTracker(KernelOp kernel, Operation *container, TargetAttr target,
                const Backend &backend)
      : kernel(kernel), container(container), backend(backend),
        scope(getScope(kernel, target)) {}

  LogicalResult run();

private:
  static StringRef getScope(KernelOp kernel, TargetAttr target);
  LogicalResult markArguments();
  void markLookups();
  void markLookup(LLVM::CallOp lookup);
  bool isForBodies(Value address) const;
  void mark(Value address);
  LogicalResult visit(OpOperand &use);
  LogicalResult visitCall(LLVM::CallOp call, OpOperand &use);
  void visitReturn(LLVM::ReturnOp op, OpOperand &use);
  LogicalResult fail(OpOperand &use) const;

  KernelOp kernel;
  Operation *container;
  const Backend &backend;
  /// Scope of packet instructions; empty if the target names no scopes.
  StringRef scope;
  /// The operands of every body that are packets.
  llvm::DenseMap<StringAttr, llvm::BitVector> packets;
  llvm::DenseMap<StringRef, SmallVector<LLVM::CallOp>> calls;
  llvm::DenseSet<Value> addresses;
  SmallVector<Value> open;
};
} // namespace

/// Returns the scope that contains the sender and the receiver of a packet,
/// which may be on different GPUs in a program of several ranks.
StringRef PacketTracker::getScope(KernelOp kernel, TargetAttr target) {
  ScopesAttr scopes =
      target && target.isGpu() ? target.getGpu().getScopes() : ScopesAttr();
  if (!scopes)
    return "";
  return kernel.getRanks() ? scopes.getSystem() : scopes.getDevice();
}

void PacketTracker::mark(Value address) {
  if (addresses.insert(address).second)
    open.push_back(address);
}

//===----------------------------------------------------------------------===//
// Sources of packet addresses
//===----------------------------------------------------------------------===//

LogicalResult PacketTracker::markArguments() {
  FailureOr<SmallVector<llvm::BitVector>> found = findPacketOperands(kernel);
  if (failed(found))
    return failure();
  SmallVector<FunctionOpInterface> bodies;
  for (auto entry : kernel.getBodies().getAsRange<DictionaryAttr>()) {
    auto name = entry.getAs<FlatSymbolRefAttr>("function");
    packets[name.getAttr()] = (*found)[bodies.size()];
    bodies.push_back(cast<FunctionOpInterface>(
        SymbolTable::lookupSymbolIn(container, name.getAttr())));
  }
  if (failed(verifyPacketArguments(kernel, *found, bodies)))
    return failure();
  for (FunctionOpInterface body : bodies)
    for (BlockArgument argument : body.getArguments())
      if (body.getArgAttr(argument.getArgNumber(), ArkDialect::kPacketsAttr))
        mark(argument);
  return success();
}

/// Returns the index of an operand relative to the first operand of its task,
/// if the index is constant.
static std::optional<int64_t> getOperand(Value entry) {
  if (isa<BlockArgument>(entry))
    return 0;
  APInt behind;
  if (auto sum = entry.getDefiningOp<LLVM::AddOp>();
      sum && isa<BlockArgument>(sum.getLhs()) &&
      matchPattern(sum.getRhs(), m_ConstantInt(&behind)))
    return behind.getSExtValue();
  return std::nullopt;
}

/// Marks the result of a lookup in the operand table if it is the address of a
/// packet. A body looks up its own operands. The dispatch loop passes looked-up
/// addresses to bodies, whose arguments are marked, and to copies between
/// domains, which copy no packets (network_c1). Any other lookup conservatively
/// counts as the address of a packet.
void PacketTracker::markLookup(LLVM::CallOp lookup) {
  auto parent = lookup->getParentOfType<LLVM::LLVMFuncOp>();
  if (auto body = packets.find(parent.getSymNameAttr());
      body != packets.end()) {
    const llvm::BitVector &own = body->second;
    std::optional<int64_t> operand = getOperand(lookup.getArgOperands().back());
    bool isKnown =
        operand && *operand >= 0 && *operand < static_cast<int64_t>(own.size());
    if (isKnown ? own[*operand] : own.any())
      mark(lookup.getResult());
    return;
  }
  if (!isForBodies(lookup.getResult()))
    mark(lookup.getResult());
}

/// Returns true if an address, as it is or marked as global memory, is passed
/// only to bodies and to copies between domains.
bool PacketTracker::isForBodies(Value address) const {
  return llvm::all_of(address.getUsers(), [&](Operation *user) {
    auto call = dyn_cast<LLVM::CallOp>(user);
    if (!call || !call.getCallee())
      return false;
    if (*call.getCallee() == abi::kMarkGlobalFunction)
      return isForBodies(call.getResult());
    return packets.contains(call.getCalleeAttr().getAttr()) ||
           *call.getCallee() == abi::kCopyToDomainFunction;
  });
}

void PacketTracker::markLookups() {
  for (LLVM::CallOp lookup : calls.lookup(abi::kOperandFunction))
    markLookup(lookup);
}

//===----------------------------------------------------------------------===//
// Uses of packet addresses
//===----------------------------------------------------------------------===//

LogicalResult PacketTracker::fail(OpOperand &use) const {
  return use.getOwner()->emitOpError(
             "uses the address of a packet but is not a packet instruction ")
         << "(target_c6)";
}

LogicalResult PacketTracker::visitCall(LLVM::CallOp call, OpOperand &use) {
  auto callee =
      call.getCallee()
          ? dyn_cast_or_null<LLVM::LLVMFuncOp>(SymbolTable::lookupSymbolIn(
                container, call.getCalleeAttr().getAttr()))
          : nullptr;
  if (!callee || callee.isExternal())
    return fail(use);
  mark(callee.getArgument(use.getOperandNumber()));
  if (*call.getCallee() == abi::kMarkGlobalFunction)
    mark(call.getResult());
  return success();
}

/// Marks the results of calls to a function that returns an address. The calls
/// of the function that marks global memory have different addresses, so
/// `visitCall` marks their results one by one.
void PacketTracker::visitReturn(LLVM::ReturnOp op, OpOperand &use) {
  auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
  if (function.getSymName() == abi::kMarkGlobalFunction)
    return;
  for (LLVM::CallOp call : calls.lookup(function.getSymName()))
    mark(call.getResult());
}

LogicalResult PacketTracker::visit(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto branch = dyn_cast<BranchOpInterface>(op)) {
    if (auto argument =
            branch.getSuccessorBlockArgument(use.getOperandNumber()))
      mark(*argument);
    return success();
  }
  if (auto call = dyn_cast<LLVM::CallOp>(op))
    return visitCall(call, use);
  if (auto end = dyn_cast<LLVM::ReturnOp>(op)) {
    visitReturn(end, use);
    return success();
  }
  // The result of a comparison is not an address.
  if (backend.isPacketAccess(use, scope) || isa<LLVM::ICmpOp>(op))
    return success();
  if (!isMemoryEffectFree(op) && !backend.accessesNoMemory(op))
    return fail(use);
  for (Value result : op->getResults())
    mark(result);
  return success();
}

LogicalResult PacketTracker::run() {
  container->walk([&](LLVM::CallOp call) {
    if (std::optional<StringRef> callee = call.getCallee())
      calls[*callee].push_back(call);
  });
  if (failed(markArguments()))
    return failure();
  if (kernel.getPackets())
    markLookups();
  while (!open.empty()) {
    Value address = open.pop_back_val();
    for (OpOperand &use : address.getUses())
      if (failed(visit(use)))
        return failure();
  }
  return success();
}

LogicalResult mlir::ark::verifyPacketAccesses(KernelOp kernel,
                                              Operation *container,
                                              TargetAttr target,
                                              const Backend &backend) {
  return PacketTracker(kernel, container, target, backend).run();
}
