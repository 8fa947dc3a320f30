//===- SendPackets.cpp - Stores of LL packets -----------------------------===//

#include "passes/kernel/KernelAbi.h"
#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/packets/Passes.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/tables/KernelTemplate.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {
#define GEN_PASS_DEF_SENDPACKETSPASS
#include "passes/target/packets/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Bytes of the state that the dispatch loop shares with bodies.
static constexpr int64_t kStateBytes = 4 * abi::kPacketStateWords;

/// Replaces a plain store, which may become visible late and in two halves.
static void send(memref::StoreOp store) {
  OpBuilder outer(store);
  ImplicitLocOpBuilder builder(store.getLoc(), outer);
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, store.getMemRef());
  Value element = metadata.getOffset();
  for (auto [index, stride] :
       llvm::zip(store.getIndices(), metadata.getStrides()))
    element = arith::AddIOp::create(
        builder, element, arith::MulIOp::create(builder, index, stride));
  unsigned width = store.getMemRefType().getElementTypeBitWidth();
  Value bytes = arith::MulIOp::create(
      builder, element, arith::ConstantIndexOp::create(builder, width / 8));
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(
      builder, metadata.getBaseBuffer());
  Value address =
      arith::IndexCastOp::create(builder, builder.getI64Type(),
                                 arith::AddIOp::create(builder, base, bytes));
  Value pointer = LLVM::IntToPtrOp::create(
      builder, LLVM::LLVMPointerType::get(builder.getContext()), address);
  func::CallOp::create(
      builder, width == 64 ? "ark_send_wide_packet" : "ark_send_packet",
      TypeRange(), ValueRange{pointer, store.getValueToStore()});
  store.erase();
}

/// Returns true if an op accesses packets. Calls for packets have pointers as
/// operands, and `ark-verify-target` checks their callees.
static bool accessesPackets(Operation *op) {
  if (isa<func::CallOp>(op))
    return llvm::any_of(op->getOperands(), [](Value operand) {
      return isa<MemRefType>(operand.getType()) && arePackets(operand);
    });
  return llvm::any_of(getAccesses(op), [](const Access &access) {
    return access.buffer && arePackets(access.buffer);
  });
}

/// Fails if any other op accesses packets: a wider store does not store single
/// words, and a plain load may read half of a word. `ark-receive-packets` has
/// already lowered all receives.
static LogicalResult verifyRest(func::FuncOp body) {
  WalkResult walk = body.walk([](Operation *op) {
    if (op->getNumRegions() != 0 || !accessesPackets(op))
      return WalkResult::advance();
    op->emitOpError("accesses packets, which only scalar stores write and "
                    "'ark.receive_packets' reads");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct SendPacketsPass : ark::impl::SendPacketsPassBase<SendPacketsPass> {
  using SendPacketsPassBase::SendPacketsPassBase;

  void runOnOperation() override {
    bool any = false;
    for (func::FuncOp body : getBodies(getOperation())) {
      body.walk([&](EpochOp epoch) {
        OpBuilder builder(epoch);
        epoch.replaceAllUsesWith(func::CallOp::create(builder, epoch.getLoc(),
                                                      "ark_packet_epoch",
                                                      epoch->getResultTypes())
                                     .getResult(0));
        epoch.erase();
        any = true;
      });
      body.walk([&](memref::StoreOp store) {
        if (!arePackets(store.getMemRef()))
          return;
        send(store);
        ++numStores;
      });
      if (failed(verifyRest(body)))
        return signalPassFailure();
    }
    if (any)
      complete();
  }

private:
  void complete();
};
} // namespace

/// Connects bodies to the dispatch loop and allocates their common state at the
/// end of shared memory.
void SendPacketsPass::complete() {
  ModuleOp module = getOperation();
  KernelTemplate kernelTemplate(module);
  kernelTemplate.setCallee("ark_begin_packets", "ark_packets_begin");
  kernelTemplate.setCallee("ark_begin_iteration", "ark_packets_iteration");
  kernelTemplate.setCallee("ark_begin_work_item",
                           "ark_packets_begin_work_item");
  for (auto kernel : module.getOps<KernelOp>()) {
    int64_t begin = llvm::alignTo(getSharedBytes(kernel), kSharedAlignment);
    kernelTemplate.defineAddress("ark_packet_state", getSharedMemory(module),
                                 begin);
    setSharedBytes(kernel, begin + kStateBytes);
  }
  if (kernelTemplate.failed())
    signalPassFailure();
}
