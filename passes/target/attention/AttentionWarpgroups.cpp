//===- AttentionWarpgroups.cpp - Attention loop for warpgroups ------------===//

#include "passes/target/attention/PositionMask.h"
#include "passes/target/attention/ThreadExchange.h"
#include "passes/target/attention/WarpgroupStages.h"
#include "passes/target/matrix_units/SwizzledStage.h"
#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/support/MappedLoop.h"

#include "lib/backend/GpuInstructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kElementBytes = 2;

namespace {
/// Online softmax of a warpgroup for 64 rows. The exponentials stay in the
/// registers of the first product's accumulators. Warpgroups that share the
/// keys of a block exchange their partial results after the last stage.
class WarpgroupLoopBuilder : public WarpgroupStages {
public:
  using WarpgroupStages::WarpgroupStages;
  void build(Value thread, Value memory);

private:
  /// The values that the loop carries: the maximum scores of the rows, the
  /// thread's partial sums of exponentials, and the accumulators of the
  /// weighted sums of values, as one struct.
  struct State {
    SmallVector<Value> maxima, sums;
    Value products;

    SmallVector<Value> flatten() const;
    void assign(ValueRange all, int64_t rows);
  };

  int64_t getPassTiles() const {
    return shape.getPassKeys() / shape.getTileColumns();
  }
  bool sharesKeys() const { return shape.keyGroups > 1; }
  void waitForProducts();
  Value createZeros(int64_t columns);
  Value move(Value descriptor, Value offset, int64_t bytes);
  Value findWholeSteps();
  SmallVector<SmallVector<Value>> getScores(Value stage, Value first,
                                            int64_t begin);
  Value clamp(Value key);
  void addValues(State &state, Value stage, int64_t begin,
                 ArrayRef<SmallVector<Value>> exponentials);
  void scale(State &state, ArrayRef<Value> factors);
  void step(State &state, Value stage, Value first);
  SmallVector<Value> createSteps(Value begin, Value end,
                                 ArrayRef<Value> carried);
  State stream();
  Value getPartials(Value keyGroup);
  void mergePartials(State &state, Value keyGroup);
  void combineGroups(State &state);
  void finish(const State &state);

  std::optional<PositionMask> mask;
  /// True in steps whose keys all exist and are admitted by `mask`.
  bool isWhole = false;
};
} // namespace

SmallVector<Value> WarpgroupLoopBuilder::State::flatten() const {
  SmallVector<Value> all(maxima);
  llvm::append_range(all, sums);
  all.push_back(products);
  return all;
}

void WarpgroupLoopBuilder::State::assign(ValueRange all, int64_t rows) {
  maxima = llvm::to_vector_of<Value>(all.take_front(rows));
  sums = llvm::to_vector_of<Value>(all.slice(rows, rows));
  products = all[2 * rows];
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

/// Waits for all products that have been issued.
void WarpgroupLoopBuilder::waitForProducts() {
  NVVM::WgmmaGroupSyncAlignedOp::create(builder);
  NVVM::WgmmaWaitGroupSyncOp::create(builder, 0);
}

/// Creates zeroed accumulators.
Value WarpgroupLoopBuilder::createZeros(int64_t columns) {
  int64_t count =
      columns / shape.getTileColumns() * instruction->getNumAccumulators();
  return LLVM::ZeroOp::create(
      builder, LLVM::LLVMStructType::getLiteral(
                   builder.getContext(),
                   SmallVector<Type>(count, builder.getF32Type())));
}

/// Advances a descriptor by a stage's offset in descriptor units, an i64, and
/// by `bytes`.
Value WarpgroupLoopBuilder::move(Value descriptor, Value offset,
                                 int64_t bytes) {
  auto add = [&](Value number, Value distance) {
    return arith::AddIOp::create(builder, number, distance).getResult();
  };
  if (offset)
    descriptor = add(descriptor, offset);
  return add(descriptor, arith::ConstantIntOp::create(
                             builder, bytes / kDescriptorUnit, 64));
}

/// Returns the thread's scores of the keys from `begin` of the stage on, by
/// row.
SmallVector<SmallVector<Value>>
WarpgroupLoopBuilder::getScores(Value stage, Value first, int64_t begin) {
  int64_t queryRows = shape.getBlocks() * shape.getBlockRows();
  Value accumulators = createZeros(shape.getPassKeys());
  NVVM::WgmmaFenceAlignedOp::create(builder);
  for (int64_t k = 0; k < shape.depth; k += shape.mma.getK()) {
    int64_t panel = k / kPanelElements,
            inRow = k % kPanelElements * kElementBytes;
    Value a =
        move(queries, Value(), panel * queryRows * kStageRowBytes + inRow);
    Value b =
        move(keys, stage, panel * kPanelBytes + begin * kStageRowBytes + inRow);
    accumulators =
        instruction->multiply(builder, element, a, b, accumulators).front();
  }
  waitForProducts();
  SmallVector<SmallVector<Value>> scores(getRowsPerThread());
  for (int64_t tile = 0; tile < getPassTiles(); ++tile)
    for (int64_t threadRow = 0; threadRow < getRowsPerThread(); ++threadRow)
      for (int64_t next = 0; next < getColumnsPerThread(); ++next) {
        int64_t position = tile * instruction->getNumAccumulators() +
                           threadRow * getColumnsPerThread() + next;
        Value key = add(add(first, firstKey),
                        begin + tile * shape.getTileColumns() + next);
        Value score =
            LLVM::ExtractValueOp::create(builder, accumulators, position);
        scores[threadRow].push_back(
            isWhole ? finishScore(score, rowIndices[threadRow], key, Value(),
                                  mask ? mask->getSelect() : arith::SelectOp())
                    : finishScore(score, rowIndices[threadRow], clamp(key),
                                  isLess(key, length)));
      }
  return scores;
}

/// Returns the index of a key whose mask may be loaded.
Value WarpgroupLoopBuilder::clamp(Value key) {
  if (!attention.op.getMask())
    return key;
  Value last = arith::SubIOp::create(builder, length, index(1));
  return arith::MinSIOp::create(builder, key, last);
}

/// Multiplies the accumulators of each row by a factor.
void WarpgroupLoopBuilder::scale(State &state, ArrayRef<Value> factors) {
  auto type = cast<LLVM::LLVMStructType>(state.products.getType());
  Value scaled = LLVM::UndefOp::create(builder, type);
  for (int64_t i = 0, e = type.getBody().size(); i < e; ++i) {
    Value product = LLVM::ExtractValueOp::create(builder, state.products, i);
    Value factor =
        factors[i % instruction->getNumAccumulators() / getColumnsPerThread()];
    scaled = LLVM::InsertValueOp::create(
        builder, scaled, arith::MulFOp::create(builder, product, factor), i);
  }
  state.products = scaled;
}

/// Issues products += exponentials * values for the keys from `begin` of the
/// stage on.
void WarpgroupLoopBuilder::addValues(
    State &state, Value stage, int64_t begin,
    ArrayRef<SmallVector<Value>> exponentials) {
  // The words of a row of all instructions, each with two neighbouring keys.
  SmallVector<Words> rows;
  for (ArrayRef<Value> row : exponentials)
    rows.push_back(round(row));
  NVVM::WgmmaFenceAlignedOp::create(builder);
  for (int64_t k = 0; k < shape.getPassKeys(); k += shape.mma.getK()) {
    Words words;
    for (int64_t tile = k / shape.getTileColumns(),
                 end = (k + shape.mma.getK()) / shape.getTileColumns();
         tile < end; ++tile)
      for (const Words &row : rows)
        words.push_back(row[tile]);
    Value b = move(values, stage, (begin + k) * kStageRowBytes);
    state.products = instruction
                         ->multiply(builder, element, words, b, state.products,
                                    {/*lhs=*/false, /*rhs=*/true})
                         .front();
  }
}

/// The products of a pass and the scores of the next pass run at the same time:
/// the wait for the scores includes the products.
void WarpgroupLoopBuilder::step(State &state, Value stage, Value first) {
  Value offset = arith::IndexCastOp::create(builder, builder.getI64Type(),
                                            div(stage, kDescriptorUnit));
  for (int64_t begin = 0; begin < shape.getGroupKeys();
       begin += shape.getPassKeys()) {
    SmallVector<SmallVector<Value>> scores = getScores(offset, first, begin);
    scale(state, updateSoftmax(state.maxima, state.sums, scores));
    addValues(state, offset, begin, scores);
  }
  waitForProducts();
}

//===----------------------------------------------------------------------===//
// All keys
//===----------------------------------------------------------------------===//

/// Creates the end of the steps whose keys all exist and are admitted for all
/// rows.
Value WarpgroupLoopBuilder::findWholeSteps() {
  mask = PositionMask::find(attention.op);
  Value keys = length;
  if (mask) {
    Value common = mask->createCommonKeys(builder, builder.getLoc());
    common = arith::MaxSIOp::create(builder, common, index(0));
    keys = arith::MinSIOp::create(builder, keys, common);
  }
  return mul(div(keys, shape.getStageKeys()), shape.getStageKeys());
}

/// Creates a loop over steps. `carried` are the values of a state, the offset
/// of the first step's stage, and that of the free stage. Returns the values
/// after the loop. Without a mask, the keys after the last whole step are
/// the final step.
SmallVector<Value> WarpgroupLoopBuilder::createSteps(Value begin, Value end,
                                                     ArrayRef<Value> carried) {
  int64_t ahead = shape.stages - 1, bytes = shape.getStageBytes();
  int64_t keys = shape.getStageKeys();
  auto loop = scf::ForOp::create(builder, begin, end, index(keys), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  State state;
  state.assign(loop.getRegionIterArgs(), getRowsPerThread());
  ValueRange offsets = loop.getRegionIterArgs().take_back(2);
  Value first = loop.getInductionVar();
  // After this wait, no warpgroup reads the previous stage any more.
  waitForStageCopies(builder, shape.stages - 2);
  if (isWhole || mask)
    copyStepIfExists(add(first, ahead * keys), /*stage=*/offsets[1]);
  step(state, offsets[0], first);
  SmallVector<Value> next = state.flatten();
  for (Value offset : offsets) {
    Value after = add(offset, bytes);
    Value isEnd = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                        after, index(shape.stages * bytes));
    next.push_back(arith::SelectOp::create(builder, isEnd, index(0), after));
  }
  scf::YieldOp::create(builder, next);
  return SmallVector<Value>(loop.getResults());
}

WarpgroupLoopBuilder::State WarpgroupLoopBuilder::stream() {
  int64_t ahead = shape.stages - 1, bytes = shape.getStageBytes();
  int64_t keys = shape.getStageKeys();
  copyQueries();
  for (int64_t i = 0; i < ahead; ++i)
    copyStepIfExists(index(i * keys), index(i * bytes));
  State state;
  state.maxima.assign(getRowsPerThread(), getLeast());
  state.sums.assign(getRowsPerThread(), number(0));
  state.products = createZeros(shape.depth);
  // The stage of this step, and the free one, which was read last.
  SmallVector<Value> carried = state.flatten();
  carried.append({index(0), index(ahead * bytes)});
  Value end = findWholeSteps();
  isWhole = true;
  carried = createSteps(index(0), end, carried);
  isWhole = false;
  carried = createSteps(end, length, carried);
  state.assign(carried, getRowsPerThread());
  combineSums(state.sums);
  return state;
}

//===----------------------------------------------------------------------===//
// Partial results
//===----------------------------------------------------------------------===//

/// Returns the address of the partial results of a warpgroup. The partial
/// results overwrite the stages. Warpgroup 0 of a block keeps its results in
/// registers.
Value WarpgroupLoopBuilder::getPartials(Value keyGroup) {
  int64_t bytes =
      getExchangeBytes(shape.getPartialValues(), shape.getGroupThreads());
  Value before = add(mul(add(keyGroup, -1), shape.getBlocks()), block);
  return createOffset(builder, shared,
                      add(mul(before, bytes), shape.getQueryBytes()));
}

/// Adds the partial results of another warpgroup to those of the first one.
void WarpgroupLoopBuilder::mergePartials(State &state, Value keyGroup) {
  SmallVector<Value> others =
      loadFromExchange(builder, getPartials(keyGroup), inGroup,
                       shape.getGroupThreads(), shape.getPartialValues());
  ArrayRef<Value> rest(others);
  SmallVector<std::pair<Value, Value>> factors;
  int64_t rows = getRowsPerThread();
  for (int64_t row = 0; row < rows; ++row)
    factors.push_back(mergeSoftmax(state.maxima[row], state.sums[row],
                                   rest[row], rest[rows + row]));
  rest = rest.drop_front(2 * rows);
  auto type = cast<LLVM::LLVMStructType>(state.products.getType());
  Value merged = LLVM::UndefOp::create(builder, type);
  for (auto [i, other] : llvm::enumerate(rest)) {
    auto [own, factor] =
        factors[i % instruction->getNumAccumulators() / getColumnsPerThread()];
    Value product = arith::MulFOp::create(
        builder, LLVM::ExtractValueOp::create(builder, state.products, i), own);
    merged = LLVM::InsertValueOp::create(
        builder, merged, math::FmaOp::create(builder, other, factor, product),
        i);
  }
  state.products = merged;
}

/// Adds the partial results of the warpgroups that share the keys of a block.
/// The results of the first of these warpgroups are then complete.
void WarpgroupLoopBuilder::combineGroups(State &state) {
  // After this barrier, no warpgroup reads a stage any more.
  gpu::BarrierOp::create(builder);
  // Warpgroups [0, blocks) have the first share of the keys; the following ones
  // have the other shares.
  Value group = div(warp, shape.mma.getWarps());
  auto isOther = arith::CmpIOp::create(
      builder, arith::CmpIPredicate::ult, add(group, -shape.getBlocks()),
      index(shape.getBlocks() * (shape.keyGroups - 1)));
  {
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, isOther, /*withElse=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> partials(state.maxima);
    llvm::append_range(partials, state.sums);
    for (int64_t i = 0, end = shape.getPartialValues() - partials.size();
         i < end; ++i)
      partials.push_back(
          LLVM::ExtractValueOp::create(builder, state.products, i));
    storeForExchange(builder, getPartials(keyGroup), inGroup,
                     shape.getGroupThreads(), partials);
  }
  gpu::BarrierOp::create(builder);
  for (int64_t other = 1; other < shape.keyGroups; ++other)
    mergePartials(state, index(other));
}

/// Builds the row ops. A thread has pairs of neighbouring columns.
void WarpgroupLoopBuilder::finish(const State &state) {
  int64_t columns = shape.getTileColumns();
  OpBuilder::InsertionGuard guard(builder);
  if (shape.getThreads() != shape.getBlocks() * shape.getGroupThreads()) {
    Value group = div(warp, shape.mma.getWarps());
    auto branch =
        scf::IfOp::create(builder, isLess(group, index(shape.getBlocks())),
                          /*withElse=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  finishRows(
      state.maxima, state.sums, [&](const RowValues &all, int64_t threadRow) {
        for (int64_t tile = 0; tile < shape.depth / columns; ++tile) {
          SmallVector<Value> products;
          for (int64_t next = 0; next < getColumnsPerThread(); ++next)
            products.push_back(LLVM::ExtractValueOp::create(
                builder, state.products,
                tile * instruction->getNumAccumulators() +
                    threadRow * getColumnsPerThread() + next));
          finishColumns(all, threadRow,
                        add(mul(inQuad, getColumnsPerThread()), tile * columns),
                        products);
        }
      });
}

void WarpgroupLoopBuilder::build(Value thread, Value memory) {
  findThreads(thread);
  findLength();
  findOperands(memory);
  State state = stream();
  // Values that depend on the thread would occupy registers in the loop.
  Value narrow =
      getGpuInstructions(builder).createOpaqueThread(builder, builder.getLoc());
  findThreads(
      arith::IndexCastUIOp::create(builder, builder.getIndexType(), narrow));
  recomputeAddresses();
  if (sharesKeys())
    combineGroups(state);
  finish(state);
}

void ark::buildAttentionWarpgroups(ImplicitLocOpBuilder &builder,
                                   const AttentionOps &attention,
                                   const AttentionShape &shape, Value memory,
                                   Value thread) {
  WarpgroupLoopBuilder(builder, attention, shape, AttentionBuffers())
      .build(thread, memory);
}
