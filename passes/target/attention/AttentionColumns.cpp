//===- AttentionColumns.cpp - Attention with queries as columns -----------===//

#include "passes/target/attention/AttentionColumns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Elements of the widest store of results.
static constexpr int64_t kResultElements = 8;

SmallVector<Value> AttentionColumns::State::flatten() const {
  SmallVector<Value> all(maxima.begin(), maxima.end());
  llvm::append_range(all, sums);
  llvm::append_range(all, products);
  return all;
}

void AttentionColumns::State::assign(ValueRange all, int64_t queries) {
  maxima = llvm::to_vector_of<Value>(all.take_front(queries));
  sums = llvm::to_vector_of<Value>(all.slice(queries, queries));
  products = llvm::to_vector_of<Value>(all.drop_front(2 * queries));
}

//===----------------------------------------------------------------------===//
// Threads and loads
//===----------------------------------------------------------------------===//

void AttentionColumns::assignThread(Value thread) {
  assignThreads(thread);
  warp = rem(warp, shape.warps);
  Location loc = builder.getLoc();
  position = getLhs().createThreadIndex(builder, loc, inWarp, /*dim=*/0);
  part = getLhs().createThreadIndex(builder, loc, inWarp, /*dim=*/1);
  warpInBlock = rem(warp, shape.warpsPerBlock);
}

void AttentionColumns::findValueLoads() {
  int64_t begin = 0, threads = shape.mma.getM();
  while (begin < attention.depth) {
    int64_t columns = std::min<int64_t>(
        shape.width,
        llvm::bit_floor<uint64_t>((attention.depth - begin) / threads));
    valueLoads.push_back({begin, columns});
    begin += columns * threads;
  }
}

/// Finds the thread's queries of a block, and loads them.
void AttentionColumns::findQueries(Value block) {
  assignRows(add(mul(block, shape.getBlockRows()), position));
  queries.clear();
  for (ArrayRef<Value> indices : rowIndices) {
    SmallVector<Words> &loaded = queries.emplace_back();
    for (int64_t i = 0; i < getKeyLoads(); ++i)
      loaded.push_back(load(attention.query, indices,
                            mul(add(part, i * getQuadThreads()), shape.width),
                            getQuadThreads()));
  }
}

void AttentionColumns::findWholeSteps() {
  mask = PositionMask::find(attention.op);
  if (!mask && isWholeStep())
    return;
  Value keys = length;
  if (mask) {
    Value common = mask->createCommonKeys(builder, builder.getLoc());
    common = arith::MaxSIOp::create(builder, common, index(0));
    keys = arith::MinSIOp::create(builder, keys, common);
  }
  int64_t unit = shape.warpsPerBlock * shape.getStepKeys();
  wholeEnd = mul(div(keys, unit), unit);
}

AttentionColumns::Keys AttentionColumns::findKeys(const Source &source,
                                                  Value first) {
  Keys keys;
  bool allExist = isWhole || isWholeStep();
  Value last =
      allExist ? Value()
               : arith::SubIOp::create(builder, length, index(1)).getResult();
  auto clamp = [&](Value key) -> Value {
    return allExist ? key : arith::MinSIOp::create(builder, key, last);
  };
  Value own = getAcc().createFirst(builder, builder.getLoc(), inWarp, 0);
  Value ofScores = add(first, own), ofValues = add(source.firstValue, own);
  for (int64_t tile = 0; tile < getStepTiles(); ++tile) {
    int64_t distance = tile * shape.mma.getM();
    keys.rows.push_back(clamp(add(add(source.firstKey, position), distance)));
    for (int64_t i = 0; i < instruction->getNumAccumulators(); ++i) {
      int64_t more = distance + getAcc().getOffset(i).first;
      Value key = add(ofScores, more);
      keys.exists.push_back(allExist ? Value() : isLess(key, length));
      keys.ofScores.push_back(clamp(key));
      keys.ofValues.push_back(clamp(add(ofValues, more)));
    }
  }
  return keys;
}

Value AttentionColumns::loadColumns(const Source &source, Value row,
                                    Value column, int64_t columns) {
  if (source.stage)
    return readStage(source.stage->values, row, column, columns);
  return vector::LoadOp::create(builder, VectorType::get(columns, element),
                                source.values, ValueRange{row, column},
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(columns * kElementBits / 8));
}

/// Loads neighbouring columns of the values of a key: words of two columns, or
/// one word if there is only one column. Words of keys beyond the last key
/// become zero, because zero times the loaded value may be NaN.
AttentionTiles::Words AttentionColumns::loadValues(const Source &source,
                                                   Value row, Value exists,
                                                   const ValueLoad &valueLoad) {
  int64_t columns = valueLoad.columns;
  Value column = add(mul(position, columns), valueLoad.begin);
  Value elements = loadColumns(source, row, column, columns);
  Words words;
  if (columns == 1) {
    Value bits = vector::ExtractOp::create(
        builder,
        vector::BitCastOp::create(
            builder, VectorType::get(1, builder.getI16Type()), elements),
        0);
    words.push_back(
        arith::ExtUIOp::create(builder, builder.getI32Type(), bits));
  } else {
    Value vector = vector::BitCastOp::create(
        builder, VectorType::get(columns / 2, builder.getI32Type()), elements);
    for (int64_t i = 0; i < columns / 2; ++i)
      words.push_back(vector::ExtractOp::create(builder, vector, i));
  }
  if (exists)
    for (Value &of : words)
      of = arith::SelectOp::create(builder, exists, of, word(0));
  return words;
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

/// Creates an instruction with accumulators in a vector.
Value AttentionColumns::multiply(ArrayRef<Value> lhs, ArrayRef<Value> rhs,
                                 Value accumulators) {
  SmallVector<Value> sums;
  for (int64_t i = 0; i < instruction->getNumAccumulators(); ++i)
    sums.push_back(vector::ExtractOp::create(builder, accumulators, i));
  sums = instruction->multiply(
      builder, element, getLhs().sortWords(lhs, /*depth=*/1),
      instruction->getRhs().sortWords(rhs, /*depth=*/0), sums);
  return vector::FromElementsOp::create(builder, getAccumulatorType(), sums);
}

/// Loads the words of a key from `column` on.
AttentionTiles::Words AttentionColumns::loadKeys(const Source &source,
                                                 Value row, Value column) {
  if (!source.stage)
    return load(source.keys, row, column, getQuadThreads());
  Value vector = vector::BitCastOp::create(
      builder, VectorType::get(kWords, builder.getI32Type()),
      readStage(source.stage->keys, row, column, shape.width));
  Words words;
  for (int64_t i = 0; i < kWords; ++i)
    words.push_back(vector::ExtractOp::create(builder, vector, i));
  return words;
}

/// Returns the scores of each of the thread's queries.
SmallVector<SmallVector<Value>>
AttentionColumns::getScores(const Source &source, const Keys &keys) {
  Value zero = arith::ConstantOp::create(
      builder, builder.getZeroAttr(getAccumulatorType()));
  int64_t words = getElements() / 2;
  SmallVector<SmallVector<Value>> scores(countRows());
  for (Value row : keys.rows) {
    SmallVector<Value> accumulators(countRows(), zero);
    SmallVector<Words> loaded;
    for (int64_t i = 0; i < getKeyLoads(); ++i)
      loaded.push_back(loadKeys(
          source, row, mul(add(part, i * getQuadThreads()), shape.width)));
    for (auto [i, key] : llvm::enumerate(loaded))
      for (int64_t first = 0; first < kWords; first += words)
        for (auto [query, sums] : llvm::zip(queries, accumulators))
          sums = multiply(ArrayRef<Value>(key).slice(first, words),
                          ArrayRef<Value>(query[i]).slice(first, words), sums);
    for (auto [own, sums] : llvm::zip(scores, accumulators))
      for (int64_t i = 0; i < instruction->getNumAccumulators(); ++i)
        own.push_back(vector::ExtractOp::create(builder, sums, i));
  }
  for (auto [own, indices] : llvm::zip(scores, rowIndices))
    for (auto [score, key, exists] : llvm::zip(own, keys.ofScores, keys.exists))
      score =
          finishScore(score, indices, key, exists,
                      isWhole && mask ? mask->getSelect() : arith::SelectOp());
  return scores;
}

/// Rounds exponentials to the values' type. Exponentials are at most one, so
/// that bf16 needs no case for infinity; halves are rounded up.
AttentionTiles::Words
AttentionColumns::roundWeights(ArrayRef<Value> exponentials) {
  if (element.isF16())
    return round(exponentials);
  auto addHalf = [&](Value power) -> Value {
    Value bits = arith::BitcastOp::create(builder, builder.getI32Type(), power);
    return arith::AddIOp::create(builder, bits, word(0x8000));
  };
  Words words;
  for (size_t first = 0; first < exponentials.size(); first += 2)
    words.push_back(joinHigh(addHalf(exponentials[first]),
                             addHalf(exponentials[first + 1])));
  return words;
}

/// Computes products += values * exponentials.
void AttentionColumns::addValues(State &state, const Source &source,
                                 const Keys &keys,
                                 ArrayRef<SmallVector<Value>> exponentials) {
  int64_t count = getElements();
  for (size_t first = 0; first < keys.ofScores.size(); first += count) {
    SmallVector<Words> weights;
    for (ArrayRef<Value> own : exponentials)
      weights.push_back(roundWeights(own.slice(first, count)));
    int64_t tile = 0;
    for (const ValueLoad &valueLoad : valueLoads) {
      SmallVector<Words> values;
      for (int64_t i = 0; i < count; ++i)
        values.push_back(loadValues(source, keys.ofValues[first + i],
                                    keys.exists[first + i], valueLoad));
      for (int64_t column = 0; column < valueLoad.columns; ++column, ++tile) {
        Words words;
        for (int64_t pair = 0; pair < count; pair += 2) {
          Value a = values[pair][column / 2], b = values[pair + 1][column / 2];
          words.push_back(column % 2 ? joinHigh(a, b) : joinLow(a, b));
        }
        for (auto [query, weight] : llvm::enumerate(weights)) {
          Value &sums = state.products[query * getDepthTiles() + tile];
          sums = multiply(words, weight, sums);
        }
      }
    }
  }
}

void AttentionColumns::step(State &state, const Source &source, Value first) {
  Keys keys = findKeys(source, first);
  SmallVector<SmallVector<Value>> scores = getScores(source, keys);
  SmallVector<Value> corrections =
      updateSoftmax(state.maxima, state.sums, scores);
  for (auto [i, product] : llvm::enumerate(state.products))
    product = arith::MulFOp::create(
        builder, product,
        vector::BroadcastOp::create(builder, getAccumulatorType(),
                                    corrections[i / getDepthTiles()]));
  addValues(state, source, keys, scores);
}

//===----------------------------------------------------------------------===//
// A block
//===----------------------------------------------------------------------===//

/// Creates the steps of the warp between `begin` and `end`, which read keys and
/// values from their memory.
void AttentionColumns::createSteps(State &state, Value begin, Value end) {
  int64_t keys = shape.getStepKeys();
  auto loop = scf::ForOp::create(
      builder,
      arith::AddIOp::create(builder, begin, mul(warpInBlock, keys)).getResult(),
      end, index(shape.warpsPerBlock * keys), state.flatten());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    state.assign(loop.getRegionIterArgs(), countRows());
    Value first = loop.getInductionVar();
    step(state, {attention.key, attention.value, first, first}, first);
    scf::YieldOp::create(builder, state.flatten());
  }
  state.assign(loop.getResults(), countRows());
}

AttentionColumns::State AttentionColumns::stream() {
  State state;
  state.maxima.assign(countRows(), getLeast());
  state.sums.assign(countRows(), number(0));
  state.products.assign(
      countRows() * getDepthTiles(),
      arith::ConstantOp::create(builder,
                                builder.getZeroAttr(getAccumulatorType())));
  Value end = wholeEnd ? wholeEnd : length;
  isWhole = true;
  if (shape.copiesKeys)
    createCopiedSteps(state, end);
  else if (shape.keyStages > 0)
    createStagedSteps(state, end);
  else
    createSteps(state, index(0), end);
  isWhole = false;
  if (wholeEnd)
    createSteps(state, wholeEnd, length);
  combineSums(state.sums);
  return state;
}

/// Returns `count` neighbouring columns of a result. They belong to the
/// columns of a load of values, and to consecutive accumulators from `element`
/// on.
SmallVector<Value> AttentionColumns::getColumns(const State &state,
                                                int64_t query,
                                                int64_t loadIndex,
                                                int64_t element,
                                                int64_t count) {
  const ValueLoad &of = valueLoads[loadIndex];
  int64_t tile = query * getDepthTiles() + of.begin / shape.mma.getM();
  SmallVector<Value> columns;
  for (int64_t i = 0; i < count; ++i)
    columns.push_back(vector::ExtractOp::create(
        builder, state.products[tile + i % of.columns],
        element + i / of.columns));
  return columns;
}

/// Calls `visit` with the neighbouring columns of the thread's results of a
/// query.
void AttentionColumns::forEachResult(
    const State &state, int64_t query,
    function_ref<void(Value first, ArrayRef<Value> products)> visit) {
  Value row = getAcc().createFirst(builder, builder.getLoc(), inWarp, 0);
  int64_t consecutive = getAcc().getConsecutive(0);
  for (auto [loadIndex, of] : llvm::enumerate(valueLoads)) {
    int64_t count = std::min(kResultElements, consecutive * of.columns);
    for (int64_t i = 0; i < instruction->getNumAccumulators();
         i += count / of.columns)
      visit(
          add(mul(add(row, getAcc().getOffset(i).first), of.columns), of.begin),
          getColumns(state, query, loadIndex, i, count));
  }
}

/// Stores the maximum and the sum of a query. One of the threads that share it
/// does so, because their sums may be different NaNs.
void AttentionColumns::storeScalars(const State &state, int64_t query) {
  auto isFirst =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, part, index(0));
  auto branch = scf::IfOp::create(builder, isFirst, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  memref::StoreOp::create(builder, state.maxima[query], buffers.maxima,
                          ValueRange{warpInBlock, unclampedRows[query]});
  memref::StoreOp::create(builder, state.sums[query], buffers.sums,
                          ValueRange{warpInBlock, unclampedRows[query]});
}

/// Stores partial results for the loop that combines the results of the warps.
void AttentionColumns::store(const State &state) {
  for (int64_t query = 0; query < countRows(); ++query) {
    OpBuilder::InsertionGuard guard(builder);
    enterRow(query);
    Value row = unclampedRows[query];
    storeScalars(state, query);
    forEachResult(state, query, [&](Value first, ArrayRef<Value> products) {
      int64_t count = std::min<int64_t>(products.size(), kStoreElements);
      for (size_t begin = 0; begin < products.size(); begin += count) {
        Value vector = vector::FromElementsOp::create(
            builder, VectorType::get(count, builder.getF32Type()),
            products.slice(begin, count));
        vector::StoreOp::create(builder, vector, buffers.products,
                                ValueRange{warpInBlock, row, add(first, begin)},
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(count * kAccumulatorBytes));
      }
    });
  }
}

/// Finishes queries whose keys all belong to one warp.
void AttentionColumns::finish(const State &state) {
  finishRows(
      state.maxima, state.sums, [&](const RowValues &all, int64_t query) {
        forEachResult(state, query, [&](Value first, ArrayRef<Value> products) {
          finishColumns(all, query, first, products);
        });
      });
}

void AttentionColumns::buildBlock(Value block) {
  findQueries(block);
  State state = stream();
  if (shape.hasPartialResults())
    store(state);
  else
    finish(state);
}

void AttentionColumns::build(Value thread) {
  assignThread(thread);
  findLength();
  findWholeSteps();
  findValueLoads();
  if (shape.copiesKeys)
    copies = findCopies(thread);
  else if (shape.keyStages > 0)
    chunks = findChunks(thread);
  Value first = div(warp, shape.warpsPerBlock);
  int64_t blocks = shape.getBlocks(),
          stride = shape.warps / shape.warpsPerBlock;
  OpBuilder::InsertionGuard guard(builder);
  if (blocks == stride)
    return buildBlock(first);
  auto loop = scf::ForOp::create(builder, first, index(blocks), index(stride));
  builder.setInsertionPointToStart(loop.getBody());
  buildBlock(loop.getInductionVar());
}

void ark::buildAttentionColumns(ImplicitLocOpBuilder &builder,
                                const AttentionOps &attention,
                                const AttentionShape &shape,
                                const AttentionBuffers &buffers, Value thread) {
  AttentionColumns(builder, attention, shape, buffers).build(thread);
}
