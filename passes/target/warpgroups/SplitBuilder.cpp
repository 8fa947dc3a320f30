//===- SplitBuilder.cpp - Products of f32 operands by wgmma ---------------===//

#include "passes/target/warpgroups/SplitBuilder.h"

#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/warpgroups/SplitFloat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kElementBytes = 4;
/// Elements that a thread loads of a row, whose terms are 16 bytes each.
static constexpr int64_t kElements = 8;
static constexpr int64_t kElementsPerVector = kLoadBytes / kElementBytes;

SplitBuilder::SplitBuilder(ImplicitLocOpBuilder &builder,
                           ArrayRef<MatmulTile> products,
                           const WarpgroupShape &shape, Value memory,
                           Value thread, int64_t threads)
    : ThreadCopyBuilder(builder, products, shape, memory, thread, threads,
                        kElementBytes) {}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Loads the thread's elements of the stage from `k` on.
SmallVector<SplitBuilder::Loaded> SplitBuilder::load(Value k) {
  Value target = getTarget();
  auto type = VectorType::get({kElementsPerVector}, builder.getF32Type());
  int64_t rowsAtOnce = getRowsAtOnce(threads), rows = 0;
  SmallVector<Loaded> loaded;
  for (const Source &source : sources) {
    for (int64_t rowOffset = 0; rowOffset < source.rows;
         rowOffset += rowsAtOnce) {
      Loaded next;
      Value from = getDistance(source, k, rowOffset);
      for (int64_t bytes = 0; bytes < kElements * kElementBytes;
           bytes += kLoadBytes) {
        Value pointer =
            createOffset(builder, source.pointer, add(from, constant(bytes)));
        Value vector = LLVM::LoadOp::create(builder, type, pointer, kLoadBytes);
        for (int64_t i = 0; i < kElementsPerVector; ++i)
          next.elements.push_back(
              vector::ExtractOp::create(builder, vector, i));
      }
      next.offset = add(target, constant((rows + rowOffset) * kStageRowBytes));
      loaded.push_back(next);
    }
    rows += source.rows;
  }
  return loaded;
}

/// Stores the terms of loaded elements to a stage.
void SplitBuilder::split(ArrayRef<Loaded> loaded, Value stage) {
  auto type = VectorType::get({kLoadBytes / 4}, builder.getI32Type());
  for (const Loaded &row : loaded)
    for (auto [term, words] :
         llvm::enumerate(splitFloats(builder, row.elements))) {
      Value to =
          add(add(stage, row.offset), constant(term * shape.getTermBytes()));
      Value vector = vector::FromElementsOp::create(builder, type, words);
      LLVM::StoreOp::create(builder, vector, createOffset(builder, shared, to),
                            kLoadBytes);
    }
}

/// A stage is filled while the instructions of the other stage run. Both are
/// complete at the end of an iteration.
SmallVector<Value> SplitBuilder::accumulate() {
  split(load(constant(0)), constant(0));
  fenceStages(builder);
  int64_t perThread = shape.getAccumulatorsPerThread();
  Value zero = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0));
  SmallVector<Value> inits(shape.numProducts * perThread, zero);
  inits.push_back(constant(0));
  Value end = constant(getDepth());
  auto loop = scf::ForOp::create(builder, constant(0), end,
                                 constant(kStageDepth), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> carried(loop.getRegionIterArgs());
    Value &stage = carried.back();
    Value units = arith::IndexCastOp::create(builder, builder.getI64Type(),
                                             divide(stage, kDescriptorUnit));
    SmallVector<Value> products = createAccumulators();
    startStage(units, products);
    stage = wrap(add(stage, constant(shape.getStageBytes())),
                 shape.stages * shape.getStageBytes());
    Value next = add(loop.getInductionVar(), constant(kStageDepth));
    Value isThere =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, next, end);
    auto branch = scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard inside(builder);
      builder.setInsertionPoint(branch.thenBlock()->getTerminator());
      split(load(next), stage);
    }
    NVVM::WgmmaWaitGroupSyncOp::create(builder, 0);
    for (auto [number, product] : llvm::enumerate(products))
      addTo(MutableArrayRef(carried).slice(number * perThread, perThread),
            product);
    // The fence also orders the last reads of stages before accumulators
    // overwrite them.
    fenceStages(builder);
    scf::YieldOp::create(builder, carried);
  }
  SmallVector<Value> totals = createAccumulators();
  for (auto [number, total] : llvm::enumerate(totals))
    for (int64_t i = 0; i < perThread; ++i)
      total = LLVM::InsertValueOp::create(
          builder, total, loop.getResult(number * perThread + i), i);
  return totals;
}

/// Adds the accumulators of one stage to the thread's sums.
void SplitBuilder::addTo(MutableArrayRef<Value> sums, Value products) {
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value product = LLVM::ExtractValueOp::create(builder, products, i);
    sum = arith::AddFOp::create(builder, sum, product);
  }
}

//===----------------------------------------------------------------------===//
// Infinities and NaN
//===----------------------------------------------------------------------===//

/// Returns true if one of the thread's accumulators is infinite or NaN.
Value SplitBuilder::isAnyNotFinite(Value accumulators) {
  Value zero = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0));
  Value sum = zero;
  for (int64_t i = 0; i < shape.getAccumulatorsPerThread(); ++i) {
    Value element = LLVM::ExtractValueOp::create(builder, accumulators, i);
    Value product = arith::MulFOp::create(builder, element, zero);
    sum = arith::AddFOp::create(builder, sum, product);
  }
  return arith::CmpFOp::create(builder, arith::CmpFPredicate::UNO, sum, zero);
}

/// Computes one element of a result from the operands in memory.
Value SplitBuilder::computeElement(unsigned number, Value row, Value column) {
  const MatmulTile &product = products[number];
  Value zero = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0));
  auto loop = scf::ForOp::create(builder, constant(0), constant(getDepth()),
                                 constant(1), zero);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  auto read = [&](Value buffer, Major major, Value index) -> Value {
    SmallVector<Value> position = {index, loop.getInductionVar()};
    if (major == Major::MN)
      std::swap(position[0], position[1]);
    return memref::LoadOp::create(builder, buffer, position);
  };
  Value term =
      arith::MulFOp::create(builder, read(product.left, product.leftMajor, row),
                            read(product.right, product.rightMajor, column));
  Value sum = arith::AddFOp::create(builder, loop.getRegionIterArg(0), term);
  scf::YieldOp::create(builder, sum);
  return loop.getResult(0);
}

void SplitBuilder::store(Value accumulators, unsigned product, Value buffer) {
  WarpgroupBuilder::store(accumulators, product, buffer);
  MatrixFragment acc = instruction->getAcc();
  auto [row, column] = getFirstPosition();
  auto branch = scf::IfOp::create(builder, isAnyNotFinite(accumulators),
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  auto units = scf::ForOp::create(builder, constant(0),
                                  constant(shape.getGroupColumns()),
                                  constant(instruction->getColumns()));
  builder.setInsertionPointToStart(units.getBody());
  Value unit = add(column, units.getInductionVar());
  for (int64_t i = 0; i < acc.getNumElements(); ++i) {
    auto [down, across] = acc.getOffset(i);
    Value m = add(row, constant(down)), n = add(unit, constant(across));
    memref::StoreOp::create(builder, computeElement(product, m, n), buffer,
                            ValueRange{m, n});
  }
}
