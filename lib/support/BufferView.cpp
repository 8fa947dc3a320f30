//===- BufferView.cpp - Bytes of a buffer that a memref names -------------===//

#include "lib/support/BufferView.h"

#include "dialects/ark/ArkLimits.h"
#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Sizes and strides
//===----------------------------------------------------------------------===//

int64_t mlir::ark::getElementBytes(Type elementType) {
  if (elementType.isIntOrFloat())
    return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
  if (auto vector = dyn_cast<VectorType>(elementType))
    return vector.getNumElements() * getElementBytes(vector.getElementType());
  if (auto complex = dyn_cast<ComplexType>(elementType))
    return 2 * getElementBytes(complex.getElementType());
  // Indices are as wide as pointers, which take 64 bits on every target. All
  // other element types are pointers.
  return 8;
}

int64_t mlir::ark::getBufferBytes(ShapedType type) {
  return type.getNumElements() * getElementBytes(type.getElementType());
}

SmallVector<int64_t> mlir::ark::getDenseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

LogicalResult mlir::ark::getStridesAndOffset(MemRefType type,
                                             SmallVectorImpl<int64_t> &strides,
                                             int64_t &offset) {
  if (!type.getLayout().isIdentity() || !type.hasStaticShape())
    return type.getStridesAndOffset(strides, offset);
  strides = getDenseStrides(type.getShape());
  offset = 0;
  return success();
}

int64_t BufferView::getNumElements() const {
  return ShapedType::getNumElements(shape);
}

int64_t BufferView::getByteEnd() const {
  if (getNumElements() == 0)
    return byteOffset;
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip(shape, strides))
    last += (extent - 1) * stride;
  return byteOffset + (last + 1) * elementBytes;
}

bool mlir::ark::isDense(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    // The stride of a dimension of extent 1 is never used.
    if (shape[dim] != 1 && strides[dim] != stride)
      return false;
    stride *= shape[dim];
  }
  return true;
}

bool BufferView::coversRoot() const {
  auto type = cast<MemRefType>(root.getType());
  return byteOffset == 0 && isDense() && elementType == type.getElementType() &&
         getNumElements() == type.getNumElements();
}

bool BufferView::operator==(const BufferView &other) const {
  return root == other.root && byteOffset == other.byteOffset &&
         shape == other.shape && strides == other.strides &&
         elementType == other.elementType;
}

//===----------------------------------------------------------------------===//
// Resolution
//===----------------------------------------------------------------------===//

/// Returns the source of a view op that keeps the base pointer of its source,
/// and null for other ops.
static Value getViewedOperand(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<BufferCastOp, memref::ReinterpretCastOp, memref::SubViewOp,
            memref::CastOp>([](auto view) { return view.getSource(); })
      .Case<memref::ExpandShapeOp, memref::CollapseShapeOp>(
          [](auto view) { return view.getSrc(); })
      .Case<memref::TransposeOp>([](auto view) { return view.getIn(); })
      .Default(nullptr);
}

static bool isRoot(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<ProgramOp>(argument.getOwner()->getParentOp());
  return isa<ArenaOp, PacketsOp, memref::AllocOp>(value.getDefiningOp());
}

bool mlir::ark::isPackets(Value root) {
  return isa_and_nonnull<PacketsOp>(root.getDefiningOp());
}

/// Returns the bytes that a `memref.view` adds to the address of its source.
static FailureOr<int64_t> getByteShift(memref::ViewOp view) {
  llvm::APInt shift;
  if (!matchPattern(view.getByteShift(), m_ConstantInt(&shift)))
    return view.emitError("lies at an offset that is not constant");
  if (shift.isNegative())
    return view.emitError("lies at a negative offset");
  if (shift.sgt(kMaxBytes))
    return view.emitError("lies at an offset of more than 2^47 bytes");
  return shift.getSExtValue();
}

FailureOr<BufferView> mlir::ark::resolveBufferView(Value memref) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  if (!type)
    return emitError(memref.getLoc()) << memref.getType() << " is not a buffer";

  BufferView view;
  int64_t offset;
  if (!type.hasStaticShape() ||
      failed(getStridesAndOffset(type, view.strides, offset)) ||
      ShapedType::isDynamic(offset) ||
      llvm::any_of(view.strides, ShapedType::isDynamic))
    return emitError(memref.getLoc())
           << type << " has no static shape, strides and offset";
  if (offset < 0 ||
      llvm::any_of(view.strides, [](int64_t stride) { return stride < 0; }))
    return emitError(memref.getLoc())
           << type << " has a negative stride or offset";
  if (!type.getElementType().isIntOrFloat())
    return emitError(memref.getLoc())
           << type << " has elements without a known size";
  view.shape.assign(type.getShape().begin(), type.getShape().end());
  view.elementType = type.getElementType();
  view.elementBytes = getElementBytes(view.elementType);

  // The offset in a memref's type counts from its base pointer, which only
  // memref.view moves. The last type thus includes the offsets of all other
  // ops.
  view.byteOffset = offset * view.elementBytes;
  Value current = memref;
  while (!isRoot(current)) {
    Operation *op = current.getDefiningOp();
    if (!op)
      return emitError(current.getLoc(), "is not a buffer of the program");
    if (auto shifted = dyn_cast<memref::ViewOp>(op)) {
      FailureOr<int64_t> shift = getByteShift(shifted);
      if (failed(shift))
        return failure();
      view.byteOffset += *shift;
      view.buffer = shifted;
      current = shifted.getSource();
      continue;
    }
    Value viewed = getViewedOperand(op);
    if (!viewed)
      return op->emitError("cannot be resolved to a part of a buffer");
    current = viewed;
  }
  view.root = current;
  if (!view.buffer)
    view.buffer = current;
  return view;
}
