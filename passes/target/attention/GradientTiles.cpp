//===- GradientTiles.cpp - Operands of gradients of attention -------------===//

#include "passes/target/attention/GradientTiles.h"

#include "passes/target/attention/AttentionThreadRows.h"
#include "passes/target/memory_access/WideLoad.h"

#include "lib/backend/GpuInstructions.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Elements of a load.
static constexpr int64_t kWidth = kLoadBytes / 2;
/// Loads along the depth that compilers may move ahead of each other, if left
/// operands are loaded in each step.
static constexpr int64_t kLoadsBetweenFences = 2;

int64_t GradientTiles::countLoads() const {
  return llvm::divideCeil(shape.depth, getQuadThreads() * kWidth);
}

//===----------------------------------------------------------------------===//
// Threads and extents
//===----------------------------------------------------------------------===//

void GradientTiles::assignThreads() {
  Value thread = arith::IndexCastUIOp::create(
      builder, builder.getIndexType(),
      getGpuInstructions(builder).createOpaqueThread(builder,
                                                     builder.getLoc()));
  unclampedRows.clear();
  rows.clear();
  Value warp =
      arith::DivUIOp::create(builder, thread, index(shape.getWarpSize()));
  Value inWarp =
      arith::RemUIOp::create(builder, thread, index(shape.getWarpSize()));
  Location loc = builder.getLoc();
  quad = instruction->getAcc().createThreadIndex(builder, loc, inWarp, 0);
  inQuad = instruction->getAcc().createThreadIndex(builder, loc, inWarp, 1);
  warpInBlock =
      arith::RemUIOp::create(builder, warp, index(shape.warpsPerBlock));
  Value block =
      arith::DivUIOp::create(builder, warp, index(shape.warpsPerBlock));
  Value first = add(mul(block, shape.getBlockRows()), quad);
  for (int64_t i = 0; i < getRowsPerThread(); ++i) {
    Value row = add(first, i * instruction->getAcc().getBlockExtent(0));
    unclampedRows.push_back(row);
    rows.push_back(shape.hasSurplusRows()
                       ? getLesser(row, add(rowCount, index(-1)))
                       : row);
  }
}

void GradientTiles::findColumnLoads() {
  int64_t begin = 0;
  while (begin < shape.depth) {
    int64_t columns = std::min<int64_t>(
        kWidth,
        llvm::bit_floor<uint64_t>((shape.depth - begin) / getNumQuads()));
    columnLoads.push_back({begin, columns});
    begin += columns * getNumQuads();
  }
}

void GradientTiles::findExtents() {
  auto getExtent = [&](OpOperand &operand, unsigned loop) -> Value {
    for (auto [dim, expr] : llvm::enumerate(op.getMap(operand).getResults()))
      if (expr.isFunctionOfDim(loop))
        return getValueOrCreateConstantIndexOp(
            builder, builder.getLoc(),
            memref::getMixedSize(builder, builder.getLoc(), operand.get(),
                                 dim));
    return index(1);
  };
  OpOperand &right = op.getRightMutable();
  rowCount = getExtent(op.getGradientMutable(), /*loop=*/0);
  others = getExtent(right, op.getOtherLoop());
  if (op.getNumOtherLoops() > 1)
    groups = getExtent(right, op.getNumRowLoops());
}

Value GradientTiles::makeOpaque(Value number) {
  Location loc = builder.getLoc();
  Value narrow =
      arith::IndexCastOp::create(builder, builder.getI32Type(), number);
  Value opaque =
      getGpuInstructions(builder).createOpaqueNumber(builder, loc, narrow);
  return arith::IndexCastUIOp::create(builder, builder.getIndexType(), opaque);
}

/// Keeps compilers from moving later loads before this point, where registers
/// would have to hold the loaded values.
void GradientTiles::fenceLoads() {
  Value number = arith::ConstantIntOp::create(builder, 0, 64);
  getGpuInstructions(builder).createLoadFence(builder, builder.getLoc(),
                                              number);
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Returns the indices of the element of an operand at `row`, at `other`, one
/// of the others, and at `last`, an index of the last loop. An index is null if
/// the map lacks its loop.
SmallVector<Value> GradientTiles::getIndices(OpOperand &operand, Value row,
                                             const Step &step, Value other,
                                             Value last) {
  SmallVector<Value> indices;
  for (AffineExpr expr : op.getMap(operand).getResults()) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop)
      indices.push_back(index(0));
    else if (loop.getPosition() < op.getNumRowLoops())
      indices.push_back(row);
    else if (loop.getPosition() < op.getOtherLoop())
      indices.push_back(step.group);
    else
      indices.push_back(loop.getPosition() == op.getOtherLoop() ? other : last);
  }
  return indices;
}

Value GradientTiles::loadScalar(OpOperand &operand, Value row, const Step &step,
                                Value other) {
  return memref::LoadOp::create(builder, operand.get(),
                                getIndices(operand, row, step, other, Value()));
}

/// Loads neighbouring elements as words of two elements.
GradientTiles::Words GradientTiles::loadWords(Value buffer, ValueRange indices,
                                              int64_t elements) {
  Value loaded = vector::LoadOp::create(
      builder, VectorType::get(elements, element), buffer, indices,
      /*nontemporal=*/false, llvm::MaybeAlign(elements * 2));
  int64_t count = elements / 2;
  Value vector = vector::BitCastOp::create(
      builder, VectorType::get(count, builder.getI32Type()), loaded);
  Words words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(vector::ExtractOp::create(builder, vector, i));
  return words;
}

/// Loads the thread's share of a row along the depth. Words beyond the depth
/// are zero.
GradientTiles::Words GradientTiles::loadDepth(OpOperand &operand, Value row,
                                              const Step &step, Value other,
                                              int64_t loadIndex) {
  int64_t chunk = getQuadThreads() * kWidth;
  Value column = mul(add(inQuad, loadIndex * getQuadThreads()), kWidth);
  bool isWhole = (loadIndex + 1) * chunk <= shape.depth;
  Value inside =
      isWhole ? column : getLesser(column, index(shape.depth - kWidth));
  Words words = loadWords(
      operand.get(), getIndices(operand, row, step, other, inside), kWidth);
  if (isWhole)
    return words;
  Value zero = arith::ConstantIntOp::create(builder, 0, 32);
  Value exists = isLess(column, index(shape.depth));
  for (Value &word : words)
    word = arith::SelectOp::create(builder, exists, word, zero);
  return words;
}

SmallVector<GradientTiles::Words>
GradientTiles::loadLeft(OpOperand &operand, ArrayRef<Value> ofRows,
                        int64_t loadIndex, const Step &step) {
  return llvm::map_to_vector(ofRows, [&](Value row) {
    return loadDepth(operand, row, step, /*other=*/Value(), loadIndex);
  });
}

SmallVector<GradientTiles::Words>
GradientTiles::loadFactor(OpOperand &factor, const Step &step,
                          const ColumnLoad &columns) {
  Value column = add(mul(quad, columns.columns), columns.begin);
  SmallVector<Words> loaded;
  for (Value other : step.others)
    loaded.push_back(loadWords(
        factor.get(), getIndices(factor, /*row=*/Value(), step, other, column),
        columns.columns));
  return loaded;
}

//===----------------------------------------------------------------------===//
// Products of rows and others
//===----------------------------------------------------------------------===//

SmallVector<Value> GradientTiles::multiply(ArrayRef<Words> rowWords,
                                           ArrayRef<Value> column,
                                           ArrayRef<Value> accumulators) {
  SmallVector<Value> words;
  for (const Words &row : rowWords)
    llvm::append_range(words, row);
  return instruction->multiply(
      builder, element, instruction->getLhs().sortWords(words, /*depth=*/1),
      instruction->getRhs().sortWords(column, /*depth=*/0), accumulators);
}

void GradientTiles::findOthers(Step &step) {
  bool isWhole = isKnownMultiple(others, shape.getStepOthers());
  Value last = isWhole ? Value() : add(others, index(-1));
  for (int64_t tile = 0; tile < countTiles(); ++tile)
    for (int64_t next = 0; next < getColumnsPerThread(); ++next) {
      Value other = add(add(step.first, mul(inQuad, getColumnsPerThread())),
                        tile * instruction->getColumns() + next);
      step.exists.push_back(isWhole ? Value() : isLess(other, others));
      step.others.push_back(isWhole ? other : getLesser(other, last));
    }
}

GradientTiles::Pairs GradientTiles::compare(OpOperand &leftOperand,
                                            OpOperand &rightOperand,
                                            ArrayRef<SmallVector<Words>> kept,
                                            const Step &step) {
  bool isWhole = !step.exists.front();
  Value last = isWhole ? Value() : add(others, index(-1));
  SmallVector<SmallVector<Value>> tiles(
      countTiles(),
      SmallVector<Value>(instruction->getNumAccumulators(), number(0)));
  // Rows are opaque, so that compilers leave their loads in the loop. Outside
  // of the loop, registers would have to hold the loaded values.
  SmallVector<Value> opaqueRows;
  for (Value row : kept.empty() ? ArrayRef<Value>(rows) : ArrayRef<Value>())
    opaqueRows.push_back(makeOpaque(row));
  int64_t wordsPerRow = instruction->getLhs().getExtentPerThread(1) / 2;
  for (int64_t loadIndex = 0; loadIndex < countLoads(); ++loadIndex) {
    if (kept.empty() && loadIndex % kLoadsBetweenFences == 0)
      fenceLoads();
    SmallVector<Words> rowWords =
        kept.empty() ? loadLeft(leftOperand, opaqueRows, loadIndex, step)
                     : kept[loadIndex];
    for (auto [tile, own] : llvm::enumerate(tiles)) {
      Value other =
          add(add(step.first, quad), int64_t(tile) * instruction->getColumns());
      if (!isWhole)
        other = getLesser(other, last);
      Words words =
          loadDepth(rightOperand, /*row=*/Value(), step, other, loadIndex);
      for (int64_t first = 0; first < int64_t(words.size());
           first += wordsPerRow) {
        auto select = [&](const Words &all) {
          return Words(ArrayRef<Value>(all).slice(first, wordsPerRow));
        };
        own =
            multiply(llvm::map_to_vector(rowWords, select), select(words), own);
      }
    }
  }
  SmallVector<SmallVector<Value>> byRow(getRowsPerThread());
  for (ArrayRef<Value> tile : tiles)
    for (auto [i, row] : llvm::enumerate(byRow))
      llvm::append_range(
          row, tile.slice(i * getColumnsPerThread(), getColumnsPerThread()));
  return byRow;
}
GradientTiles::Words GradientTiles::round(ArrayRef<Value> numbers) {
  Words words;
  for (size_t first = 0; first < numbers.size(); first += 2) {
    SmallVector<Value> pair;
    for (Value wide : numbers.slice(first, 2))
      pair.push_back(arith::TruncFOp::create(builder, element, wide));
    Value both = vector::FromElementsOp::create(
        builder, VectorType::get({2}, element), pair);
    words.push_back(
        LLVM::BitcastOp::create(builder, builder.getI32Type(), both));
  }
  return words;
}
