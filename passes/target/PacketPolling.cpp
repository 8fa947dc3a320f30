//===- PacketPolling.cpp - Loops that wait for packets --------------------===//

#include "passes/target/PacketPolling.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kLoadBytes = 16;

static Value constant(ImplicitLocOpBuilder &builder, int64_t value,
                      unsigned width) {
  return arith::ConstantIntOp::create(builder, value, width);
}

Value ark::getPacketPlace(ImplicitLocOpBuilder &builder, Value packets,
                          Value number) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, packets);
  auto times = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(
        builder, value, arith::ConstantIndexOp::create(builder, factor));
  };
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(
      builder, metadata.getBaseBuffer());
  address = arith::AddIOp::create(
      builder, address,
      times(metadata.getOffset(), kLoadBytes / kPacketsPerLoad));
  address = arith::AddIOp::create(builder, address, times(number, kLoadBytes));
  Value word =
      arith::IndexCastOp::create(builder, builder.getI64Type(), address);
  return LLVM::IntToPtrOp::create(builder, pointer, word);
}

/// Loads all packets of a thread, again until they are those of this iteration.
static void buildTry(ImplicitLocOpBuilder &builder, scf::WhileOp loop,
                     ArrayRef<Value> places, Value tag, Value begin) {
  Type i32 = builder.getI32Type(), i1 = builder.getI1Type();
  OpBuilder::InsertionGuard restore(builder);
  Block *before =
      builder.createBlock(&loop.getBefore(), {}, i32, builder.getLoc());
  Value missing = constant(builder, 0, 1);
  SmallVector<Value> words;
  for (Value place : places) {
    auto load = func::CallOp::create(builder, "ark_load_packets",
                                     TypeRange{i32, i32, i32, i32, i1},
                                     ValueRange{place, tag});
    llvm::append_range(words, load.getResults().drop_back());
    missing = arith::OrIOp::create(builder, missing, load.getResults().back());
  }
  Value again = func::CallOp::create(builder, "ark_packets_wait", i1,
                                     ValueRange{missing, before->getArgument(0),
                                                begin, words.front()})
                    .getResult(0);
  SmallVector<Value> state = {before->getArgument(0)};
  llvm::append_range(state, words);
  scf::ConditionOp::create(builder, again, state);
  SmallVector<Type> types(state.size(), i32);
  Block *after = builder.createBlock(
      &loop.getAfter(), {}, types,
      SmallVector<Location>(types.size(), builder.getLoc()));
  Value more = arith::AddIOp::create(builder, after->getArgument(0),
                                     constant(builder, 1, 32));
  scf::YieldOp::create(builder, more);
}

/// The values of four packets, side by side.
static Value pack(ImplicitLocOpBuilder &builder, ValueRange words) {
  Type i64 = builder.getI64Type();
  Value all = constant(builder, 0, 64);
  for (auto [number, word] : llvm::enumerate(words)) {
    Value bits =
        arith::AndIOp::create(builder, word, constant(builder, 0xffff, 32));
    Value wide = arith::ExtUIOp::create(builder, i64, bits);
    Value shifted = arith::ShLIOp::create(builder, wide,
                                          constant(builder, 16 * number, 64));
    all = arith::OrIOp::create(builder, all, shifted);
  }
  return all;
}

SmallVector<Value> ark::pollPackets(ImplicitLocOpBuilder &builder,
                                    ArrayRef<Value> places) {
  Type i32 = builder.getI32Type();
  Value tag = func::CallOp::create(builder, "ark_packet_tag", i32, ValueRange())
                  .getResult(0);
  Value begin = func::CallOp::create(builder, "ark_now", builder.getI64Type(),
                                     ValueRange())
                    .getResult(0);
  SmallVector<Type> types(1 + kPacketsPerLoad * places.size(), i32);
  auto loop = scf::WhileOp::create(builder, types, constant(builder, 0, 32));
  buildTry(builder, loop, places, tag, begin);
  SmallVector<Value> values;
  for (size_t at = 0; at < places.size(); ++at)
    values.push_back(
        pack(builder, loop.getResults().slice(1 + at * kPacketsPerLoad,
                                              kPacketsPerLoad)));
  return values;
}
