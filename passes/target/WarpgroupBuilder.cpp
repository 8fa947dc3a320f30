//===- WarpgroupBuilder.cpp - One thread's share of products --------------===//

#include "passes/target/WarpgroupBuilder.h"

#include "passes/target/Lowerings.h"
#include "passes/target/SpacePointer.h"
#include "passes/target/WideLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kElementBytes = 2;
/// 16-byte parts of a row in a stage.
static constexpr int64_t kPartsPerRow = kStageRowBytes / kLoadBytes;
/// Rows of a block.
static constexpr int64_t kBlockRows = 8;
/// Rows of a result that a warp has, and threads that share one.
static constexpr int64_t kWarpRows = 16;
static constexpr int64_t kThreadsPerRow = 4;

// Bits of a descriptor, which counts in units of 16 bytes.
static constexpr int64_t kDescriptorUnit = 16;
static constexpr int64_t kBlockDistanceBit = 32;
static constexpr int64_t kExchangeBit = 62;

WarpgroupBuilder::WarpgroupBuilder(ImplicitLocOpBuilder &builder,
                                   ArrayRef<TensorProduct> products,
                                   const WarpgroupShape &shape, Value memory,
                                   Value thread, int64_t threads)
    : builder(builder), products(products), shape(shape), threads(threads),
      thread(thread),
      shared(createSpacePointer(builder, memory, kSharedSpace)) {
  findPlace(thread);
  addSource(products.front().left, shape.rows);
  left = createDescriptor(firstRow);
  int64_t begin = shape.rows;
  for (const TensorProduct &product : products) {
    addSource(product.right, shape.columns);
    rights.push_back(createDescriptor(add(firstColumn, constant(begin))));
    begin += shape.columns;
  }
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value WarpgroupBuilder::constant(int64_t number) {
  return arith::ConstantIndexOp::create(builder, number);
}

/// Of 64 bits, as descriptors are.
Value WarpgroupBuilder::number(int64_t value) {
  return arith::ConstantIntOp::create(builder, value, 64);
}

Value WarpgroupBuilder::add(Value a, Value b) {
  return arith::AddIOp::create(builder, a, b);
}

Value WarpgroupBuilder::multiply(Value a, int64_t b) {
  return arith::MulIOp::create(builder, a, constant(b));
}

Value WarpgroupBuilder::divide(Value a, int64_t b) {
  return arith::DivUIOp::create(builder, a, constant(b));
}

Value WarpgroupBuilder::remainder(Value a, int64_t b) {
  return arith::RemUIOp::create(builder, a, constant(b));
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

void WarpgroupBuilder::findPlace(Value thread) {
  copiedRow = divide(thread, kPartsPerRow);
  copiedPart = remainder(thread, kPartsPerRow);
  Value group = divide(thread, kWarpgroupThreads);
  firstRow = multiply(remainder(group, shape.down), kWarpgroupRows);
  firstColumn = multiply(divide(group, shape.down), shape.getOwnColumns());
}

void WarpgroupBuilder::addSource(Value buffer, int64_t rows) {
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
  Value rowBytes = multiply(metadata.getStrides().front(), kElementBytes);
  Value begin = add(arith::MulIOp::create(builder, copiedRow, rowBytes),
                    multiply(copiedPart, kLoadBytes));
  Value pointer = createSpacePointer(builder, buffer, kGlobalSpace);
  sources.push_back({createOffset(builder, pointer, begin),
                     multiply(rowBytes, threads / kPartsPerRow), rows});
}

/// Of rows from a multiple of eight on. Bits 16 to 29 say nothing, where rows
/// are as long as what is exchanged.
Value WarpgroupBuilder::createDescriptor(Value firstRow) {
  Value pointer =
      createOffset(builder, shared, multiply(firstRow, kStageRowBytes));
  Value address =
      LLVM::PtrToIntOp::create(builder, builder.getI64Type(), pointer);
  Value place =
      arith::DivUIOp::create(builder, address, number(kDescriptorUnit));
  int64_t distance = kBlockRows * kStageRowBytes / kDescriptorUnit;
  int64_t layout = distance << kBlockDistanceBit | int64_t(1) << kExchangeBit;
  return arith::OrIOp::create(builder, place, number(layout));
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Asks for the elements from `k` on.
void WarpgroupBuilder::copy(Value k, Value stage) {
  Value part = arith::XOrIOp::create(builder, copiedPart,
                                     remainder(copiedRow, kBlockRows));
  Value target = add(stage, add(multiply(copiedRow, kStageRowBytes),
                                multiply(part, kLoadBytes)));
  Value begin = multiply(k, kElementBytes);
  int64_t rowsAtOnce = threads / kPartsPerRow, rows = 0;
  for (const Source &source : sources) {
    for (int64_t own = 0; own < source.rows; own += rowsAtOnce) {
      OpBuilder::InsertionGuard guard(builder);
      if (source.rows - own < rowsAtOnce) {
        Value isThere =
            arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, copiedRow,
                                  constant(source.rows - own));
        auto branch =
            scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
        builder.setInsertionPoint(branch.thenBlock()->getTerminator());
      }
      Value from = add(begin, multiply(source.stride, own / rowsAtOnce));
      Value to = add(target, constant((rows + own) * kStageRowBytes));
      NVVM::CpAsyncOp::create(builder, createOffset(builder, shared, to),
                              createOffset(builder, source.pointer, from),
                              kLoadBytes, NVVM::LoadCacheModifierKind::CG,
                              /*cpSize=*/Value());
    }
    rows += source.rows;
  }
}

/// Until no more than `count` of the last copies are under way, for all
/// threads. What they have written, instructions of warpgroups read by another
/// way.
void WarpgroupBuilder::wait(int64_t count) {
  NVVM::CpAsyncWaitGroupOp::create(builder, count);
  NVVM::FenceProxyOp::create(
      builder,
      NVVM::ProxyKindAttr::get(builder.getContext(),
                               NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(builder.getContext(),
                                 NVVM::SharedSpace::shared_cta));
  gpu::BarrierOp::create(builder);
}

/// Instructions that add the products of one stage to the sums. They are under
/// way until `wgmma.wait_group`.
void WarpgroupBuilder::startStage(Value stage, MutableArrayRef<Value> sums) {
  bool isHalf = products.front().getElementType().isF16();
  auto type = isHalf ? NVVM::WGMMATypes::f16 : NVVM::WGMMATypes::bf16;
  auto context = builder.getContext();
  auto mmaShape = NVVM::MMAShapeAttr::get(context, kWarpgroupRows,
                                          shape.getOwnColumns(), kMmaDepth);
  Value place = arith::IndexCastOp::create(builder, builder.getI64Type(),
                                           divide(stage, kDescriptorUnit));
  NVVM::WgmmaFenceAlignedOp::create(builder);
  for (int64_t k = 0; k < kStageDepth; k += kMmaDepth) {
    Value begin = add(place, number(k * kElementBytes / kDescriptorUnit));
    Value a = add(left, begin);
    for (auto [right, sum] : llvm::zip(rights, sums)) {
      auto typeAttr = NVVM::WGMMATypesAttr::get(context, type);
      auto one = NVVM::WGMMAScaleInAttr::get(context, NVVM::WGMMAScaleIn::one);
      sum =
          NVVM::WgmmaMmaAsyncOp::create(
              builder, sum.getType(), sum, a, add(right, begin), mmaShape,
              typeAttr, typeAttr,
              NVVM::WGMMATypesAttr::get(context, NVVM::WGMMATypes::f32),
              NVVM::WGMMAScaleOutAttr::get(context, NVVM::WGMMAScaleOut::one),
              one, one, NVVM::MMALayoutAttr::get(context, NVVM::MMALayout::row),
              NVVM::MMALayoutAttr::get(context, NVVM::MMALayout::col),
              /*satfinite=*/NVVM::MMAIntOverflowAttr())
              .getResults();
    }
  }
  NVVM::WgmmaGroupSyncAlignedOp::create(builder);
}

/// What the warpgroup adds up. While its instructions for a stage run, those of
/// the stage before may: the copy goes to where instructions have read that no
/// warpgroup waits for any more, the ones of two stages before.
SmallVector<Value> WarpgroupBuilder::addUp() {
  int64_t bytes = shape.getStageBytes(), ahead = shape.stages - 2;
  for (int64_t i = 0; i < ahead; ++i) {
    copy(constant(i * kStageDepth), constant(i * bytes));
    NVVM::CpAsyncCommitGroupOp::create(builder);
  }
  auto sumsType = LLVM::LLVMStructType::getLiteral(
      builder.getContext(),
      SmallVector<Type>(shape.getOwnColumns() * kWarpgroupRows /
                            kWarpgroupThreads,
                        builder.getF32Type()));
  SmallVector<Value> inits(shape.numProducts,
                           LLVM::ZeroOp::create(builder, sumsType));
  inits.push_back(constant(0));
  inits.push_back(constant(ahead * bytes));
  Value end = constant(products.front().depth);
  auto loop = scf::ForOp::create(builder, constant(0), end,
                                 constant(kStageDepth), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> carried(loop.getRegionIterArgs());
    Value &free = carried[shape.numProducts + 1],
          &stage = carried[shape.numProducts];
    wait(ahead - 1);
    startStage(stage, MutableArrayRef(carried).take_front(shape.numProducts));
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
    for (Value *place : {&stage, &free}) {
      Value after = add(*place, constant(bytes));
      Value isLast =
          arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, after,
                                constant(shape.stages * bytes));
      *place = arith::SelectOp::create(builder, isLast, constant(0), after);
    }
    scf::YieldOp::create(builder, carried);
  }
  NVVM::WgmmaWaitGroupSyncOp::create(builder, 0);
  // The sums go where others may still read.
  gpu::BarrierOp::create(builder);
  return SmallVector<Value>(loop.getResults().take_front(shape.numProducts));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// A warp has 16 rows of its warpgroup's; a thread two neighbours in every
/// eight columns of a row, and of the row eight further on.
void WarpgroupBuilder::store(Value own, Value buffer) {
  Value inGroup = remainder(thread, kWarpgroupThreads);
  Value lane = remainder(thread, kWarpSize);
  Value row =
      add(add(firstRow, multiply(divide(inGroup, kWarpSize), kWarpRows)),
          divide(lane, kThreadsPerRow));
  Value column = add(firstColumn, multiply(remainder(lane, kThreadsPerRow), 2));
  auto pair = VectorType::get({2}, builder.getF32Type());
  for (int64_t i = 0; i < shape.getOwnColumns() / 2; i += 2) {
    Value first = LLVM::ExtractValueOp::create(builder, own, i);
    Value second = LLVM::ExtractValueOp::create(builder, own, i + 1);
    Value both = vector::FromElementsOp::create(builder, pair,
                                                ValueRange{first, second});
    Value m = i / 2 % 2 == 0 ? row : add(row, constant(kWarpRows / 2));
    Value n = add(column, constant(i / 4 * 8));
    vector::StoreOp::create(builder, both, buffer, ValueRange{m, n},
                            /*nontemporal=*/false, llvm::MaybeAlign(8));
  }
}

void WarpgroupBuilder::build(ValueRange sums) {
  for (auto [own, buffer] : llvm::zip(addUp(), sums))
    store(own, buffer);
}
