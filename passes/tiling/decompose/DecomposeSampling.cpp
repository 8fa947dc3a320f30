//===- DecomposeSampling.cpp - Emit random bits ---------------------------===//

#include "passes/tiling/decompose/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::ark;

static Value createWord(OpBuilder &builder, Location loc, uint32_t value) {
  return arith::ConstantOp::create(
      builder, loc,
      builder.getIntegerAttr(builder.getI32Type(), APInt(32, value)));
}

static Value emitXor(OpBuilder &b, Location loc, Value x, Value y, Value z) {
  return arith::XOrIOp::create(b, loc, arith::XOrIOp::create(b, loc, x, y), z);
}

/// Philox4x32-10 of Salmon, Moraes, Dror and Shaw (SC '11).
Value ark::emitPhilox(OpBuilder &b, Location loc, Value index, Value counter,
                      Value seed) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 64);
  };
  auto low = [&](Value value) -> Value {
    return arith::TruncIOp::create(b, loc, b.getI32Type(), value);
  };
  auto high = [&](Value value) {
    return low(arith::ShRUIOp::create(b, loc, value, number(32)));
  };
  Value block = arith::ShRUIOp::create(b, loc, index, number(2));
  SmallVector<Value> words = {low(block), high(block), low(counter),
                              high(counter)};
  Value firstKey = low(seed), secondKey = high(seed);
  for (int round = 0; round < 10; ++round) {
    auto first = arith::MulUIExtendedOp::create(
        b, loc, createWord(b, loc, 0xD2511F53), words[0]);
    auto second = arith::MulUIExtendedOp::create(
        b, loc, createWord(b, loc, 0xCD9E8D57), words[2]);
    words = {
        emitXor(b, loc, second.getHigh(), words[1], firstKey), second.getLow(),
        emitXor(b, loc, first.getHigh(), words[3], secondKey), first.getLow()};
    firstKey =
        arith::AddIOp::create(b, loc, firstKey, createWord(b, loc, 0x9E3779B9));
    secondKey = arith::AddIOp::create(b, loc, secondKey,
                                      createWord(b, loc, 0xBB67AE85));
  }
  Value word = arith::AndIOp::create(b, loc, low(index), createWord(b, loc, 3));
  Value result = words[3];
  for (uint32_t i = 0; i < 3; ++i) {
    Value here = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, word,
                                       createWord(b, loc, i));
    result = arith::SelectOp::create(b, loc, here, words[i], result);
  }
  return result;
}
