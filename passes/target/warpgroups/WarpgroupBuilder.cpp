//===- WarpgroupBuilder.cpp - One thread's share of wgmma -----------------===//

#include "passes/target/warpgroups/WarpgroupBuilder.h"

#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WideLoad.h"

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

WarpgroupBuilder::WarpgroupBuilder(ImplicitLocOpBuilder &builder,
                                   ArrayRef<MatmulTile> products,
                                   const WarpgroupShape &shape, Value memory,
                                   Value thread)
    : builder(builder), products(products), shape(shape),
      instruction(MatrixInstruction::create(shape.mma)), thread(thread),
      shared(createSpacePointer(builder, memory, kSharedSpace)) {
  findTile();
  left = createDescriptor(firstRow, products.front().leftMajor);
  for (auto [number, product] : llvm::enumerate(products)) {
    int64_t begin = shape.rows + number * shape.columns;
    rights.push_back(createDescriptor(add(firstColumn, constant(begin)),
                                      product.rightMajor));
  }
}

SmallVector<StagedOperand> WarpgroupBuilder::getOperands() const {
  const MatmulTile &first = products.front();
  SmallVector<StagedOperand> operands = {
      {first.left, shape.rows, first.leftMajor}};
  for (const MatmulTile &product : products)
    operands.push_back({product.right, shape.columns, product.rightMajor,
                        product.convolution ? &*product.convolution : nullptr});
  return operands;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value WarpgroupBuilder::constant(int64_t number) {
  return arith::ConstantIndexOp::create(builder, number);
}

/// Returns a constant of 64 bits, the width of descriptors.
Value WarpgroupBuilder::constantI64(int64_t value) {
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
// Positions of tiles
//===----------------------------------------------------------------------===//

void WarpgroupBuilder::findTile() {
  Value group = divide(thread, shape.getGroupThreads());
  firstRow = multiply(remainder(group, shape.down), shape.getGroupRows());
  Value across = divide(group, shape.down);
  if (shape.getOwners() < shape.groups)
    across = remainder(across, shape.across);
  firstColumn = multiply(across, shape.getGroupColumns());
}

Value WarpgroupBuilder::isOwner() {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                               divide(thread, shape.getGroupThreads()),
                               constant(shape.getOwners()));
}

/// Returns the descriptor of rows from a multiple of eight on, or of panels. A
/// panel of 64 elements takes as many bytes as 64 rows along K.
Value WarpgroupBuilder::createDescriptor(Value firstRow, Major major) {
  Value pointer =
      createOffset(builder, shared, multiply(firstRow, kStageRowBytes));
  return createStageDescriptor(builder, pointer, major == Major::MN);
}

/// Returns the distance of K elements in descriptor units.
static int64_t getDepthUnits(int64_t k, Major major) {
  return k * (major == Major::K ? kElementBytes : kStageRowBytes) /
         kDescriptorUnit;
}

Value WarpgroupBuilder::move(Value descriptor, Value offset) {
  return add(descriptor, offset);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

SmallVector<Value> WarpgroupBuilder::createAccumulators() {
  auto type = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(shape.getAccumulatorsPerThread(),
                                              builder.getF32Type()));
  return SmallVector<Value>(shape.numProducts,
                            LLVM::ZeroOp::create(builder, type));
}

/// Returns the terms of both operands to multiply, the smallest products first.
/// Products that are too small for f32 results are left out.
static SmallVector<std::pair<int64_t, int64_t>> getTermPairs(int64_t terms) {
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t sum = terms - 1; sum >= 0; --sum)
    for (int64_t left = 0; left <= sum; ++left)
      pairs.emplace_back(left, sum - left);
  return pairs;
}

void WarpgroupBuilder::startStage(Value offset,
                                  MutableArrayRef<Value> accumulators) {
  Type element = products.front().getElementType();
  NVVM::WgmmaFenceAlignedOp::create(builder);
  // A constant is added last: ptxas then copies the beginning of a stage to a
  // uniform register once, and not once for each instruction.
  Value leftBegin = move(left, offset);
  SmallVector<Value> rightBegins = llvm::map_to_vector(
      rights, [&](Value right) { return move(right, offset); });
  auto advance = [&](Value begin, Major major, int64_t term, int64_t k) {
    int64_t units = term * shape.getTermBytes() / kDescriptorUnit;
    return move(begin, constantI64(units + getDepthUnits(k, major)));
  };
  Major leftMajor = products.front().leftMajor;
  for (auto [leftTerm, rightTerm] : getTermPairs(shape.terms))
    for (int64_t k = 0; k < kStageDepth; k += shape.mma.getK()) {
      Value a = advance(leftBegin, leftMajor, leftTerm, k);
      for (auto [product, rightBegin, accumulator] :
           llvm::zip(products, rightBegins, accumulators)) {
        Value b = advance(rightBegin, product.rightMajor, rightTerm, k);
        accumulator = instruction
                          ->multiply(builder, element, a, b, accumulator,
                                     {leftMajor == Major::MN,
                                      product.rightMajor == Major::MN})
                          .front();
      }
    }
  NVVM::WgmmaGroupSyncAlignedOp::create(builder);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

std::pair<Value, Value> WarpgroupBuilder::getFirstPosition() {
  MatrixFragment acc = instruction->getAcc();
  Location loc = builder.getLoc();
  Value inGroup = remainder(thread, shape.getGroupThreads());
  Value threadOfWarp = remainder(thread, shape.getWarpSize());
  Value row = add(add(firstRow, multiply(divide(inGroup, shape.getWarpSize()),
                                         shape.getWarpRows())),
                  acc.createFirst(builder, loc, threadOfWarp, /*dim=*/0));
  Value column =
      add(firstColumn, acc.createFirst(builder, loc, threadOfWarp, /*dim=*/1));
  return {row, column};
}

/// Stores accumulators, in the type of the buffer. A warp holds consecutive
/// rows of its warpgroup. A thread's accumulators are the fragments of all `n`
/// columns, each of which consists of neighbouring columns of several rows.
void WarpgroupBuilder::store(Value accumulators, unsigned product,
                             Value buffer) {
  MatrixFragment acc = instruction->getAcc();
  auto [row, column] = getFirstPosition();
  int64_t count = acc.getConsecutive(1);
  auto type = VectorType::get({count}, builder.getF32Type());
  for (int64_t i = 0; i < shape.getAccumulatorsPerThread(); i += count) {
    SmallVector<Value> elements;
    for (int64_t next = 0; next < count; ++next)
      elements.push_back(
          LLVM::ExtractValueOp::create(builder, accumulators, i + next));
    Value vector = vector::FromElementsOp::create(builder, type, elements);
    if (shape.accumulator != type.getElementType())
      vector = arith::TruncFOp::create(
          builder, VectorType::get({count}, shape.accumulator), vector);
    auto [down, across] = acc.getOffset(i % acc.getNumElements());
    int64_t unit = i / acc.getNumElements() * instruction->getColumns();
    Value m = down == 0 ? row : add(row, constant(down));
    Value n = add(column, constant(unit + across));
    vector::StoreOp::create(
        builder, vector, buffer, ValueRange{m, n},
        /*nontemporal=*/false,
        llvm::MaybeAlign(count * shape.accumulator.getIntOrFloatBitWidth() /
                         8));
  }
}

void WarpgroupBuilder::storeAll(ValueRange accumulators, ValueRange buffers) {
  for (auto [product, values] : llvm::enumerate(accumulators))
    store(values, product, buffers[product]);
}

void WarpgroupBuilder::storeIfOwner(ValueRange accumulators,
                                    ValueRange buffers) {
  if (shape.getOwners() == shape.groups)
    return storeAll(accumulators, buffers);
  auto branch = scf::IfOp::create(builder, isOwner(), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  storeAll(accumulators, buffers);
}
