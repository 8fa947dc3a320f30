//===- RowBuilder.cpp - Code of threads that compute rows -----------------===//

#include "passes/target/rowwise/RowBuilder.h"

#include "passes/kernel/KernelAbi.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/support/MappedLoop.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the loads of one poll, each of which occupies four registers.
static constexpr size_t kMaxPolledLoads = 12;

/// Upper bound of a thread's loads of one row: more would exceed its registers.
static constexpr int64_t kMaxLoads = 16;

//===----------------------------------------------------------------------===//
// Ops on rows
//===----------------------------------------------------------------------===//

static bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<OpTrait::ConstantLike>();
}

bool ark::dependsOnElementsAndConstants(linalg::GenericOp op,
                                        bool allowsIndices) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInits() != 1)
    return false;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value input : op.getInputs())
    if (!isa<ShapedType>(input.getType()))
      captured.insert(input);
  return llvm::all_of(captured, isConstant) &&
         llvm::all_of(op.getBlock()->without_terminator(),
                      [=](Operation &inner) {
                        return isMemoryEffectFree(&inner) &&
                               inner.getNumRegions() == 0 &&
                               (allowsIndices || !isa<linalg::IndexOp>(inner));
                      });
}

Operation *ark::getCombiner(linalg::GenericOp op) {
  if (op.getNumLoops() != 2 || op.getNumReductionLoops() != 1)
    return nullptr;
  Value out = op.getBlock()->getArguments().back();
  Value result = op.getBlock()->getTerminator()->getOperand(0);
  Operation *combiner = result.getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 || !out.hasOneUse() ||
      *out.getUsers().begin() != combiner ||
      !arith::getNeutralElement(combiner))
    return nullptr;
  return combiner;
}

bool ark::isScalarOp(linalg::GenericOp op) {
  return op.getNumLoops() == 1 && op.getNumParallelLoops() == 1;
}

bool ark::writesRow(linalg::GenericOp op, bool allowsIndices) {
  return dependsOnElementsAndConstants(op, allowsIndices) &&
         op.getNumLoops() == 2 && op.getNumParallelLoops() == 2 &&
         op.getIndexingMapsArray().back().isIdentity() &&
         op.getRegionOutputArgs()[0].use_empty();
}

//===----------------------------------------------------------------------===//
// Division of rows
//===----------------------------------------------------------------------===//

int64_t RowShares::getStep() const { return warpSize * width; }

Value RowShares::getFirst(ImplicitLocOpBuilder &builder, Value warpOfRow,
                          Value inWarp) const {
  auto times = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(
        builder, value, arith::ConstantIndexOp::create(builder, factor));
  };
  return arith::AddIOp::create(builder, times(warpOfRow, loads * getStep()),
                               times(inWarp, width));
}

/// Returns true if a thread has fewer elements in `a` than in `b`, or equally
/// many in wider loads.
static bool isBetter(const RowShares &a, const RowShares &b) {
  return std::tuple(a.getElements(), a.loads) <
         std::tuple(b.getElements(), b.loads);
}

std::optional<RowShares> ark::divideRows(int64_t rows, int64_t columns,
                                         int64_t bytes, int64_t warps,
                                         int64_t warpSize) {
  int64_t widest = kLoadBytes / bytes;
  if (rows == 0 || rows > warps)
    return std::nullopt;
  // The threads of one warp combine the values of all warps of a row.
  int64_t mostWarps = std::min(warps / rows, warpSize);
  std::optional<RowShares> best;
  for (int64_t warpsPerRow = 1; warpsPerRow <= mostWarps; ++warpsPerRow)
    for (int64_t width : {widest, widest / 2}) {
      RowShares shares{warpSize, warpsPerRow, /*loads=*/0, width};
      int64_t elements = warpsPerRow * shares.getStep();
      shares.loads = elements > 0 ? columns / elements : 0;
      if (shares.loads == 0 || shares.loads > kMaxLoads ||
          columns % elements != 0)
        continue;
      if (!best || isBetter(shares, *best))
        best = shares;
    }
  return best;
}

ThreadIndices ark::getThreadIndices(ImplicitLocOpBuilder &builder, Value thread,
                                    int64_t rows, int64_t warps,
                                    const RowShares &shares) {
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, number);
  };
  int64_t busy = rows * shares.warpsPerRow;
  ThreadIndices indices;
  indices.warp =
      arith::DivUIOp::create(builder, thread, constant(shares.warpSize));
  indices.inWarp =
      arith::RemUIOp::create(builder, thread, constant(shares.warpSize));
  Value owner = indices.warp;
  if (busy < warps)
    owner = arith::MinUIOp::create(builder, owner, constant(busy - 1));
  Value warpsPerRow = constant(shares.warpsPerRow);
  indices.row = arith::DivUIOp::create(builder, owner, warpsPerRow);
  indices.warpOfRow = arith::RemUIOp::create(builder, owner, warpsPerRow);
  return indices;
}

void ark::storeRow(ImplicitLocOpBuilder &builder, const ThreadIndices &indices,
                   ArrayRef<Value> vectors, Value rows, int64_t warps,
                   const RowShares &shares) {
  OpBuilder::InsertionGuard restore(builder);
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, number);
  };
  auto type = cast<MemRefType>(rows.getType());
  int64_t busy = type.getDimSize(0) * shares.warpsPerRow;
  if (busy < warps) {
    Value isThere = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                                          indices.warp, constant(busy));
    auto branch = scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  Value first = shares.getFirst(builder, indices.warpOfRow, indices.inWarp);
  int64_t bytes = shares.width * type.getElementTypeBitWidth() / 8;
  for (auto [load, vector] : llvm::enumerate(vectors)) {
    Value element = arith::AddIOp::create(
        builder, first,
        constant(static_cast<int64_t>(load) * shares.getStep()));
    vector::StoreOp::create(builder, vector, rows,
                            ValueRange{indices.row, element},
                            /*nontemporal=*/false, llvm::MaybeAlign(bytes));
  }
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// Returns the first element that the thread loads with load `load`.
Value RowBuilder::getElement(int64_t load) {
  return arith::AddIOp::create(
      builder, shares.getFirst(builder, indices.warpOfRow, indices.inWarp),
      index(load * shares.getStep()));
}

void RowBuilder::load(Value input) {
  auto type = cast<MemRefType>(input.getType());
  for (int64_t load = 0; load < shares.loads; ++load) {
    SmallVector<Value> element(type.getRank() - 1, indices.row);
    element.push_back(getElement(load));
    int64_t bytes = shares.width * type.getElementTypeBitWidth() / 8;
    loaded[input].push_back(vector::LoadOp::create(
        builder, VectorType::get(shares.width, type.getElementType()), input,
        element, /*nontemporal=*/false, llvm::MaybeAlign(bytes)));
  }
}

void RowBuilder::addLoads(ReceivePacketsOp op,
                          SmallVectorImpl<PacketLoad> &loads) {
  Value size = index(op.getValues().getType().getShape().back());
  Value begin = arith::MulIOp::create(builder, indices.row, size);
  for (int64_t load = 0; load < shares.loads; ++load)
    for (int64_t at = 0; at < shares.width; at += kPacketsPerLoad) {
      Value element = arith::AddIOp::create(
          builder, arith::AddIOp::create(builder, begin, getElement(load)),
          index(at));
      Value loadIndex =
          arith::DivUIOp::create(builder, element, index(kPacketsPerLoad));
      loads.push_back({getPacketAddress(builder, op.getPackets(), loadIndex)});
    }
}

/// Keeps the received elements of an input, `words`, for the ops that read it.
void RowBuilder::keep(Value input, ArrayRef<Value> words) {
  Type element = cast<MemRefType>(input.getType()).getElementType();
  int64_t count = shares.width / kPacketsPerLoad;
  for (int64_t load = 0; load < shares.loads; ++load) {
    Value all = vector::FromElementsOp::create(
        builder, VectorType::get(count, builder.getI64Type()),
        words.slice(load * count, count));
    loaded[input].push_back(vector::BitCastOp::create(
        builder, VectorType::get(shares.width, element), all));
  }
}

void RowBuilder::receive(ArrayRef<ReceivePacketsOp> ops) {
  if (ops.empty())
    return;
  size_t perInput = shares.getElements() / kPacketsPerLoad;
  // One poll covers several inputs, because consecutive polls would each wait
  // for memory.
  size_t perPoll = std::max<size_t>(kMaxPolledLoads / perInput, 1);
  while (!ops.empty()) {
    ArrayRef<ReceivePacketsOp> group = ops.take_front(perPoll);
    ops = ops.drop_front(group.size());
    SmallVector<PacketLoad> loads;
    for (ReceivePacketsOp op : group)
      addLoads(op, loads);
    SmallVector<Value> words = pollPackets(builder, loads);
    ArrayRef<Value> rest = words;
    for (ReceivePacketsOp op : group) {
      keep(op.getValues(), rest.take_front(perInput));
      rest = rest.drop_front(perInput);
    }
  }
}

/// Clones a constant from another function once.
Value RowBuilder::import(Value constant) {
  Value &imported = constants[constant];
  if (!imported)
    imported = builder.clone(*constant.getDefiningOp())->getResult(0);
  return imported;
}

/// Clones the ops of a region for some elements. `loops` are the indices of the
/// iteration, which a region without index ops does not read.
Value RowBuilder::inlineRegion(linalg::GenericOp op, ArrayRef<Value> values,
                               ArrayRef<Value> loops) {
  IRMapping mapping;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value constant : captured)
    mapping.map(constant, import(constant));
  for (auto [argument, value] :
       llvm::zip(op.getBlock()->getArguments(), values))
    mapping.map(argument, value);
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (auto loop = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(loop.getResult(), loops[loop.getDim()]);
    else
      builder.clone(inner, mapping);
  }
  return mapping.lookupOrDefault(op.getBlock()->getTerminator()->getOperand(0));
}

Value RowBuilder::combine(Operation *combiner, Value a, Value b) {
  IRMapping mapping;
  mapping.map(combiner->getOperand(0), a);
  mapping.map(combiner->getOperand(1), b);
  return builder.clone(*combiner, mapping)->getResult(0);
}

/// Returns the elements of an op's inputs.
SmallVector<Value> RowBuilder::getElements(linalg::GenericOp op, int64_t load,
                                           int64_t element) {
  SmallVector<Value> values;
  for (Value input : op.getInputs()) {
    if (!isa<ShapedType>(input.getType()))
      values.push_back(import(input));
    else if (Value scalar = rowScalars.lookup(input))
      values.push_back(scalar);
    else
      values.push_back(
          vector::ExtractOp::create(builder, loaded[input][load], element));
  }
  return values;
}

void RowBuilder::buildRowScalar(linalg::GenericOp op) {
  Value out = op.getDpsInits()[0];
  SmallVector<Value> values;
  for (Value input : op.getInputs()) {
    Value scalar = rowScalars.lookup(input);
    values.push_back(scalar ? scalar : import(input));
  }
  Value before = rowScalars.lookup(out);
  if (!before) {
    // The initial content of the buffer has no reader.
    Type type = cast<MemRefType>(out.getType()).getElementType();
    before = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
  }
  values.push_back(before);
  rowScalars[out] = inlineRegion(op, values);
}

/// Combines the values of `threads` neighbouring threads, a power of two. All
/// threads get the result.
Value RowBuilder::combineThreads(Operation *combiner, Value value,
                                 int64_t threads) {
  for (int32_t distance = threads / 2; distance > 0; distance /= 2)
    value =
        combine(combiner, value,
                gpu::ShuffleOp::create(builder, value, distance,
                                       shares.warpSize, gpu::ShuffleMode::XOR)
                    .getShuffleResult());
  return value;
}

/// Combines the values of a row's warps through shared memory. Threads without
/// a warp of the row contribute the neutral element.
Value RowBuilder::combineWarps(Operation *combiner, Value value) {
  if (shares.warpsPerRow == 1)
    return value;
  Value all =
      createTemporary(builder, MemRefType::get({warps}, value.getType()),
                      abi::kGpuBufferAlignment);
  Value leads = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                      indices.inWarp, index(0));
  auto guard = scf::IfOp::create(builder, leads, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard restore(builder);
    builder.setInsertionPointToStart(guard.thenBlock());
    memref::StoreOp::create(builder, value, all, indices.warp);
  }
  gpu::BarrierOp::create(builder);
  Value first =
      arith::MulIOp::create(builder, indices.row, index(shares.warpsPerRow));
  int64_t threads = llvm::PowerOf2Ceil(shares.warpsPerRow);
  Value thread =
      arith::RemUIOp::create(builder, indices.inWarp, index(threads));
  Value warpOfRow = thread;
  if (threads > shares.warpsPerRow)
    warpOfRow =
        arith::MinUIOp::create(builder, thread, index(shares.warpsPerRow - 1));
  Value one = memref::LoadOp::create(
      builder, all,
      ValueRange{arith::AddIOp::create(builder, first, warpOfRow)});
  if (threads > shares.warpsPerRow) {
    Value hasWarp = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                                          thread, index(shares.warpsPerRow));
    Value neutral =
        arith::ConstantOp::create(builder, *arith::getNeutralElement(combiner));
    one = arith::SelectOp::create(builder, hasWarp, one, neutral);
  }
  return combineThreads(combiner, one, threads);
}

void RowBuilder::buildReduction(linalg::GenericOp op) {
  Operation *combiner = getCombiner(op);
  Value neutral =
      arith::ConstantOp::create(builder, *arith::getNeutralElement(combiner));
  // One accumulator per load makes consecutive additions independent.
  SmallVector<Value> results;
  for (int64_t load = 0; load < shares.loads; ++load) {
    Value result = neutral;
    for (int64_t element = 0; element < shares.width; ++element) {
      SmallVector<Value> values = getElements(op, load, element);
      values.push_back(result);
      result = inlineRegion(op, values);
    }
    results.push_back(result);
  }
  Value result = results.front();
  for (Value other : ArrayRef(results).drop_front())
    result = combine(combiner, result, other);
  result =
      combineWarps(combiner, combineThreads(combiner, result, shares.warpSize));
  Value &scalar = rowScalars[op.getDpsInits()[0]];
  scalar = scalar ? combine(combiner, scalar, result) : result;
}

SmallVector<Value> RowBuilder::buildRow(linalg::GenericOp op) {
  auto type = cast<MemRefType>(op.getDpsInits()[0].getType());
  SmallVector<Value> vectors;
  for (int64_t load = 0; load < shares.loads; ++load) {
    SmallVector<Value> elements;
    for (int64_t element = 0; element < shares.width; ++element) {
      SmallVector<Value> values = getElements(op, load, element);
      // An op that writes the row does not read its output.
      values.push_back(arith::ConstantOp::create(
          builder, builder.getZeroAttr(type.getElementType())));
      elements.push_back(inlineRegion(op, values));
    }
    vectors.push_back(vector::FromElementsOp::create(
        builder, VectorType::get(shares.width, type.getElementType()),
        elements));
  }
  return vectors;
}

SmallVector<Value> RowBuilder::buildNumbers(linalg::GenericOp op) {
  auto type = cast<MemRefType>(op.getDpsInits()[0].getType());
  SmallVector<Value> values, numbers;
  for (Value input : op.getInputs()) {
    Value scalar = rowScalars.lookup(input);
    values.push_back(scalar ? scalar : import(input));
  }
  values.push_back(arith::ConstantOp::create(
      builder, builder.getZeroAttr(type.getElementType())));
  for (int64_t column = 0; column < type.getDimSize(1); ++column)
    numbers.push_back(inlineRegion(op, values, {indices.row, index(column)}));
  return numbers;
}
