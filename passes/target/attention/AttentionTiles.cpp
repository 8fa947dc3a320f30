//===- AttentionTiles.cpp - Attention with tensor cores -------------------===//

#include "passes/target/attention/AttentionTiles.h"

#include "passes/target/memory_access/WideLoad.h"

#include "lib/backend/GpuInstructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Threads and loads
//===----------------------------------------------------------------------===//

void AttentionTiles::assignThreads(Value thread) {
  element = attention.getElementType();
  warp = div(thread, shape.getWarpSize());
  inWarp = rem(thread, shape.getWarpSize());
  quad =
      getAcc().createThreadIndex(builder, builder.getLoc(), inWarp, /*dim=*/0);
  inQuad =
      getAcc().createThreadIndex(builder, builder.getLoc(), inWarp, /*dim=*/1);
}

void AttentionTiles::findLength() {
  length = getValueOrCreateConstantIndexOp(
      builder, builder.getLoc(),
      memref::getMixedSize(builder, builder.getLoc(), attention.key, 0));
}

int64_t AttentionTiles::getKeyLoads() {
  return llvm::divideCeil(attention.depth, getQuadThreads() * shape.width);
}

Value AttentionTiles::isInside(Value column) {
  return isLess(column, index(attention.depth));
}

AttentionTiles::Words AttentionTiles::load(Value buffer,
                                           ArrayRef<Value> rowIndices,
                                           Value column, int64_t threads) {
  bool isWhole = attention.depth % (threads * shape.width) == 0;
  Value last = index(attention.depth - shape.width);
  SmallVector<Value> indices(rowIndices);
  indices.push_back(
      isWhole ? column
              : arith::MinSIOp::create(builder, column, last).getResult());
  Value elements = vector::LoadOp::create(
      builder, VectorType::get(shape.width, element), buffer, indices,
      /*nontemporal=*/false, llvm::MaybeAlign(kLoadBytes));
  Value vector = vector::BitCastOp::create(
      builder, VectorType::get(kWords, builder.getI32Type()), elements);
  Words words;
  for (int64_t i = 0; i < kWords; ++i) {
    words.push_back(vector::ExtractOp::create(builder, vector, i));
    if (!isWhole)
      words.back() = arith::SelectOp::create(builder, isInside(column),
                                             words.back(), word(0));
  }
  return words;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

Value AttentionTiles::word(uint32_t value) {
  return arith::ConstantIntOp::create(builder, value, kWordBits);
}

Value AttentionTiles::number(float value) {
  return arith::ConstantOp::create(builder, builder.getF32FloatAttr(value));
}

Value AttentionTiles::getLeast() {
  return number(-std::numeric_limits<float>::infinity());
}

Value AttentionTiles::joinLow(Value a, Value b) {
  return getGpuInstructions(builder).joinHalves(builder, builder.getLoc(), a, b,
                                                /*areUpper=*/false);
}

Value AttentionTiles::joinHigh(Value a, Value b) {
  return getGpuInstructions(builder).joinHalves(builder, builder.getLoc(), a, b,
                                                /*areUpper=*/true);
}

SmallVector<Value> AttentionTiles::multiply(ArrayRef<Words> rows,
                                            ArrayRef<Value> column,
                                            ArrayRef<Value> accumulators) {
  SmallVector<Value> words;
  for (const Words &row : rows)
    llvm::append_range(words, row);
  return instruction->multiply(
      builder, element, getLhs().sortWords(words, /*depth=*/1),
      instruction->getRhs().sortWords(column, /*depth=*/0), accumulators);
}

AttentionTiles::Words AttentionTiles::round(ArrayRef<Value> exponentials) {
  Words words;
  for (size_t first = 0; first < exponentials.size(); first += 2) {
    SmallVector<Value> pair;
    for (Value power : exponentials.slice(first, 2))
      pair.push_back(arith::TruncFOp::create(builder, element, power));
    Value both = vector::FromElementsOp::create(
        builder, VectorType::get({2}, element), pair);
    words.push_back(
        LLVM::BitcastOp::create(builder, builder.getI32Type(), both));
  }
  return words;
}

/// Rounds two exponentials to the values' type and packs them into one word.
/// Subtracts the rounded numbers from `exponentials` unless this is the last
/// term.
Value AttentionTiles::roundTerm(MutableArrayRef<Value> exponentials,
                                bool isLast) {
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  SmallVector<Value> narrow, rounded;
  for (Value power : exponentials) {
    if (element.isF16()) {
      narrow.push_back(arith::TruncFOp::create(builder, element, power));
      rounded.push_back(arith::ExtFOp::create(builder, f32, narrow.back()));
    } else {
      narrow.push_back(arith::BitcastOp::create(builder, i32, power));
      Value high =
          arith::AndIOp::create(builder, narrow.back(), word(0xffff0000));
      rounded.push_back(arith::BitcastOp::create(builder, f32, high));
    }
  }
  for (auto [power, of] : llvm::zip(exponentials, rounded))
    if (!isLast)
      power = arith::SubFOp::create(builder, power, of);
  if (!element.isF16())
    return joinHigh(narrow[0], narrow[1]);
  Value pair = vector::FromElementsOp::create(
      builder, VectorType::get({2}, element), narrow);
  return LLVM::BitcastOp::create(builder, i32, pair);
}

SmallVector<AttentionTiles::Words>
AttentionTiles::split(ArrayRef<Value> exponentials) {
  // Three bf16 terms hold 8 bits each of 24; two f16 terms hold 11 bits each of
  // 22.
  int64_t terms = element.isF16() ? 2 : 3;
  SmallVector<Words> all;
  SmallVector<Value> rest(exponentials);
  for (int64_t term = 0; term < terms; ++term) {
    Words &own = all.emplace_back();
    for (size_t pair = 0; pair < exponentials.size(); pair += 2)
      own.push_back(roundTerm(MutableArrayRef<Value>(rest).slice(pair, 2),
                              term + 1 == terms));
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value AttentionTiles::finishScore(Value score, ValueRange rowIndices, Value key,
                                  Value exists, arith::SelectOp omitted) {
  OnlineAttentionOp op = attention.op;
  SmallVector<Value> indices(rowIndices);
  indices.push_back(key);
  IRMapping mapping;
  mapping.map(op.getIndices(), indices);
  mapping.map(op.getDotArgument(), score);
  if (op.getMask()) {
    OpOperand &mask = op.getMaskMutable()[0];
    // Masks depend on rows and keys only, which are the first loops.
    AffineMap map = op.getMap(mask);
    AffineMap ofScores = AffineMap::get(indices.size(), 0, map.getResults(),
                                        builder.getContext());
    mapping.map(op.getMaskArgument(),
                AttentionBuilder::load(mask.get(), ofScores, indices));
  }
  for (Operation &inner : op.getScoreBlock()->without_terminator())
    builder.clone(inner, mapping);
  score =
      mapping.lookupOrDefault(omitted ? omitted.getTrueValue() : op.getScore());
  return exists ? arith::SelectOp::create(builder, exists, score, getLeast())
                      .getResult()
                : score;
}
