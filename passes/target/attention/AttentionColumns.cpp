//===- AttentionColumns.cpp - Attention with queries as columns -----------===//

#include "passes/target/attention/AttentionThreadRows.h"
#include "passes/target/attention/PositionMask.h"
#include "passes/target/support/Bodies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Elements of the widest store of results.
static constexpr int64_t kResultElements = 8;

namespace {
/// Online softmax of a warp for a block of queries. The first product
/// multiplies keys by queries, and the second product multiplies values by
/// exponentials, so that queries are the columns of both results. A thread
/// holds the scores of one query for each instruction, and the exponentials in
/// the registers in which the second product reads them.
///
/// Keys and queries use the same permuted order of the depth, the order in
/// which threads load it, and values and exponentials the same order of keys.
/// The columns of values are permuted as well: a thread loads neighbouring
/// columns, each of which belongs to another instruction.
///
/// Steps whose keys all exist and are admitted for all queries come first. If
/// every warp reads all keys, all threads load the keys and values of such a
/// step to registers, and store them to one of two stages in shared memory,
/// while loads of the next step are in flight. A row of a stage ends with the
/// bytes of one load, so that eight threads that read eight rows reach all
/// banks.
class ColumnBuilder : public AttentionThreadRows {
public:
  using AttentionThreadRows::AttentionThreadRows;
  void build(Value thread);

private:
  /// The values that the loop carries: the maximum scores of the thread's
  /// queries, its partial sums of exponentials, and the accumulators of the
  /// weighted sums of values: a vector for each query and instruction.
  struct State {
    SmallVector<Value> maxima, sums, products;

    SmallVector<Value> flatten() const;
    void assign(ValueRange all, int64_t queries);
  };
  /// A load of a row of values, in which each thread loads neighbouring
  /// columns: the first column of the first thread, and the number of columns
  /// of a thread.
  struct ValueLoad {
    int64_t begin, columns;
  };
  /// The memory from which a step reads keys and values, and the rows of the
  /// first key and of its value.
  struct Source {
    Value keys, values, firstKey, firstValue;
  };
  /// The thread's keys of a step: the rows of the source that it multiplies by
  /// queries, the rows of the values of its scores, and the keys of its scores.
  /// Keys beyond the last key are clamped. `exists` has an i1 for each key of
  /// the scores, which is null if all keys of the step exist.
  struct Keys {
    SmallVector<Value> rows, ofValues, ofScores, exists;
  };
  /// A load of a thread for a stage: the row among the keys of the step, the
  /// column, and the row of the stage.
  struct Chunk {
    Value buffer, row, column, target;
  };

  int64_t countRows() const override { return shape.queryColumns; }
  int64_t getRowDistance() const override { return shape.mma.getN(); }
  SmallVector<int64_t> getRowSharing() const override {
    return getAcc().getSharingDistances(1);
  }
  /// Returns the instructions of a step along the keys.
  int64_t getStepTiles() const {
    return shape.getStepKeys() / shape.mma.getM();
  }
  /// Returns the instructions along the columns of the values.
  int64_t getDepthTiles() const { return shape.depth / shape.mma.getM(); }
  /// Returns the number of a thread's elements of an operand.
  int64_t getElements() const { return getLhs().getExtentPerThread(1); }
  VectorType getAccumulatorType() {
    return VectorType::get({instruction->getNumAccumulators()},
                           builder.getF32Type());
  }

  void assignThread(Value thread);
  void findValueLoads();
  void findQueries(Value block);
  void findWholeSteps();
  Keys findKeys(const Source &source, Value first);
  Value multiply(ArrayRef<Value> lhs, ArrayRef<Value> rhs, Value accumulators);
  SmallVector<SmallVector<Value>> getScores(const Source &source,
                                            const Keys &keys);
  Words loadValues(Value buffer, Value row, Value exists,
                   const ValueLoad &valueLoad);
  Words roundWeights(ArrayRef<Value> exponentials);
  void addValues(State &state, const Source &source, const Keys &keys,
                 ArrayRef<SmallVector<Value>> exponentials);
  void step(State &state, const Source &source, Value first);
  SmallVector<Chunk> findChunks(Value thread);
  SmallVector<Value> loadStage(Value first);
  void storeStage(ValueRange loaded, Value stage);
  void createSteps(State &state, Value begin, Value end);
  void createStagedSteps(State &state, Value end);
  State stream();
  void buildBlock(Value block);
  SmallVector<Value> getColumns(const State &state, int64_t query,
                                int64_t loadIndex, int64_t element,
                                int64_t count);
  void forEachResult(
      const State &state, int64_t query,
      function_ref<void(Value first, ArrayRef<Value> products)> visit);
  void storeScalars(const State &state, int64_t query);
  void store(const State &state);
  void finish(const State &state);

  SmallVector<ValueLoad> valueLoads;
  SmallVector<Chunk> chunks;
  Value warpInBlock;
  /// The end of the steps whose keys all exist and are admitted by `mask` for
  /// all queries, or null if these are all steps.
  Value wholeEnd;
  std::optional<PositionMask> mask;
  /// True in these steps.
  bool isWhole = false;
  /// The thread's position among the rows and columns of operands, and among
  /// the threads that share a row.
  Value position, part;
  /// The words of each query, by load.
  SmallVector<SmallVector<Words>> queries;
};
} // namespace

SmallVector<Value> ColumnBuilder::State::flatten() const {
  SmallVector<Value> all(maxima.begin(), maxima.end());
  llvm::append_range(all, sums);
  llvm::append_range(all, products);
  return all;
}

void ColumnBuilder::State::assign(ValueRange all, int64_t queries) {
  maxima = llvm::to_vector_of<Value>(all.take_front(queries));
  sums = llvm::to_vector_of<Value>(all.slice(queries, queries));
  products = llvm::to_vector_of<Value>(all.drop_front(2 * queries));
}

//===----------------------------------------------------------------------===//
// Threads and loads
//===----------------------------------------------------------------------===//

void ColumnBuilder::assignThread(Value thread) {
  assignThreads(thread);
  warp = rem(warp, shape.warps);
  Location loc = builder.getLoc();
  position = getLhs().createThreadIndex(builder, loc, inWarp, /*dim=*/0);
  part = getLhs().createThreadIndex(builder, loc, inWarp, /*dim=*/1);
  warpInBlock = rem(warp, shape.warpsPerBlock);
}

void ColumnBuilder::findValueLoads() {
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
void ColumnBuilder::findQueries(Value block) {
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

void ColumnBuilder::findWholeSteps() {
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

ColumnBuilder::Keys ColumnBuilder::findKeys(const Source &source, Value first) {
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

/// Loads neighbouring columns of the values of a key: words of two columns, or
/// one word if there is only one column. Words of keys beyond the last key
/// become zero, because zero times the loaded value may be NaN.
AttentionTiles::Words ColumnBuilder::loadValues(Value buffer, Value row,
                                                Value exists,
                                                const ValueLoad &valueLoad) {
  int64_t columns = valueLoad.columns;
  Value column = add(mul(position, columns), valueLoad.begin);
  Value elements =
      vector::LoadOp::create(builder, VectorType::get(columns, element), buffer,
                             ValueRange{row, column}, /*nontemporal=*/false,
                             llvm::MaybeAlign(columns * kElementBits / 8));
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
Value ColumnBuilder::multiply(ArrayRef<Value> lhs, ArrayRef<Value> rhs,
                              Value accumulators) {
  SmallVector<Value> sums;
  for (int64_t i = 0; i < instruction->getNumAccumulators(); ++i)
    sums.push_back(vector::ExtractOp::create(builder, accumulators, i));
  sums = instruction->multiply(
      builder, element, getLhs().sortWords(lhs, /*depth=*/1),
      instruction->getRhs().sortWords(rhs, /*depth=*/0), sums);
  return vector::FromElementsOp::create(builder, getAccumulatorType(), sums);
}

/// Returns the scores of each of the thread's queries.
SmallVector<SmallVector<Value>> ColumnBuilder::getScores(const Source &source,
                                                         const Keys &keys) {
  Value zero = arith::ConstantOp::create(
      builder, builder.getZeroAttr(getAccumulatorType()));
  int64_t words = getElements() / 2;
  SmallVector<SmallVector<Value>> scores(countRows());
  for (Value row : keys.rows) {
    SmallVector<Value> accumulators(countRows(), zero);
    SmallVector<Words> loaded;
    for (int64_t i = 0; i < getKeyLoads(); ++i)
      loaded.push_back(load(source.keys, row,
                            mul(add(part, i * getQuadThreads()), shape.width),
                            getQuadThreads()));
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
ColumnBuilder::roundWeights(ArrayRef<Value> exponentials) {
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
void ColumnBuilder::addValues(State &state, const Source &source,
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
        values.push_back(loadValues(source.values, keys.ofValues[first + i],
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

void ColumnBuilder::step(State &state, const Source &source, Value first) {
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
// Stages
//===----------------------------------------------------------------------===//

/// Divides the keys and the values of a stage among the threads. Threads that
/// are left over copy what other threads copy, too.
SmallVector<ColumnBuilder::Chunk> ColumnBuilder::findChunks(Value thread) {
  SmallVector<Chunk> found;
  int64_t keys = shape.getStepKeys(), perRow = shape.depth / shape.width;
  int64_t count = keys * perRow, threads = shape.getThreads(), distance = 0;
  for (Value buffer : {attention.key, attention.value}) {
    for (int64_t first = 0; first < count; first += threads) {
      Value number = add(thread, first);
      if (first + threads > count)
        number = rem(number, count);
      Value row = div(number, perRow);
      found.push_back({buffer, row, mul(rem(number, perRow), shape.width),
                       add(row, distance)});
    }
    distance += keys;
  }
  return found;
}

/// Loads this thread's chunks of the keys from `first` on. Rows beyond the last
/// key are copies of the last key, which no step reads.
SmallVector<Value> ColumnBuilder::loadStage(Value first) {
  Value last = arith::SubIOp::create(builder, length, index(1));
  return llvm::map_to_vector(chunks, [&](const Chunk &chunk) -> Value {
    Value row = arith::MinSIOp::create(builder, add(first, chunk.row), last);
    return vector::LoadOp::create(
        builder, VectorType::get(shape.width, element), chunk.buffer,
        ValueRange{row, chunk.column}, /*nontemporal=*/false,
        llvm::MaybeAlign(shape.width * kElementBits / 8));
  });
}

/// Stores chunks to the stage that begins at row `stage`.
void ColumnBuilder::storeStage(ValueRange loaded, Value stage) {
  for (auto [chunk, elements] : llvm::zip(chunks, loaded))
    vector::StoreOp::create(builder, elements, buffers.stages,
                            ValueRange{add(stage, chunk.target), chunk.column},
                            /*nontemporal=*/false,
                            llvm::MaybeAlign(shape.width * kElementBits / 8));
}

/// Creates the steps up to `end`, which all warps execute together. The barrier
/// ends the stores of this stage, and the reads of the other one, which the
/// next step replaces.
void ColumnBuilder::createStagedSteps(State &state, Value end) {
  // The previous loop may have left a stage that other warps read.
  gpu::BarrierOp::create(builder);
  int64_t keys = shape.getStepKeys();
  auto exists =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, end, index(0));
  auto type = VectorType::get(shape.width, element);
  auto first = scf::IfOp::create(
      builder, exists,
      [&](OpBuilder &nested, Location loc) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToEnd(nested.getInsertionBlock());
        scf::YieldOp::create(builder, loadStage(index(0)));
      },
      [&](OpBuilder &nested, Location loc) {
        Value zeros =
            arith::ConstantOp::create(nested, loc, nested.getZeroAttr(type));
        scf::YieldOp::create(nested, loc,
                             SmallVector<Value>(chunks.size(), zeros));
      });
  SmallVector<Value> carried = state.flatten();
  llvm::append_range(carried, first.getResults());
  carried.push_back(index(0));
  auto loop = scf::ForOp::create(builder, index(0), end, index(keys), carried);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    ValueRange values = loop.getRegionIterArgs();
    Value stage = values.back();
    state.assign(values.drop_back(chunks.size() + 1), countRows());
    storeStage(values.drop_back().take_back(chunks.size()), stage);
    SmallVector<Value> next =
        loadStage(add(loop.getInductionVar(), index(keys)));
    gpu::BarrierOp::create(builder);
    step(state,
         {buffers.stages, buffers.stages, stage, add(stage, index(keys))},
         loop.getInductionVar());
    SmallVector<Value> yielded = state.flatten();
    llvm::append_range(yielded, next);
    yielded.push_back(arith::SubIOp::create(builder, index(2 * keys), stage));
    scf::YieldOp::create(builder, yielded);
  }
  state.assign(loop.getResults().drop_back(chunks.size() + 1), countRows());
}

//===----------------------------------------------------------------------===//
// A block
//===----------------------------------------------------------------------===//

/// Creates the steps of the warp between `begin` and `end`, which read keys and
/// values from their memory.
void ColumnBuilder::createSteps(State &state, Value begin, Value end) {
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

ColumnBuilder::State ColumnBuilder::stream() {
  State state;
  state.maxima.assign(countRows(), getLeast());
  state.sums.assign(countRows(), number(0));
  state.products.assign(
      countRows() * getDepthTiles(),
      arith::ConstantOp::create(builder,
                                builder.getZeroAttr(getAccumulatorType())));
  Value end = wholeEnd ? wholeEnd : length;
  isWhole = true;
  if (shape.keyStages > 0)
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
SmallVector<Value> ColumnBuilder::getColumns(const State &state, int64_t query,
                                             int64_t loadIndex, int64_t element,
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
void ColumnBuilder::forEachResult(
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
void ColumnBuilder::storeScalars(const State &state, int64_t query) {
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
void ColumnBuilder::store(const State &state) {
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
void ColumnBuilder::finish(const State &state) {
  finishRows(
      state.maxima, state.sums, [&](const RowValues &all, int64_t query) {
        forEachResult(state, query, [&](Value first, ArrayRef<Value> products) {
          finishColumns(all, query, first, products);
        });
      });
}

void ColumnBuilder::buildBlock(Value block) {
  findQueries(block);
  State state = stream();
  if (shape.hasPartialResults())
    store(state);
  else
    finish(state);
}

void ColumnBuilder::build(Value thread) {
  assignThread(thread);
  findLength();
  findWholeSteps();
  findValueLoads();
  if (shape.keyStages > 0)
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
  ColumnBuilder(builder, attention, shape, buffers).build(thread);
}
