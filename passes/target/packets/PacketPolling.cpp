//===- PacketPolling.cpp - Loops that poll for LL packets -----------------===//

#include "passes/target/packets/PacketPolling.h"
#include "passes/target/memory_access/WideLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::ark;

/// With up to this many loads, a thread repeats only the loads that miss
/// packets. With more loads, it repeats all loads.
static constexpr size_t kMaxBranches = 7;

static Value constant(ImplicitLocOpBuilder &builder, int64_t value,
                      unsigned width) {
  return arith::ConstantIntOp::create(builder, value, width);
}

Value ark::getPacketAddress(ImplicitLocOpBuilder &builder, Value packets,
                            Value loadIndex) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, packets);
  auto times = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(
        builder, value, arith::ConstantIndexOp::create(builder, factor));
  };
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(
      builder, metadata.getBaseBuffer());
  int64_t bytes =
      cast<MemRefType>(packets.getType()).getElementTypeBitWidth() / 8;
  address = arith::AddIOp::create(builder, address,
                                  times(metadata.getOffset(), bytes));
  address =
      arith::AddIOp::create(builder, address, times(loadIndex, kLoadBytes));
  Value word =
      arith::IndexCastOp::create(builder, builder.getI64Type(), address);
  return LLVM::IntToPtrOp::create(builder, pointer, word);
}

/// Returns the types of the words of a load.
static SmallVector<Type> getWordTypes(OpBuilder &builder,
                                      const PacketLoad &load) {
  Type word = load.isWide ? builder.getI64Type() : builder.getI32Type();
  return SmallVector<Type>(load.packets, word);
}

namespace {
/// Functions of the kernel text for a load.
struct Callees {
  StringRef load, isStale;
};
} // namespace

static Callees getCallees(const PacketLoad &load) {
  if (load.isWide)
    return load.packets == 1
               ? Callees{"ark_load_wide_packet", "ark_is_wide_packet_stale"}
               : Callees{"ark_load_wide_packets", "ark_are_wide_packets_stale"};
  if (load.packets == 1)
    return {"ark_load_packet", "ark_is_packet_stale"};
  if (load.packets == 2)
    return {"ark_load_two_packets", "ark_are_two_packets_stale"};
  return {"ark_load_packets", "ark_are_packets_stale"};
}

/// Returns the 32 bits of a packet whose upper half holds the epoch.
static Value getUpper(ImplicitLocOpBuilder &builder, Value word) {
  if (word.getType().isInteger(32))
    return word;
  Value upper =
      arith::ShRUIOp::create(builder, word, constant(builder, 32, 64));
  return arith::TruncIOp::create(builder, builder.getI32Type(), upper);
}

static SmallVector<Value> loadPackets(ImplicitLocOpBuilder &builder,
                                      const PacketLoad &load) {
  return func::CallOp::create(builder, getCallees(load).load,
                              getWordTypes(builder, load),
                              ValueRange{load.address})
      .getResults();
}

/// Repeats a load if its packets are missing.
static SmallVector<Value> loadAgain(ImplicitLocOpBuilder &builder,
                                    const PacketLoad &load, Value isMissing,
                                    ValueRange words) {
  auto branch = scf::IfOp::create(builder, words.getTypes(), isMissing,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard restore(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loadPackets(builder, load));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, words);
  return branch.getResults();
}

/// Builds one polling step of a thread, which repeats loads until all packets
/// carry the epoch of this iteration. A repeated load delays the packets of
/// other threads, so the step repeats only loads that miss packets. If a thread
/// has many loads, it repeats all of them, since a branch for each load takes
/// longer.
static void buildTry(ImplicitLocOpBuilder &builder, scf::WhileOp loop,
                     ArrayRef<PacketLoad> loads, Value tag, Value begin) {
  Type i1 = builder.getI1Type();
  OpBuilder::InsertionGuard restore(builder);
  SmallVector<Location> locations(loop->getNumResults(), builder.getLoc());
  Block *before = builder.createBlock(&loop.getBefore(), {},
                                      loop.getResultTypes(), locations);
  Value tries = before->getArgument(0);
  ValueRange flags = before->getArguments().slice(1, loads.size());
  ValueRange words = before->getArguments().drop_front(1 + loads.size());
  SmallVector<SmallVector<Value>> loaded;
  for (auto [load, isMissing] : llvm::zip(loads, flags)) {
    size_t count = getWordTypes(builder, load).size();
    loaded.push_back(
        loads.size() > kMaxBranches
            ? loadPackets(builder, load)
            : loadAgain(builder, load, isMissing, words.take_front(count)));
    words = words.drop_front(count);
  }
  func::CallOp::create(builder, "ark_packets_poll", TypeRange());
  Value missing = constant(builder, 0, 1);
  SmallVector<Value> state = {tries};
  for (auto [load, own] : llvm::zip(loads, loaded)) {
    SmallVector<Value> operands(own);
    operands.push_back(tag);
    state.push_back(
        func::CallOp::create(builder, getCallees(load).isStale, i1, operands)
            .getResult(0));
    missing = arith::OrIOp::create(builder, missing, state.back());
  }
  for (ArrayRef<Value> own : loaded)
    llvm::append_range(state, own);
  Value seen = getUpper(builder, loaded.front().front());
  Value again = func::CallOp::create(builder, "ark_packets_wait", i1,
                                     ValueRange{missing, tries, begin, seen})
                    .getResult(0);
  scf::ConditionOp::create(builder, again, state);
  Block *after = builder.createBlock(&loop.getAfter(), {},
                                     loop.getResultTypes(), locations);
  SmallVector<Value> next(after->getArguments());
  next.front() =
      arith::AddIOp::create(builder, next.front(), constant(builder, 1, 32));
  scf::YieldOp::create(builder, next);
}

/// Packs the values of a load side by side.
static Value pack(ImplicitLocOpBuilder &builder, ValueRange words) {
  unsigned width = words.front().getType().getIntOrFloatBitWidth();
  unsigned bits = width / 2 * words.size();
  Type type = builder.getIntegerType(bits);
  if (bits < width)
    return arith::TruncIOp::create(builder, type, words.front());
  Value all = constant(builder, 0, bits);
  int64_t mask = (int64_t(1) << width / 2) - 1;
  for (auto [i, word] : llvm::enumerate(words)) {
    Value value =
        arith::AndIOp::create(builder, word, constant(builder, mask, width));
    if (width < bits)
      value = arith::ExtUIOp::create(builder, type, value);
    Value shifted = arith::ShLIOp::create(
        builder, value, constant(builder, width / 2 * i, bits));
    all = arith::OrIOp::create(builder, all, shifted);
  }
  return all;
}

SmallVector<Value> ark::pollPackets(ImplicitLocOpBuilder &builder,
                                    ArrayRef<PacketLoad> loads) {
  Type i32 = builder.getI32Type();
  Value tag = func::CallOp::create(builder, "ark_packet_tag", i32, ValueRange())
                  .getResult(0);
  Value begin = func::CallOp::create(builder, "ark_now", builder.getI64Type(),
                                     ValueRange())
                    .getResult(0);
  SmallVector<Value> state = {constant(builder, 0, 32)};
  state.append(loads.size(), constant(builder, 1, 1));
  for (const PacketLoad &load : loads)
    for (Type type : getWordTypes(builder, load))
      state.push_back(constant(builder, 0, type.getIntOrFloatBitWidth()));
  auto loop =
      scf::WhileOp::create(builder, ValueRange(state).getTypes(), state);
  buildTry(builder, loop, loads, tag, begin);
  SmallVector<Value> values;
  ValueRange words = loop.getResults().drop_front(1 + loads.size());
  for (const PacketLoad &load : loads) {
    size_t count = getWordTypes(builder, load).size();
    values.push_back(pack(builder, words.take_front(count)));
    words = words.drop_front(count);
  }
  return values;
}
