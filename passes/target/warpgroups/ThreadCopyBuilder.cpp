//===- ThreadCopyBuilder.cpp - Stages that all threads copy ---------------===//

#include "passes/target/warpgroups/ThreadCopyBuilder.h"

#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WideLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::ark;

/// Copies of 16 bytes per row of a stage, and the elements of a copy.
static constexpr int64_t kCopiesPerRow = kStageRowBytes / kLoadBytes;
static constexpr int64_t kElementsPerCopy = kStageDepth / kCopiesPerRow;

ThreadCopyBuilder::ThreadCopyBuilder(ImplicitLocOpBuilder &builder,
                                     ArrayRef<MatmulTile> products,
                                     const WarpgroupShape &shape, Value memory,
                                     Value thread, int64_t threads,
                                     int64_t elementBytes)
    : WarpgroupBuilder(builder, products, shape, memory, thread),
      threads(threads), elementBytes(elementBytes),
      copiedRow(divide(thread, kCopiesPerRow)),
      copyInRow(remainder(thread, kCopiesPerRow)),
      sources(getSources(getOperands())) {}

int64_t ThreadCopyBuilder::getRowsAtOnce(int64_t threads) {
  return threads / kCopiesPerRow;
}

/// Returns true if the rows of an operand are known at compile time, and whole
/// warps copy them.
bool ThreadCopyBuilder::isCopiedByWholeWarps(
    const StagedOperand &operand) const {
  if (operand.major == Major::MN)
    return !operand.isClipped();
  int64_t rows = cast<MemRefType>(operand.buffer.getType()).getDimSize(0);
  return !ShapedType::isDynamic(rows) &&
         rows * kCopiesPerRow % shape.getWarpSize() == 0;
}

/// Returns the number of rows of an operand from the first one of the thread's
/// first copy on.
Value ThreadCopyBuilder::getRemaining(const StagedOperand &operand) {
  bool isPlain = operand.major == Major::K;
  Value extent = getValueOrCreateConstantIndexOp(
      builder, builder.getLoc(),
      memref::getMixedSize(builder, builder.getLoc(), operand.buffer,
                           isPlain ? 0 : 1));
  return arith::SubIOp::create(builder, extent,
                               isPlain ? copiedRow
                                       : multiply(copyInRow, kElementsPerCopy));
}

ThreadCopyBuilder::Source
ThreadCopyBuilder::getSource(const StagedOperand &operand) {
  Value buffer = operand.buffer;
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
  Value rowBytes = multiply(metadata.getStrides().front(), elementBytes);
  Value begin = add(arith::MulIOp::create(builder, copiedRow, rowBytes),
                    multiply(copyInRow, kElementsPerCopy * elementBytes));
  Value pointer = createSpacePointer(builder, buffer, kGlobalSpace);
  Source source{createOffset(builder, pointer, begin),
                rowBytes,
                Value(),
                operand.rows,
                operand.rows,
                operand.major};
  if (!isCopiedByWholeWarps(operand))
    source.remaining = getRemaining(operand);
  else if (operand.major == Major::K)
    source.copiedRows = std::min(
        operand.rows, cast<MemRefType>(buffer.getType()).getDimSize(0));
  return source;
}

SmallVector<ThreadCopyBuilder::Source>
ThreadCopyBuilder::getSources(ArrayRef<StagedOperand> operands) {
  return llvm::map_to_vector(operands, [&](const StagedOperand &operand) {
    return getSource(operand);
  });
}

Value ThreadCopyBuilder::getDistance(const Source &source, Value k,
                                     int64_t row) {
  if (source.major == Major::K)
    return add(multiply(k, elementBytes), multiply(source.rowBytes, row));
  Value before = arith::MulIOp::create(builder, k, source.rowBytes);
  int64_t panel = row / kStageDepth * kPanelElements * elementBytes;
  return add(before, add(multiply(source.rowBytes, row % kStageDepth),
                         constant(panel)));
}

Value ThreadCopyBuilder::getTarget() {
  Value copy = arith::XOrIOp::create(builder, copyInRow,
                                     remainder(copiedRow, kBlockRows));
  return add(multiply(copiedRow, kStageRowBytes), multiply(copy, kLoadBytes));
}
