//===- CpAsyncBuilder.cpp - Matmul stages copied by cp.async --------------===//

#include "passes/target/warpgroups/CpAsyncBuilder.h"

#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WideLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kElementBytes = 2;

CpAsyncBuilder::CpAsyncBuilder(ImplicitLocOpBuilder &builder,
                               ArrayRef<MatmulTile> products,
                               const WarpgroupShape &shape, Value memory,
                               Value thread, int64_t threads)
    : ThreadCopyBuilder(builder, products, shape, memory, thread, threads,
                        kElementBytes) {}

/// Issues copies of the elements from `k` on.
void CpAsyncBuilder::copy(Value k, Value stage) {
  Value target = add(stage, getTarget());
  int64_t rowsAtOnce = getRowsAtOnce(threads), rows = 0;
  for (const Source &source : sources) {
    for (int64_t rowOffset = 0; rowOffset < source.copiedRows;
         rowOffset += rowsAtOnce) {
      OpBuilder::InsertionGuard guard(builder);
      if (source.copiedRows - rowOffset < rowsAtOnce) {
        Value isThere =
            arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, copiedRow,
                                  constant(source.copiedRows - rowOffset));
        auto branch =
            scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
        builder.setInsertionPoint(branch.thenBlock()->getTerminator());
      }
      Value from = getDistance(source, k, rowOffset);
      Value to = add(target, constant((rows + rowOffset) * kStageRowBytes));
      NVVM::CpAsyncOp::create(builder, createOffset(builder, shared, to),
                              createOffset(builder, source.pointer, from),
                              kLoadBytes, NVVM::LoadCacheModifierKind::CG,
                              /*cpSize=*/Value());
    }
    rows += source.rows;
  }
}

/// Multiplies the warpgroup's tile. The instructions of a stage are issued
/// while the instructions of the previous stage may still run. The next copy
/// therefore writes to the stage before these two: all warpgroups have
/// completed its instructions.
SmallVector<Value> CpAsyncBuilder::accumulate() {
  int64_t bytes = shape.getStageBytes(), ahead = shape.stages - 2;
  for (int64_t i = 0; i < ahead; ++i) {
    copy(constant(i * kStageDepth), constant(i * bytes));
    NVVM::CpAsyncCommitGroupOp::create(builder);
  }
  SmallVector<Value> inits = createAccumulators();
  inits.push_back(constant(0));
  inits.push_back(constant(ahead * bytes));
  Value end = constant(getDepth());
  auto loop = scf::ForOp::create(builder, constant(0), end,
                                 constant(kStageDepth), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> carried(loop.getRegionIterArgs());
    Value &free = carried[shape.numProducts + 1],
          &stage = carried[shape.numProducts];
    waitForStageCopies(builder, ahead - 1);
    Value offset = arith::IndexCastOp::create(builder, builder.getI64Type(),
                                              divide(stage, kDescriptorUnit));
    startStage(offset, MutableArrayRef(carried).take_front(shape.numProducts));
    Value next = add(loop.getInductionVar(), constant(ahead * kStageDepth));
    Value isThere =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, next, end);
    auto branch = scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard inside(builder);
      builder.setInsertionPoint(branch.thenBlock()->getTerminator());
      copy(next, free);
    }
    NVVM::CpAsyncCommitGroupOp::create(builder);
    NVVM::WgmmaWaitGroupSyncOp::create(builder, 1);
    for (Value *offset : {&stage, &free})
      *offset = wrap(add(*offset, constant(bytes)), shape.stages * bytes);
    scf::YieldOp::create(builder, carried);
  }
  NVVM::WgmmaWaitGroupSyncOp::create(builder, 0);
  // The accumulators overwrite stages that other warpgroups may still read.
  gpu::BarrierOp::create(builder);
  return SmallVector<Value>(loop.getResults().take_front(shape.numProducts));
}
