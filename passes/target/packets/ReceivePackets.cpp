//===- ReceivePackets.cpp - Polls for LL packets --------------------------===//

#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/packets/PacketPolling.h"
#include "passes/target/packets/Passes.h"
#include "passes/target/support/Bodies.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::ark {
#define GEN_PASS_DEF_RECEIVEPACKETSPASS
#include "passes/target/packets/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
/// The packets of one buffer that the threads of a CTA load, and the buffer for
/// their values.
struct Loads {
  PacketRows packets, values;
  Value to;
  SmallVector<Value> loadIndices;
};
} // namespace

/// Returns the address of a load's elements, which have `bytes` bytes.
/// `pointer` is the address of the first load.
static Value getAddress(ImplicitLocOpBuilder &builder, Value pointer,
                        const PacketRows &rows, Value load, int64_t bytes) {
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, value);
  };
  Value distance = arith::MulIOp::create(builder, load, index(bytes));
  if (rows.count > 1) {
    Value row =
        arith::DivUIOp::create(builder, load, index(rows.size / rows.perLoad));
    Value gaps = arith::MulIOp::create(
        builder, row,
        index((rows.stride - rows.size) * (bytes / rows.perLoad)));
    distance = arith::AddIOp::create(builder, distance, gaps);
  }
  Value offset =
      arith::IndexCastOp::create(builder, builder.getI64Type(), distance);
  return LLVM::GEPOp::create(builder, pointer.getType(), builder.getI8Type(),
                             pointer, ArrayRef<LLVM::GEPArg>{offset});
}

/// Stores the values of one load of the thread, which have half of its bytes.
static void store(ImplicitLocOpBuilder &builder, Value word, const Loads &loads,
                  Value load) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value address = arith::IndexCastOp::create(
      builder, builder.getI64Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loads.to));
  Value values = LLVM::IntToPtrOp::create(builder, pointer, address);
  LLVM::StoreOp::create(builder, word,
                        getAddress(builder, values, loads.values, load,
                                   word.getType().getIntOrFloatBitWidth() / 8));
}

/// Returns the rows of the packets and of the values of an op. Each load has as
/// many packets as divide the rows of both.
static std::pair<PacketRows, PacketRows> getRows(ReceivePacketsOp op) {
  PacketRows packets = *PacketRows::match(op.getPackets().getType());
  PacketRows values = *PacketRows::match(op.getValues().getType());
  int64_t perLoad = std::min(packets.perLoad, values.perLoad);
  perLoad = std::min<int64_t>(perLoad, op.getPerLoad().value_or(perLoad));
  packets.perLoad = values.perLoad = perLoad;
  return {packets, values};
}

/// Returns the type of a flat buffer from the first to the last value of an op.
static MemRefType getFlatType(ReceivePacketsOp op) {
  MemRefType type = op.getValues().getType();
  return MemRefType::get(PacketRows::match(type)->getSpan(),
                         type.getElementType());
}

/// Creates the function with which the threads of a CTA receive the packets of
/// several ops together. Its arguments are the addresses of the packets, then
/// the buffers for the values.
static func::FuncOp createReceiver(ArrayRef<ReceivePacketsOp> ops,
                                   StringRef name, int64_t threads) {
  ImplicitLocOpBuilder builder(ops.front()->getLoc(),
                               ops.front()->getContext());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  SmallVector<Type> types(ops.size(), pointer);
  for (ReceivePacketsOp op : ops)
    types.push_back(getFlatType(op));
  auto function = func::FuncOp::create(
      builder, name, builder.getFunctionType(types, TypeRange()));
  function.setPrivate();
  builder.setInsertionPointToStart(function.addEntryBlock());
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, value);
  };
  Value thread = gpu::ThreadIdOp::create(builder, gpu::Dimension::x);
  SmallVector<Loads> all;
  SmallVector<PacketLoad> packetLoads;
  for (size_t i = 0; i < ops.size(); ++i) {
    ReceivePacketsOp op = ops[i];
    auto [packets, values] = getRows(op);
    Loads loads{packets, values, function.getArgument(ops.size() + i), {}};
    PacketLoad load{{},
                    packets.perLoad,
                    op.getPackets().getType().getElementType().isInteger(64)};
    int64_t count = loads.packets.getNumLoads();
    for (int64_t first = 0; first < count; first += threads) {
      Value loadIndex = arith::AddIOp::create(builder, thread, index(first));
      loads.loadIndices.push_back(loadIndex);
      // A thread without a load repeats the last load.
      Value clamped =
          arith::MinUIOp::create(builder, loadIndex, index(count - 1));
      load.address = getAddress(builder, function.getArgument(i), loads.packets,
                                clamped, load.getBytes());
      packetLoads.push_back(load);
    }
    all.push_back(std::move(loads));
  }
  SmallVector<Value> words = pollPackets(builder, packetLoads);
  size_t next = 0;
  for (const Loads &loads : all)
    for (Value loadIndex : loads.loadIndices) {
      Value isOwn =
          arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, loadIndex,
                                index(loads.packets.getNumLoads()));
      auto guard = scf::IfOp::create(builder, isOwn, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard restore(builder);
      builder.setInsertionPointToStart(guard.thenBlock());
      store(builder, words[next++], loads, loadIndex);
    }
  func::ReturnOp::create(builder);
  return function;
}

namespace {
struct ReceivePacketsPass
    : ark::impl::ReceivePacketsPassBase<ReceivePacketsPass> {
  using ReceivePacketsPassBase::ReceivePacketsPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<SmallVector<ReceivePacketsOp>> groups;
      body.walk([&](Block *block) { collect(*block, groups); });
      for (ArrayRef<ReceivePacketsOp> group : groups)
        lower(group, symbols);
    }
  }

private:
  void collect(Block &block,
               SmallVectorImpl<SmallVector<ReceivePacketsOp>> &groups);
  void lower(ArrayRef<ReceivePacketsOp> ops, SymbolTable &symbols);
};
} // namespace

/// Groups consecutive receives without memory accesses between them. A group
/// takes as long as a single receive.
void ReceivePacketsPass::collect(
    Block &block, SmallVectorImpl<SmallVector<ReceivePacketsOp>> &groups) {
  bool isOpen = false;
  for (Operation &op : block) {
    if (auto received = dyn_cast<ReceivePacketsOp>(op)) {
      if (!isOpen)
        groups.emplace_back();
      groups.back().push_back(received);
      isOpen = true;
    } else if (!isPure(&op) && !isa<memref::AllocaOp>(op)) {
      isOpen = false;
    }
  }
}

/// Returns the suffix of a function's name, which encodes the types that the
/// function depends on.
static std::string getSuffix(ReceivePacketsOp op) {
  MemRefType type = op.getValues().getType();
  std::string suffix;
  llvm::raw_string_ostream(suffix) << "_" << type.getElementType();
  for (MemRefType buffer : {op.getPackets().getType(), type}) {
    PacketRows rows = *PacketRows::match(buffer);
    suffix += ("_" + Twine(rows.count * rows.size)).str();
    if (rows.count > 1)
      suffix += ("_" + Twine(rows.size) + "_" + Twine(rows.stride)).str();
  }
  int64_t perLoad = getRows(op).first.perLoad;
  if (perLoad < PacketRows::getMaxPerLoad(type.getElementType()))
    suffix += ("_by_" + Twine(perLoad)).str();
  return suffix;
}

/// Lowers receives to one call that all threads execute. Groups of equal types
/// share a function.
void ReceivePacketsPass::lower(ArrayRef<ReceivePacketsOp> ops,
                               SymbolTable &symbols) {
  // Inserts the call at the last op, where the buffers of all ops are defined.
  ImplicitLocOpBuilder builder(ops.back()->getLoc(), ops.back());
  std::string name = "ark_receive";
  SmallVector<Value> addresses, values;
  for (ReceivePacketsOp op : ops) {
    name += getSuffix(op);
    Value zero = arith::ConstantIndexOp::create(builder, 0);
    addresses.push_back(getPacketAddress(builder, op.getPackets(), zero));
    MemRefType flat = getFlatType(op);
    values.push_back(memref::ReinterpretCastOp::create(
        builder, flat, op.getValues(), /*offset=*/0, flat.getShape(),
        ArrayRef<int64_t>{1}));
  }
  auto function = symbols.lookup<func::FuncOp>(name);
  if (!function) {
    function = createReceiver(ops, name, threads);
    symbols.insert(function);
  }
  llvm::append_range(addresses, values);
  auto call = func::CallOp::create(builder, function, addresses);
  setCtaCollective(call, /*numWritten=*/values.size());
  for (ReceivePacketsOp op : ops)
    op.erase();
  numReceived += ops.size();
}
