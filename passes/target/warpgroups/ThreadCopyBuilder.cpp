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

/// Describes an image, whose windows are the rows of a stage.
ThreadCopyBuilder::Source
ThreadCopyBuilder::getImage(const StagedOperand &operand) {
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, operand.buffer);
  return {createSpacePointer(builder, operand.buffer, kGlobalSpace),
          multiply(metadata.getStrides()[1], elementBytes),
          Value(),
          operand.rows,
          operand.rows,
          operand.major,
          operand.convolution,
          multiply(metadata.getStrides()[0], elementBytes)};
}

ThreadCopyBuilder::Source
ThreadCopyBuilder::getSource(const StagedOperand &operand) {
  if (operand.convolution)
    return getImage(operand);
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

std::array<Value, 3>
ThreadCopyBuilder::getWindow(const RowConvolution &convolution, int64_t row) {
  int64_t panel = row / kStageDepth * kPanelElements;
  // Divisions of 64 bits would take several times as many instructions.
  Value number = arith::IndexCastOp::create(
      builder, builder.getI32Type(),
      add(multiply(copyInRow, kElementsPerCopy), constant(panel)));
  Value pitch =
      arith::ConstantIntOp::create(builder, convolution.getPitch(), 32);
  return {number, arith::DivUIOp::create(builder, number, pitch),
          arith::RemUIOp::create(builder, number, pitch)};
}

/// Returns the distance between the beginning of an image and the elements that
/// this thread copies: those of one element of a window, for neighbouring
/// windows of a row.
Value ThreadCopyBuilder::getWindowDistance(const Source &source, Value k,
                                           int64_t row) {
  const RowConvolution &convolution = *source.convolution;
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, value, 32);
  };
  auto divide = [&](Value a, int64_t b) -> Value {
    return arith::DivUIOp::create(builder, a, number(b));
  };
  auto remainder = [&](Value a, int64_t b) -> Value {
    return arith::RemUIOp::create(builder, a, number(b));
  };
  auto scale = [&](Value a, int64_t b) -> Value {
    return arith::MulIOp::create(builder, a, number(b));
  };
  auto toIndex = [&](Value a) -> Value {
    return arith::IndexCastUIOp::create(builder, builder.getIndexType(), a);
  };
  int64_t elements = convolution.height * convolution.width;
  Value element = arith::IndexCastOp::create(
      builder, builder.getI32Type(),
      add(add(k, copiedRow), constant(row % kStageDepth)));
  Value channel = divide(element, elements);
  Value inWindow = remainder(element, elements);
  auto [window, y, x] = getWindow(convolution, row);
  // Without gaps between its rows, a window has consecutive rows of the image.
  Value below = inWindow;
  if (convolution.dilation != convolution.width)
    below =
        add(scale(divide(inWindow, convolution.width), convolution.dilation),
            remainder(inWindow, convolution.width));
  Value imageRow = add(scale(y, convolution.stride), below);
  Value before =
      arith::MulIOp::create(builder, toIndex(channel), source.channelBytes);
  Value above =
      arith::MulIOp::create(builder, toIndex(imageRow), source.rowBytes);
  return add(add(before, above), multiply(toIndex(x), elementBytes));
}

Value ThreadCopyBuilder::getDistance(const Source &source, Value k,
                                     int64_t row) {
  if (source.convolution)
    return getWindowDistance(source, k, row);
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
