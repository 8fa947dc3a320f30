//===- ReceivePackets.cpp - Polling for packets ---------------------------===//

#include "passes/target/Bodies.h"
#include "passes/target/Passes.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {
#define GEN_PASS_DEF_RECEIVEPACKETSPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Packets of one load, and their bytes.
static constexpr int64_t kPacketsPerLoad = 4;
static constexpr int64_t kLoadBytes = 16;
static constexpr int64_t kValueBytes = 2;

namespace {
/// Makes the function by which the threads of a CTA receive so many packets.
class ReceiverBuilder {
public:
  ReceiverBuilder(ReceivePacketsOp op, int64_t threads)
      : op(op), threads(threads), builder(op.getLoc(), op.getContext()) {}

  func::FuncOp build(StringRef name);

private:
  Value getPointer(Value memref, Value number, int64_t bytes);
  Value constant(int64_t value, unsigned width) {
    return arith::ConstantIntOp::create(builder, value, width);
  }
  void poll(scf::WhileOp loop, ArrayRef<Value> places, Value tag, Value begin);
  Value pack(ValueRange words);
  void store(ValueRange words, Value place, Value number);

  ReceivePacketsOp op;
  int64_t threads;
  ImplicitLocOpBuilder builder;
};
} // namespace

/// Of the elements from `number * bytes` on.
Value ReceiverBuilder::getPointer(Value memref, Value number, int64_t bytes) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, memref);
  Value distance = arith::MulIOp::create(
      builder, number, arith::ConstantIndexOp::create(builder, bytes));
  Value place = arith::AddIOp::create(builder, address, distance);
  Value word = arith::IndexCastOp::create(builder, builder.getI64Type(), place);
  return LLVM::IntToPtrOp::create(builder, pointer, word);
}

/// Loads all packets of a thread, again until they are those of this iteration.
void ReceiverBuilder::poll(scf::WhileOp loop, ArrayRef<Value> places, Value tag,
                           Value begin) {
  Type i32 = builder.getI32Type(), i1 = builder.getI1Type();
  Block *before =
      builder.createBlock(&loop.getBefore(), {}, i32, builder.getLoc());
  Value missing = constant(0, 1);
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
  Value more =
      arith::AddIOp::create(builder, after->getArgument(0), constant(1, 32));
  scf::YieldOp::create(builder, more);
  builder.setInsertionPointAfter(loop);
}

/// The values of four packets, side by side.
Value ReceiverBuilder::pack(ValueRange words) {
  Type i64 = builder.getI64Type();
  Value all = constant(0, 64);
  for (auto [number, word] : llvm::enumerate(words)) {
    Value bits = arith::AndIOp::create(builder, word, constant(0xffff, 32));
    Value wide = arith::ExtUIOp::create(builder, i64, bits);
    Value shifted =
        arith::ShLIOp::create(builder, wide, constant(16 * number, 64));
    all = arith::OrIOp::create(builder, all, shifted);
  }
  return all;
}

func::FuncOp ReceiverBuilder::build(StringRef name) {
  auto function = func::FuncOp::create(
      builder, name,
      builder.getFunctionType(op->getOperandTypes(), TypeRange()));
  function.setPrivate();
  builder.setInsertionPointToStart(function.addEntryBlock());
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, value);
  };
  Value packets = function.getArgument(0), values = function.getArgument(1);
  Value thread = gpu::ThreadIdOp::create(builder, gpu::Dimension::x);
  int64_t loads = op.getPackets().getType().getNumElements() / kPacketsPerLoad;
  SmallVector<Value> numbers, places;
  for (int64_t first = 0; first < loads; first += threads) {
    numbers.push_back(arith::AddIOp::create(builder, thread, index(first)));
    // Threads without a load repeat the last one.
    Value number =
        arith::MinUIOp::create(builder, numbers.back(), index(loads - 1));
    places.push_back(getPointer(packets, number, kLoadBytes));
  }
  Value tag = func::CallOp::create(builder, "ark_packet_tag",
                                   builder.getI32Type(), ValueRange())
                  .getResult(0);
  Value begin = func::CallOp::create(builder, "ark_now", builder.getI64Type(),
                                     ValueRange())
                    .getResult(0);
  SmallVector<Type> types(1 + kPacketsPerLoad * places.size(),
                          builder.getI32Type());
  auto loop = scf::WhileOp::create(builder, types, constant(0, 32));
  poll(loop, places, tag, begin);
  for (auto [at, number] : llvm::enumerate(numbers)) {
    Value isOwn = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                                        number, index(loads));
    auto guard = scf::IfOp::create(builder, isOwn, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard restore(builder);
    builder.setInsertionPointToStart(guard.thenBlock());
    Value all = pack(
        loop.getResults().slice(1 + at * kPacketsPerLoad, kPacketsPerLoad));
    LLVM::StoreOp::create(
        builder, all,
        getPointer(values, number, kPacketsPerLoad * kValueBytes));
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
    for (func::FuncOp body : getBodies(getOperation()))
      body.walk([&](ReceivePacketsOp op) {
        lower(op, symbols);
        ++numReceived;
      });
  }

private:
  void lower(ReceivePacketsOp op, SymbolTable &symbols);
};
} // namespace

/// All threads call a function that is the same for all packets of one number.
void ReceivePacketsPass::lower(ReceivePacketsOp op, SymbolTable &symbols) {
  OpBuilder builder(op);
  int64_t count = op.getPackets().getType().getNumElements();
  auto strip = [&](Value buffer) -> Value {
    auto type = cast<MemRefType>(buffer.getType());
    auto flat = MemRefType::get({count}, type.getElementType());
    return memref::ReinterpretCastOp::create(
        builder, op.getLoc(), flat, buffer, /*offset=*/0,
        ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1});
  };
  auto flatten = ReceivePacketsOp::create(
      builder, op.getLoc(), strip(op.getPackets()), strip(op.getValues()));
  Type element = op.getValues().getType().getElementType();
  std::string name =
      ("ark_receive_" + Twine(count) + (element.isBF16() ? "_bf16" : "_f16"))
          .str();
  auto function = symbols.lookup<func::FuncOp>(name);
  if (!function) {
    function = ReceiverBuilder(flatten, threads).build(name);
    symbols.insert(function);
  }
  auto call = func::CallOp::create(builder, op.getLoc(), function,
                                   flatten->getOperands());
  setCooperative(call, /*numWritten=*/1);
  flatten.erase();
  op.erase();
}
