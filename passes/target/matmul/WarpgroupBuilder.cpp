//===- WarpgroupBuilder.cpp - One thread's share of wgmma -----------------===//

#include "passes/target/matmul/WarpgroupBuilder.h"

#include "passes/target/support/SpacePointer.h"
#include "passes/target/support/Warp.h"
#include "passes/target/support/WideLoad.h"

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
/// Rows of a result per warp, and threads that share a row.
static constexpr int64_t kWarpRows = 16;
static constexpr int64_t kThreadsPerRow = 4;

WarpgroupBuilder::WarpgroupBuilder(ImplicitLocOpBuilder &builder,
                                   ArrayRef<MatmulTile> products,
                                   const WarpgroupShape &shape, Value memory,
                                   Value thread)
    : builder(builder), products(products), shape(shape), thread(thread),
      shared(createSpacePointer(builder, memory, kSharedSpace)) {
  findPlace();
  left = createDescriptor(firstRow);
  for (int64_t number = 0; number < shape.numProducts; ++number) {
    int64_t begin = shape.rows + number * shape.columns;
    rights.push_back(createDescriptor(add(firstColumn, constant(begin))));
  }
}

SmallVector<std::pair<Value, int64_t>> WarpgroupBuilder::getFactors() const {
  SmallVector<std::pair<Value, int64_t>> factors;
  factors.emplace_back(products.front().left, shape.rows);
  for (const MatmulTile &product : products)
    factors.emplace_back(product.right, shape.columns);
  return factors;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value WarpgroupBuilder::constant(int64_t number) {
  return arith::ConstantIndexOp::create(builder, number);
}

/// Returns a constant of 64 bits, the width of descriptors.
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

Value WarpgroupBuilder::wrap(Value after, int64_t end) {
  Value isLast = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, after,
                                       constant(end));
  return arith::SelectOp::create(builder, isLast, constant(0), after);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

void WarpgroupBuilder::findPlace() {
  Value group = divide(thread, kWarpgroupThreads);
  firstRow = multiply(remainder(group, shape.down), kWarpgroupRows);
  firstColumn = multiply(divide(group, shape.down), shape.getOwnColumns());
}

/// Returns the descriptor of rows from a multiple of eight on. Bits 16 to 29
/// are ignored if rows are as long as the swizzle.
Value WarpgroupBuilder::createDescriptor(Value firstRow) {
  Value pointer =
      createOffset(builder, shared, multiply(firstRow, kStageRowBytes));
  Value address =
      LLVM::PtrToIntOp::create(builder, builder.getI64Type(), pointer);
  Value place =
      arith::DivUIOp::create(builder, address, number(kDescriptorUnit));
  return arith::OrIOp::create(builder, place, number(kDescriptorLayout));
}

Value WarpgroupBuilder::move(Value descriptor, Value place) {
  return add(descriptor, place);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

SmallVector<Value> WarpgroupBuilder::createSums() {
  int64_t own = shape.getOwnColumns() * kWarpgroupRows / kWarpgroupThreads;
  auto type = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(own, builder.getF32Type()));
  return SmallVector<Value>(shape.numProducts,
                            LLVM::ZeroOp::create(builder, type));
}

void WarpgroupBuilder::startStage(Value place, MutableArrayRef<Value> sums) {
  bool isHalf = products.front().getElementType().isF16();
  auto type = isHalf ? NVVM::WGMMATypes::f16 : NVVM::WGMMATypes::bf16;
  auto context = builder.getContext();
  auto mmaShape = NVVM::MMAShapeAttr::get(context, kWarpgroupRows,
                                          shape.getOwnColumns(), kMmaDepth);
  NVVM::WgmmaFenceAlignedOp::create(builder);
  for (int64_t k = 0; k < kStageDepth; k += kMmaDepth) {
    Value begin = add(place, number(k * kElementBytes / kDescriptorUnit));
    Value a = move(left, begin);
    for (auto [right, sum] : llvm::zip(rights, sums)) {
      auto typeAttr = NVVM::WGMMATypesAttr::get(context, type);
      auto one = NVVM::WGMMAScaleInAttr::get(context, NVVM::WGMMAScaleIn::one);
      sum =
          NVVM::WgmmaMmaAsyncOp::create(
              builder, sum.getType(), sum, a, move(right, begin), mmaShape,
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

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Stores accumulators. A warp holds 16 rows of its warpgroup. A thread holds
/// two neighbouring columns of every eight, in rows `m` and `m + 8`.
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
