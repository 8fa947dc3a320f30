//===- TmaCopyBuilder.cpp - Matmul stages copied by TMA -------------------===//

#include "passes/target/warpgroups/TmaCopyBuilder.h"

#include "passes/kernel/KernelAbi.h"
#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/tensor_maps/TensorMaps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

/// The time hint of `mbarrier.try_wait`, in nanoseconds.
static constexpr int64_t kWaitHint = 1000000;
/// The address space of a cluster's shared memory, to which TMA copies write.
static constexpr unsigned kClusterSpace = 7;

static Value isLess(ImplicitLocOpBuilder &builder, Value a, Value b) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, a, b);
}

static Value isEqual(ImplicitLocOpBuilder &builder, Value a, Value b) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, a, b);
}

static Value toI32(ImplicitLocOpBuilder &builder, Value index) {
  return arith::IndexCastOp::create(builder, builder.getI32Type(), index);
}

static Value toIndex(ImplicitLocOpBuilder &builder, Value number) {
  return arith::IndexCastUIOp::create(builder, builder.getIndexType(), number);
}

TmaCopyBuilder::TmaCopyBuilder(ImplicitLocOpBuilder &builder,
                               ArrayRef<MatmulTile> products,
                               const WarpgroupShape &shape, Value memory,
                               Value thread, int64_t threads)
    : WarpgroupBuilder(builder, products, shape, memory, thread),
      threads(threads), group(divide(thread, shape.getGroupThreads())) {
  Value isFirst =
      isEqual(builder, remainder(thread, shape.getGroupThreads()), constant(0));
  Value hasOperand = isLess(builder, group, constant(1 + shape.numProducts));
  issues = arith::AndIOp::create(builder, isFirst, hasOperand);
  maxBoxes = 1;
  for (const StagedOperand &operand : getOperands())
    maxBoxes = std::max(maxBoxes, operand.getNumBoxes());
}

Value TmaCopyBuilder::constantI32(int64_t number) {
  return arith::ConstantIntOp::create(builder, number, 32);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Returns the address of an operand's record: the address of its tensor map,
/// the first column and row of its tile, its offset in a stage, its bytes per
/// stage, and with panels its major and its copies per stage. Records lie in
/// shared memory, because accumulators take most registers.
Value TmaCopyBuilder::getRecord(Value operand) {
  return createOffset(builder, shared,
                      add(multiply(operand, kOperandRecordBytes),
                          constant(shape.getRecordsBegin())));
}

/// Stores the record of an operand from one thread. The tile's row and column
/// follow from its offset in elements.
void TmaCopyBuilder::describe(const StagedOperand &operand, int64_t number,
                              int64_t firstRow) {
  auto body = builder.getInsertionBlock()
                  ->getParentOp()
                  ->getParentOfType<func::FuncOp>();
  Value tile = operand.buffer;
  std::optional<TensorMap> map = TensorMap::match(tile, operand.getBoxRows());
  Type i64 = builder.getI64Type();
  Value index = constant(addTensorMap(body, *map));
  Value address =
      func::CallOp::create(builder, kTensorMapFunction, TypeRange{i64},
                           ValueRange{body.getArgument(abi::kBodyTask), index})
          .getResult(0);
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, tile);
  Value column = remainder(metadata.getOffset(), map->stride),
        row = divide(metadata.getOffset(), map->stride);
  Value pointer = getRecord(constant(number));
  LLVM::StoreOp::create(builder, address, pointer, /*alignment=*/8);
  int64_t offset = sizeof(int64_t);
  SmallVector<Value> fields = {toI32(builder, column), toI32(builder, row),
                               constantI32(firstRow * kStageRowBytes),
                               constantI32(operand.rows * kStageRowBytes)};
  if (hasPanels())
    fields.append({constantI32(operand.major == Major::K ? 1 : 0),
                   constantI32(operand.getNumBoxes())});
  for (Value value : fields) {
    Value field = createOffset(builder, pointer, constant(offset));
    LLVM::StoreOp::create(builder, value, field, /*alignment=*/4);
    offset += sizeof(int32_t);
  }
}

/// Loads the record of this warpgroup's operand. The loads are volatile, so
/// that compilers repeat them for every copy instead of keeping the values in
/// registers.
TmaCopyBuilder::OperandCopy TmaCopyBuilder::load() {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  Value pointer = getRecord(group);
  auto read = [&](Type type, int64_t offset) -> Value {
    Value field = createOffset(builder, pointer, constant(offset));
    return LLVM::LoadOp::create(builder, type, field, /*alignment=*/8,
                                /*isVolatile=*/true);
  };
  auto pair = VectorType::get({2}, i32);
  Value map = LLVM::IntToPtrOp::create(
      builder, LLVM::LLVMPointerType::get(builder.getContext()), read(i64, 0));
  Value origin = read(pair, 8), extent = read(pair, 16);
  auto at = [&](Value both, int64_t index) -> Value {
    return vector::ExtractOp::create(builder, both, index);
  };
  OperandCopy operand{map,           at(origin, 0), at(origin, 1),
                      at(extent, 0), at(extent, 1), Value(),
                      Value()};
  if (hasPanels()) {
    Value panels = read(pair, 24);
    operand.isKMajor = at(panels, 0);
    operand.boxes = at(panels, 1);
  }
  return operand;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

Value TmaCopyBuilder::getBarrier(Value stage, Barrier which) {
  int64_t begin = shape.getBarriersBegin() +
                  (which == Barrier::Empty ? kStageBarrierBytes / 2 : 0);
  Value before =
      toIndex(builder, arith::MulIOp::create(builder, stage,
                                             constantI32(kStageBarrierBytes)));
  return createOffset(builder, shared, add(before, constant(begin)));
}

void TmaCopyBuilder::wait(const PipelineState &state, Barrier which) {
  NVVM::MBarrierTryWaitParityOp::create(builder, getBarrier(state.stage, which),
                                        state.parity, constantI32(kWaitHint));
}

/// Returns the stage after `state`. The parity changes when the stages wrap
/// around.
TmaCopyBuilder::PipelineState
TmaCopyBuilder::getNext(const PipelineState &state) {
  Value after = arith::AddIOp::create(builder, state.stage, constantI32(1));
  Value isLast = isEqual(builder, after, constantI32(shape.stages));
  Value other = arith::XOrIOp::create(builder, state.parity, constantI32(1));
  return {arith::SelectOp::create(builder, isLast, constantI32(0), after),
          arith::SelectOp::create(builder, isLast, other, state.parity)};
}

/// Arrives at the `Empty` barrier of a stage that this warp has read. Arrivals
/// and copies are predicated: with branches, ptxas would serialise the `wgmma`
/// instructions.
void TmaCopyBuilder::arrive(Value stage, Value arrives) {
  NVVM::InlinePtxOp::create(builder, /*writeOnlyArgs=*/TypeRange(),
                            ValueRange{getBarrier(stage, Barrier::Empty)},
                            /*readWriteArgs=*/ValueRange(),
                            "mbarrier.arrive.shared::cta.b64 _, [$0];",
                            arrives);
}

/// Issues the TMA copies of this thread's operand from `k` on. K counts the
/// columns of the matrix for the major K, and its rows for the major MN.
void TmaCopyBuilder::copy(Value k, Value stage, Value issues) {
  OperandCopy operand = load();
  Value barrier = getBarrier(stage, Barrier::Full);
  NVVM::MBarrierArriveExpectTxOp::create(builder, /*res=*/Type(), barrier,
                                         operand.bytes, NVVM::MemScopeKind::CTA,
                                         /*relaxed=*/false, issues);
  Value before =
      arith::MulIOp::create(builder, stage, constantI32(shape.getStageBytes()));
  Value begin = arith::AddIOp::create(builder, before, operand.begin);
  Value distance = toI32(builder, k);
  if (!hasPanels())
    return copyBox(operand, add(operand.column, distance), operand.row, begin,
                   barrier, issues);
  Value along = arith::MulIOp::create(builder, distance, operand.isKMajor);
  Value column = add(operand.column, along);
  Value row = add(operand.row, arith::SubIOp::create(builder, distance, along));
  for (int64_t box = 0; box < maxBoxes; ++box) {
    Value isThere = isLess(builder, constantI32(box), operand.boxes);
    copyBox(operand, add(column, constantI32(box * kPanelElements)), row,
            add(begin, constantI32(box * kPanelBytes)), barrier,
            arith::AndIOp::create(builder, issues, isThere));
  }
}

/// Issues one TMA copy to the offset `begin` of the stages.
void TmaCopyBuilder::copyBox(const OperandCopy &operand, Value column,
                             Value row, Value begin, Value barrier,
                             Value issues) {
  Value to = LLVM::AddrSpaceCastOp::create(
      builder, LLVM::LLVMPointerType::get(builder.getContext(), kClusterSpace),
      createOffset(builder, shared, toIndex(builder, begin)));
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      builder, to, operand.map, ValueRange{column, row}, barrier,
      /*im2colOffsets=*/ValueRange(),
      /*multicastMask=*/Value(), /*l2CacheHint=*/Value(),
      NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
      /*group=*/NVVM::CTAGroupKindAttr(), issues);
}

/// Orders accesses by threads before TMA copies, which access memory through
/// the async proxy. Copies read data that other SMs have stored and that this
/// CTA's leader has acquired. Copies write to memory that threads of this CTA
/// have accessed before the last barrier. In both cases the memory model
/// requires a fence, in the thread that issues the copies, between the
/// synchronisation of the threads and the copies. The fence also covers the
/// initialisation of the mbarriers. Two fences, one per state space, are
/// cheaper than one fence for all memory, which would wait for all stores of
/// the previous tile.
static void fenceAsyncProxy(ImplicitLocOpBuilder &builder) {
  auto context = builder.getContext();
  auto fence = [&](NVVM::ProxyKind kind, NVVM::SharedSpaceAttr space) {
    NVVM::FenceProxyOp::create(builder, NVVM::ProxyKindAttr::get(context, kind),
                               space);
  };
  fence(NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(context, NVVM::SharedSpace::shared_cta));
  fence(NVVM::ProxyKind::async_global, NVVM::SharedSpaceAttr());
}

void TmaCopyBuilder::createBarriers() {
  auto create = [&](int64_t stage, Barrier which, int64_t arrivals) {
    NVVM::MBarrierInitOp::create(builder, getBarrier(constantI32(stage), which),
                                 constantI32(arrivals), /*predicate=*/Value());
  };
  for (int64_t i = 0; i < shape.stages; ++i) {
    create(i, Barrier::Full, 1 + shape.numProducts);
    create(i, Barrier::Empty, threads / shape.getWarpSize());
  }
}

/// Creates mbarriers and records, and issues the copies of the first stages.
void TmaCopyBuilder::begin() {
  Value leads = isEqual(builder, thread, constant(0));
  auto branch = scf::IfOp::create(builder, leads, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    createBarriers();
    int64_t rows = 0;
    for (auto [number, operand] : llvm::enumerate(getOperands())) {
      describe(operand, number, rows);
      rows += operand.rows;
    }
  }
  gpu::BarrierOp::create(builder);
  fenceAsyncProxy(builder);
  for (int64_t i = 0; i < shape.getStagesAhead(); ++i)
    copy(constant(i * kStageDepth), constantI32(i), issues);
}

/// Ends the pipeline. The accumulators overwrite stages that other threads may
/// still read, and the next tile reuses the memory of the mbarriers.
void TmaCopyBuilder::end() {
  gpu::BarrierOp::create(builder);
  Value leads = isEqual(builder, thread, constant(0));
  auto branch = scf::IfOp::create(builder, leads, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  for (int64_t i = 0; i < shape.stages; ++i)
    for (Barrier which : {Barrier::Full, Barrier::Empty})
      NVVM::MBarrierInvalOp::create(builder, getBarrier(constantI32(i), which));
}

/// Adds in 32 bits, because the upper half of a descriptor is constant.
Value TmaCopyBuilder::move(Value descriptor, Value offset) {
  Type i32 = builder.getI32Type();
  Value low = arith::AddIOp::create(
      builder, arith::TruncIOp::create(builder, i32, descriptor),
      arith::TruncIOp::create(builder, i32, offset));
  Value wide = arith::ExtUIOp::create(builder, builder.getI64Type(), low);
  return arith::OrIOp::create(builder, wide, constantI64(kDescriptorLayout));
}

/// The instructions of the previous stage may still run when the instructions
/// of a stage are issued. The next copy hence writes to the stage that precedes
/// both of them. Warps have already arrived at the `Empty` barrier of that
/// stage, so that the wait is short.
SmallVector<Value> TmaCopyBuilder::accumulate() {
  assert(shape.stagesBehind == 1 && "warps arrive at the stage before");
  begin();
  int64_t ahead = shape.getStagesAhead(), numAccumulators = shape.numProducts;
  Value zero = constantI32(0), depth = constant(getDepth());
  SmallVector<Value> inits = createAccumulators();
  // The loop carries the stage to multiply, the stage to copy to, and the stage
  // that was multiplied last. A stage that was never filled counts as read.
  inits.append({zero, zero, constantI32(ahead), constantI32(1), zero});
  auto loop = scf::ForOp::create(builder, constant(0), depth,
                                 constant(kStageDepth), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    Value k = loop.getInductionVar();
    SmallVector<Value> accumulators(
        loop.getRegionIterArgs().take_front(numAccumulators));
    ValueRange rest = loop.getRegionIterArgs().drop_front(numAccumulators);
    PipelineState current{rest[0], rest[1]}, free{rest[2], rest[3]};
    wait(current, Barrier::Full);
    int64_t units = shape.getStageBytes() / kDescriptorUnit;
    Value offset =
        arith::MulIOp::create(builder, current.stage, constantI32(units));
    startStage(arith::ExtUIOp::create(builder, builder.getI64Type(), offset),
               accumulators);
    wait(free, Barrier::Empty);
    Value next = add(k, constant(ahead * kStageDepth));
    copy(next, free.stage,
         arith::AndIOp::create(builder, issues, isLess(builder, next, depth)));
    NVVM::WgmmaWaitGroupSyncOp::create(builder, shape.stagesBehind);
    Value isFirst =
        isEqual(builder, remainder(thread, shape.getWarpSize()), constant(0));
    Value hasRead = isLess(builder, constant(0), k);
    arrive(rest[4], arith::AndIOp::create(builder, isFirst, hasRead));
    PipelineState nextCurrent = getNext(current), nextFree = getNext(free);
    accumulators.append({nextCurrent.stage, nextCurrent.parity, nextFree.stage,
                         nextFree.parity, current.stage});
    scf::YieldOp::create(builder, accumulators);
  }
  NVVM::WgmmaWaitGroupSyncOp::create(builder, 0);
  end();
  return SmallVector<Value>(loop.getResults().take_front(numAccumulators));
}
