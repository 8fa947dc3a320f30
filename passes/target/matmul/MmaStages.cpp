//===- MmaStages.cpp - Operands staged in shared memory -------------------===//

#include "passes/target/matmul/MmaStages.h"

#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/support/Aliasing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the stages. On an H200, a product of 64 x 14336 x 4096 in
/// tiles of 64 x 64 takes 53 us with six stages, and 73 us with three.
static constexpr int64_t kMaxStages = 6;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Returns the bytes of a row per slice. Two rows fill all banks.
int64_t MmaStages::getRowBytes(const MmaShape &shape) {
  return shape.sliceElements * shape.elementBytes;
}

/// Returns the number of threads that copy one row of a stage.
int64_t MmaStages::getThreadsPerRow(const MmaShape &shape) {
  return kSlicesPerStage * getRowBytes(shape) / kLoadBytes;
}

static int64_t getNumRows(ArrayRef<MatmulTile> products,
                          const MmaShape &shape) {
  return shape.getRows() + products.size() * shape.getColumns();
}

/// Returns the bytes of a slice with padding, so that the second slice begins
/// in other banks than the first one.
int64_t MmaStages::getSliceBytes(ArrayRef<MatmulTile> products,
                                 const MmaShape &shape) {
  return (getNumRows(products, shape) + 1) * getRowBytes(shape);
}

int64_t MmaStages::getBytes(ArrayRef<MatmulTile> products,
                            const MmaShape &shape, int64_t count) {
  return count * shape.parts * kSlicesPerStage * getSliceBytes(products, shape);
}

/// Returns true if all threads copy the same number of rows, and all rows
/// exist.
bool MmaStages::isEven(const MmaShape &shape, Value buffer, int64_t rows,
                       int64_t threads) {
  bool isGlobal = !getRoot(buffer).getDefiningOp<memref::AllocaOp>();
  return isGlobal && cast<MemRefType>(buffer.getType()).getDimSize(0) == rows &&
         rows * getThreadsPerRow(shape) % threads == 0;
}

int64_t MmaStages::choose(ArrayRef<MatmulTile> products, const MmaShape &shape,
                          int64_t threads, int64_t bytes) {
  const MatmulTile &first = products.front();
  bool fits =
      !first.isSkinny() && !shape.isRagged &&
      llvm::all_of(
          products,
          [](const MatmulTile &product) { return product.isPlain(); }) &&
      shape.slices % kSlicesPerStage == 0 &&
      shape.getBusyWarps() * shape.warpSize == threads &&
      isEven(shape, first.left, shape.getRows(), threads) &&
      llvm::all_of(products, [&](const MatmulTile &product) {
        return isEven(shape, product.right, shape.getColumns(), threads);
      });
  int64_t count = std::min(kMaxStages, shape.slices / kSlicesPerStage);
  while (count > 1 && getBytes(products, shape, count) > bytes)
    --count;
  return fits && count > 1 ? count : 0;
}

//===----------------------------------------------------------------------===//
// Generated code
//===----------------------------------------------------------------------===//

MmaStages::MmaStages(ImplicitLocOpBuilder &builder,
                     ArrayRef<MatmulTile> products, const MmaShape &shape,
                     Value memory, Value thread, int64_t threads)
    : builder(builder), products(products), shape(shape), threads(threads),
      thread(thread) {
  shared = createSpacePointer(builder, memory, kSharedSpace);
  addSource(products.front().left, shape.getRows());
  for (const MatmulTile &product : products)
    addSource(product.right, shape.getColumns());
}

Value MmaStages::constant(int64_t number) {
  return arith::ConstantIndexOp::create(builder, number);
}

Value MmaStages::add(Value a, Value b) {
  return arith::AddIOp::create(builder, a, b);
}

Value MmaStages::multiply(Value a, int64_t b) {
  return arith::MulIOp::create(builder, a, constant(b));
}

void MmaStages::addSource(Value buffer, int64_t rows) {
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
  sources.push_back(
      {createSpacePointer(builder, buffer, kGlobalSpace),
       multiply(metadata.getStrides().front(), shape.elementBytes), rows});
}

int64_t MmaStages::getStageBytes() const {
  return getBytes(products, shape, /*count=*/1);
}

int64_t MmaStages::getFirstRow(unsigned product) const {
  return shape.getRows() + product * shape.getColumns();
}

/// Copies a stage: eight threads copy 128 bytes of a row.
void MmaStages::copy(Value k, Value stage) {
  int64_t sliceBytes = getSliceBytes(products, shape);
  int64_t rowBytes = getRowBytes(shape);
  int64_t threadsPerRow = getThreadsPerRow(shape);
  Value threadRow =
      arith::DivUIOp::create(builder, thread, constant(threadsPerRow));
  Value inRow =
      arith::RemUIOp::create(builder, thread, constant(threadsPerRow));
  Value from =
      add(multiply(k, shape.elementBytes), multiply(inRow, kLoadBytes));
  Value half = constant(threadsPerRow / kSlicesPerStage);
  Value slice = arith::DivUIOp::create(builder, inRow, half);
  Value number = arith::RemUIOp::create(builder, inRow, half);
  Value to = add(stage, multiply(threadRow, rowBytes));
  to = add(to, add(multiply(slice, sliceBytes), multiply(number, kLoadBytes)));
  int64_t step = threads / threadsPerRow;
  int64_t length = shape.slices * shape.sliceElements * shape.elementBytes;
  for (int64_t part = 0; part < shape.parts; ++part) {
    int64_t row = 0;
    for (const Source &source : sources)
      for (int64_t rowOffset = 0; rowOffset < source.rows;
           rowOffset += step, row += step) {
        Value sourceRow = add(threadRow, constant(rowOffset));
        Value distance =
            arith::MulIOp::create(builder, sourceRow, source.stride);
        distance = add(distance, add(from, constant(part * length)));
        Value target = add(
            to, constant(part * kSlicesPerStage * sliceBytes + row * rowBytes));
        NVVM::CpAsyncOp::create(builder, createOffset(builder, shared, target),
                                createOffset(builder, source.pointer, distance),
                                kLoadBytes, NVVM::LoadCacheModifierKind::CG,
                                /*cpSize=*/Value());
      }
  }
}

void MmaStages::commit() { NVVM::CpAsyncCommitGroupOp::create(builder); }

void MmaStages::wait(int64_t count) {
  NVVM::CpAsyncWaitGroupOp::create(builder, count);
  gpu::BarrierOp::create(builder);
}

Value MmaStages::load(Value stage, Value part, int64_t slice, Value row,
                      Value number) {
  int64_t sliceBytes = getSliceBytes(products, shape);
  Value bytes = add(stage, multiply(part, kSlicesPerStage * sliceBytes));
  bytes = add(bytes, add(multiply(row, getRowBytes(shape)),
                         multiply(number, kLoadBytes)));
  bytes = add(bytes, constant(slice * sliceBytes));
  auto words = VectorType::get({kLoadBytes / 4}, builder.getI32Type());
  return LLVM::LoadOp::create(builder, words,
                              createOffset(builder, shared, bytes), kLoadBytes);
}
