//===- BodyViews.cpp - Views of tiles and temporaries ---------------------===//

#include "passes/memory/verify/BodyViews.h"

#include "lib/support/BufferView.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ark;

bool ark::isBodyView(Operation *op) {
  return isa<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
             memref::ReinterpretCastOp, memref::SubViewOp, memref::TransposeOp>(
      op);
}

Value ark::getViewRoot(Value buffer) {
  while (Operation *view = buffer.getDefiningOp()) {
    if (!isBodyView(view))
      break;
    buffer = view->getOperand(0);
  }
  return buffer;
}

LogicalResult ark::checkRange(BodyBounds &bounds, Operation *op, Value buffer,
                              int64_t dim, const LinearForm &first,
                              const LinearForm &last) {
  LinearForm end = bounds.getExtent(buffer, dim) - 1;
  if (bounds.isNonNegative(first, op) && bounds.isNonNegative(end - last, op))
    return success();
  return op->emitError("may leave ")
         << buffer.getType() << " in dimension " << dim;
}

namespace {
class ViewChecker {
public:
  explicit ViewChecker(BodyBounds &bounds) : bounds(bounds) {}

  LogicalResult check(Operation *op);

private:
  LogicalResult checkCast(memref::CastOp op);
  LogicalResult checkExpand(memref::ExpandShapeOp op);
  LogicalResult checkReinterpret(memref::ReinterpretCastOp op);
  LogicalResult checkSubview(memref::SubViewOp op);
  bool fitsInto(memref::ReinterpretCastOp op, ArrayRef<int64_t> strides,
                int64_t offset);
  bool followsDimensions(memref::ReinterpretCastOp op);

  BodyBounds &bounds;
};
} // namespace

LogicalResult ViewChecker::checkSubview(memref::SubViewOp op) {
  for (int64_t dim = 0; dim < op.getSourceType().getRank(); ++dim) {
    LinearForm offset = bounds.getIndex(op.getMixedOffsets()[dim]);
    LinearForm size = bounds.getIndex(op.getMixedSizes()[dim]);
    std::optional<int64_t> stride =
        getConstantIntValue(op.getMixedStrides()[dim]);
    if (!stride || *stride < 1 || !bounds.isNonNegative(size, op))
      return op.emitError("takes a part of ")
             << op.getSourceType() << " whose bounds are unknown in dimension "
             << dim;
    // An empty part begins inside of the buffer or at its end.
    LinearForm last = offset + (size - 1) * *stride;
    if (failed(checkRange(bounds, op, op.getSource(), dim, offset, last)))
      return failure();
  }
  return success();
}

LogicalResult ViewChecker::checkExpand(memref::ExpandShapeOp op) {
  for (auto [dim, parts] : llvm::enumerate(op.getReassociationIndices())) {
    LinearForm product = bounds.getProduct(op.getResult(), parts);
    if (failed(checkRange(bounds, op, op.getSrc(), dim, 0, product - 1)))
      return failure();
  }
  return success();
}

LogicalResult ViewChecker::checkCast(memref::CastOp op) {
  auto from = dyn_cast<MemRefType>(op.getSource().getType());
  auto to = dyn_cast<MemRefType>(op.getType());
  SmallVector<int64_t> fromStrides, toStrides;
  int64_t fromOffset, toOffset;
  if (!from || !to ||
      failed(getStridesAndOffset(from, fromStrides, fromOffset)) ||
      failed(getStridesAndOffset(to, toStrides, toOffset)))
    return op.emitError("is a cast between types without strides");
  auto mayDiffer = [](int64_t known, int64_t wanted) {
    return !ShapedType::isDynamic(wanted) && known != wanted;
  };
  if (mayDiffer(fromOffset, toOffset) ||
      llvm::any_of(llvm::zip(fromStrides, toStrides), [&](auto pair) {
        return mayDiffer(std::get<0>(pair), std::get<1>(pair));
      }))
    return op.emitError("declares strides or an offset that ")
           << from << " may not have";
  for (int64_t dim = 0; dim < to.getRank(); ++dim)
    if (!to.isDynamicDim(dim) &&
        failed(checkRange(bounds, op, op.getSource(), dim, 0,
                          to.getDimSize(dim) - 1)))
      return failure();
  return success();
}

/// Returns true if a dense source of static shape contains all elements of the
/// result, which must have static shape and strides.
bool ViewChecker::fitsInto(memref::ReinterpretCastOp op,
                           ArrayRef<int64_t> strides, int64_t offset) {
  auto source = cast<MemRefType>(op.getSource().getType());
  MemRefType type = op.getType();
  if (!source.getLayout().isIdentity() || !source.hasStaticShape() ||
      !type.hasStaticShape() || ShapedType::isDynamic(offset) || offset < 0 ||
      llvm::any_of(
          strides,
          [](int64_t stride) {
            return ShapedType::isDynamic(stride) || stride < 0;
          }))
    return false;
  if (type.getNumElements() == 0)
    return true;
  LinearForm last(offset);
  for (auto [extent, stride] : llvm::zip(type.getShape(), strides))
    last += LinearForm(extent - 1) * stride;
  return bounds.isNonNegative(LinearForm(source.getNumElements() - 1) - last,
                              op);
}

/// Returns true if `offset` is the offset of the first element of `source`: the
/// static offset of its type, or the offset of `source` or of a subview that
/// begins at the same element.
static bool isOffsetOf(OpFoldResult offset, TypedValue<MemRefType> source) {
  SmallVector<int64_t> strides;
  int64_t known;
  if (failed(getStridesAndOffset(source.getType(), strides, known)))
    return false;
  auto value = dyn_cast<Value>(offset);
  if (!value)
    return !ShapedType::isDynamic(known) &&
           getConstantIntValue(offset) == known;
  auto metadata = value.getDefiningOp<memref::ExtractStridedMetadataOp>();
  if (!metadata || value != metadata.getOffset())
    return false;
  Value view = metadata.getSource();
  while (view != source) {
    auto part = view.getDefiningOp<memref::SubViewOp>();
    if (!part || !llvm::all_of(part.getMixedOffsets(), isZeroInteger))
      return false;
    view = part.getSource();
  }
  return true;
}

/// Returns the number of elements of dimension `dim` of `source` that a stride
/// advances by, or 0 if the stride is not a multiple of this dimension's
/// stride.
static int64_t getStep(OpFoldResult stride, Value source, int64_t dim) {
  if (auto value = dyn_cast<Value>(stride)) {
    auto metadata = value.getDefiningOp<memref::ExtractStridedMetadataOp>();
    return metadata && metadata.getSource() == source &&
           value == metadata.getStrides()[dim];
  }
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(getStridesAndOffset(cast<MemRefType>(source.getType()), strides,
                                 offset)))
    return 0;
  int64_t wanted = *getConstantIntValue(stride), known = strides[dim];
  if (ShapedType::isDynamic(known))
    return 0;
  if (wanted == known)
    return 1;
  return known > 0 && wanted > 0 && wanted % known == 0 ? wanted / known : 0;
}

/// Returns true if the result begins at the source's first element, and each of
/// its dimensions has one element or follows a distinct dimension of the
/// source.
bool ViewChecker::followsDimensions(memref::ReinterpretCastOp op) {
  auto source = cast<TypedValue<MemRefType>>(op.getSource());
  if (!isOffsetOf(op.getMixedOffsets().front(), source))
    return false;
  llvm::SmallBitVector taken(source.getType().getRank());
  auto take = [&](const LinearForm &size, OpFoldResult stride) {
    for (int64_t dim = 0; dim < source.getType().getRank(); ++dim) {
      int64_t step = taken.test(dim) ? 0 : getStep(stride, source, dim);
      LinearForm last = (size - 1) * step;
      if (step != 0 &&
          bounds.isNonNegative(bounds.getExtent(source, dim) - 1 - last, op)) {
        taken.set(dim);
        return true;
      }
    }
    return false;
  };
  for (auto [size, stride] :
       llvm::zip(op.getMixedSizes(), op.getMixedStrides()))
    if (getConstantIntValue(size) != 1 && !take(bounds.getIndex(size), stride))
      return false;
  // One element of an empty buffer is already out of bounds.
  for (int64_t dim = 0; dim < source.getType().getRank(); ++dim)
    if (!taken.test(dim) &&
        !bounds.isNonNegative(bounds.getExtent(source, dim) - 1, op))
      return false;
  return true;
}

LogicalResult ViewChecker::checkReinterpret(memref::ReinterpretCastOp op) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (isa<MemRefType>(op.getSource().getType()) &&
      succeeded(getStridesAndOffset(op.getType(), strides, offset)) &&
      (fitsInto(op, strides, offset) || followsDimensions(op)))
    return success();
  return op.emitError("may address elements that ")
         << op.getSource().getType() << " does not have";
}

/// Checks a view. Collapsed and transposed buffers need no check: their extents
/// follow from the source.
LogicalResult ViewChecker::check(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](memref::CastOp view) { return checkCast(view); })
      .Case([&](memref::ExpandShapeOp view) { return checkExpand(view); })
      .Case([&](memref::ReinterpretCastOp view) {
        return checkReinterpret(view);
      })
      .Case([&](memref::SubViewOp view) { return checkSubview(view); })
      .Default([](Operation *) { return success(); });
}

LogicalResult ark::checkView(BodyBounds &bounds, Operation *view) {
  return ViewChecker(bounds).check(view);
}
