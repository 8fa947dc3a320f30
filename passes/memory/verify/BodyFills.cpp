//===- BodyFills.cpp - Ops that fill buffers of a body --------------------===//

#include "passes/memory/verify/BodyViews.h"

#include "lib/support/BufferView.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::ark;

/// Limit on the elements or cells of a buffer that are tracked one by one.
static constexpr int64_t kMaxCovered = int64_t(1) << 20;

/// Returns true if every loop of a structured op that `map` does not use has at
/// least one iteration. Otherwise the op may write no result.
bool BodyBounds::writesResult(Operation *op, AffineMap map) {
  // An attention without keys has results, too, and rows have columns.
  if (isa<BodyOpInterface>(op))
    return true;
  auto structured = cast<linalg::LinalgOp>(op);
  for (unsigned loop = 0; loop < structured.getNumLoops(); ++loop)
    if (!map.isFunctionOfDim(loop) &&
        !isNonNegative(getLoopExtent(structured, loop) - 1, op))
      return false;
  return true;
}

/// Returns true if an op writes every element of an operand.
bool BodyBounds::fills(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (auto receive = dyn_cast<ReceivePacketsOp>(op))
    return operand.get() == receive.getValues();
  auto bodyOp = dyn_cast<BodyOpInterface>(op);
  if (!isa<linalg::LinalgOp>(op) && !(bodyOp && bodyOp.fillsOut(operand)))
    return false;
  auto structured = cast<IndexingMapOpInterface>(op);
  AffineMap map = structured.getMatchingIndexingMap(&operand);
  if (!cast<DestinationStyleOpInterface>(op).isDpsInit(&operand) ||
      !map.isProjectedPermutation() || !writesResult(op, map))
    return false;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    if (!isNonNegative(getLoopExtent(structured, loop) -
                           getExtent(operand.get(), dim),
                       op))
      return false;
  }
  return true;
}

/// Returns true if the result is dense and has as many elements as a dense
/// source.
static bool reshapesDense(memref::ReinterpretCastOp op) {
  auto source = dyn_cast<MemRefType>(op.getSource().getType());
  MemRefType type = op.getType();
  SmallVector<int64_t> strides;
  int64_t offset;
  return source && source.hasStaticShape() && type.hasStaticShape() &&
         source.getLayout().isIdentity() &&
         succeeded(getStridesAndOffset(type, strides, offset)) && offset == 0 &&
         isDense(type.getShape(), strides) &&
         type.getNumElements() == source.getNumElements();
}

/// Returns the distance between the first elements of a tile or temporary and
/// of a view of it, or nothing if the distance is not constant.
static std::optional<int64_t> getDistance(Value view, Value root) {
  SmallVector<int64_t> strides;
  int64_t offset;
  auto type = cast<MemRefType>(view.getType());
  if (root.getDefiningOp<memref::AllocaOp>())
    return succeeded(type.getStridesAndOffset(strides, offset)) &&
                   !ShapedType::isDynamic(offset)
               ? std::optional(offset)
               : std::nullopt;
  if (view == root)
    return 0;
  Operation *op = view.getDefiningOp();
  Value source = op->getOperand(0);
  std::optional<int64_t> distance = getDistance(source, root);
  // The offset of a cast of a dense buffer is arbitrary.
  if (isa<memref::ReinterpretCastOp>(op) &&
      cast<MemRefType>(source.getType()).getLayout().isIdentity())
    return std::nullopt;
  auto part = dyn_cast<memref::SubViewOp>(op);
  if (!distance || !part)
    return distance; // other views begin at the first element of their source
  if (failed(part.getSourceType().getStridesAndOffset(strides, offset)))
    return std::nullopt;
  for (auto [first, stride] : llvm::zip(part.getStaticOffsets(), strides)) {
    if (first == 0)
      continue;
    if (ShapedType::isDynamic(first) || ShapedType::isDynamic(stride))
      return std::nullopt;
    *distance += first * stride;
  }
  return distance;
}

/// Returns true if `part` begins at the same element as `whole`, and for each
/// dimension of `part` with several elements, `whole` has a dimension of equal
/// stride that is at least as long.
bool BodyBounds::contains(Value whole, Value part, Operation *at) {
  Value root = getViewRoot(part);
  SmallVector<int64_t> own, wanted;
  int64_t offset;
  if (getViewRoot(whole) != root)
    return false;
  std::optional<int64_t> distance = getDistance(whole, root);
  if (!distance || distance != getDistance(part, root) ||
      failed(
          cast<MemRefType>(whole.getType()).getStridesAndOffset(own, offset)) ||
      failed(
          cast<MemRefType>(part.getType()).getStridesAndOffset(wanted, offset)))
    return false;
  llvm::SmallBitVector taken(own.size());
  return llvm::all_of(llvm::seq<int64_t>(0, wanted.size()), [&](int64_t dim) {
    LinearForm extent = getExtent(part, dim);
    if (isNonNegative(LinearForm(1) - extent, at))
      return true;
    for (int64_t other = 0; other < static_cast<int64_t>(own.size()); ++other)
      if (!taken.test(other) && !ShapedType::isDynamic(wanted[dim]) &&
          own[other] == wanted[dim] &&
          isNonNegative(getExtent(whole, other) - extent, at)) {
        taken.set(other);
        return true;
      }
    return false;
  });
}

/// Returns true if a view contains every element of its source.
bool BodyBounds::isWhole(Operation *view) {
  if (isa<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
          memref::TransposeOp>(view))
    return true;
  if (auto cast = dyn_cast<memref::ReinterpretCastOp>(view))
    return reshapesDense(cast) || contains(cast, cast.getSource(), cast);
  auto part = dyn_cast<memref::SubViewOp>(view);
  if (!part || !llvm::all_of(part.getMixedOffsets(), isZeroInteger) ||
      !llvm::all_of(part.getMixedStrides(), isOneInteger))
    return false;
  for (auto [dim, size] : llvm::enumerate(part.getMixedSizes()))
    if (!isNonNegative(getIndex(size) - getExtent(part.getSource(), dim), part))
      return false;
  return true;
}

/// Follows views that contain all elements to the underlying buffer.
Value BodyBounds::skipWholeViews(Value buffer) {
  Operation *view = buffer.getDefiningOp();
  while (isa_and_nonnull<ViewLikeOpInterface>(view) && isWhole(view)) {
    buffer = view->getOperand(0);
    view = buffer.getDefiningOp();
  }
  return buffer;
}

/// Collects the uses of a buffer and of its views.
static void collectUses(Value buffer, SmallVectorImpl<OpOperand *> &uses) {
  for (OpOperand &use : buffer.getUses()) {
    uses.push_back(&use);
    if (isa<ViewLikeOpInterface>(use.getOwner()))
      collectUses(use.getOwner()->getResult(0), uses);
  }
}

/// Returns the buffers that contain every element of `buffer`: an op that fills
/// one of these fills `buffer`.
llvm::SmallPtrSet<Value, 4> BodyBounds::collectWholes(Value buffer) {
  llvm::SmallPtrSet<Value, 4> wholes;
  for (Value whole = skipWholeViews(buffer);;
       whole = skipWholeViews(whole.getDefiningOp()->getOperand(0))) {
    wholes.insert(whole);
    if (!isa_and_nonnull<ViewLikeOpInterface>(whole.getDefiningOp()))
      return wholes;
  }
}

/// Returns true if the owner of `use` fills the operand, and precedes `reader`
/// in every execution.
bool BodyBounds::isFillBefore(OpOperand &use, Operation *reader) {
  Operation *writer = use.getOwner();
  Operation *next = writer->getBlock()->findAncestorOpInBlock(*reader);
  return next && writer->isBeforeInBlock(next) && fills(use);
}

/// Returns true if an op that fills one of `buffers` precedes `reader` in every
/// execution. `uses` are all uses of these buffers and of their views.
bool BodyBounds::hasFillBefore(const llvm::SmallPtrSetImpl<Value> &buffers,
                               ArrayRef<OpOperand *> uses, Operation *reader) {
  return llvm::any_of(uses, [&](OpOperand *use) {
    return buffers.contains(skipWholeViews(use->get())) &&
           isFillBefore(*use, reader);
  });
}

/// Returns true if `part` begins at index 0 of a dimension and skips no
/// element.
static bool beginsDim(memref::SubViewOp part, int64_t dim) {
  return isZeroInteger(part.getMixedOffsets()[dim]) &&
         isOneInteger(part.getMixedStrides()[dim]);
}

namespace {
/// Constant offsets, sizes and strides of a subview in some dimensions.
struct Box {
  SmallVector<int64_t> offsets, sizes, strides;

  static std::optional<Box> get(memref::SubViewOp part, ArrayRef<int64_t> dims);
  bool hasUnitStride() const {
    return llvm::all_of(strides, [](int64_t stride) { return stride == 1; });
  }
  bool contains(ArrayRef<int64_t> position) const {
    return llvm::all_of(llvm::seq<size_t>(0, position.size()), [&](size_t dim) {
      int64_t distance = position[dim] - offsets[dim];
      return distance >= 0 && distance < sizes[dim];
    });
  }
};
} // namespace

std::optional<Box> Box::get(memref::SubViewOp part, ArrayRef<int64_t> dims) {
  Box box;
  for (int64_t dim : dims) {
    std::optional<int64_t> offset =
                               getConstantIntValue(part.getMixedOffsets()[dim]),
                           size =
                               getConstantIntValue(part.getMixedSizes()[dim]),
                           stride =
                               getConstantIntValue(part.getMixedStrides()[dim]);
    if (!offset || !size || !stride)
      return std::nullopt;
    box.offsets.push_back(*offset);
    box.sizes.push_back(*size);
    box.strides.push_back(*stride);
  }
  return box;
}

/// Returns true if boxes without gaps cover all elements of a tensor. The
/// borders of the boxes divide the tensor into cells, and a box contains a cell
/// completely or not at all, so one element of each cell suffices.
static bool coverCells(ArrayRef<Box> boxes, ArrayRef<int64_t> extents) {
  SmallVector<SmallVector<int64_t>> borders;
  SmallVector<int64_t> counts;
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    SmallVector<int64_t> &begins = borders.emplace_back();
    begins.push_back(0);
    for (const Box &box : boxes)
      for (int64_t border :
           {box.offsets[dim], box.offsets[dim] + box.sizes[dim]})
        if (border > 0 && border < extent)
          begins.push_back(border);
    llvm::sort(begins);
    begins.erase(llvm::unique(begins), begins.end());
    counts.push_back(begins.size());
  }
  int64_t cells = ShapedType::getNumElements(counts);
  if (cells > kMaxCovered)
    return false;
  SmallVector<int64_t> steps = computeStrides(counts);
  return llvm::all_of(llvm::seq<int64_t>(0, cells), [&](int64_t cell) {
    SmallVector<int64_t> position = delinearize(cell, steps);
    for (auto [index, begins] : llvm::zip_equal(position, borders))
      index = begins[index];
    return llvm::any_of(boxes,
                        [&](const Box &box) { return box.contains(position); });
  });
}

/// Returns true if boxes cover all elements of a tensor, or false if it has too
/// many elements.
static bool coverElements(ArrayRef<Box> boxes, ArrayRef<int64_t> extents) {
  int64_t elements = ShapedType::getNumElements(extents);
  if (elements > kMaxCovered)
    return false;
  llvm::BitVector covered(elements);
  SmallVector<int64_t> steps = computeStrides(extents);
  for (const Box &box : boxes) {
    SmallVector<int64_t> boxSteps = computeStrides(box.sizes);
    for (int64_t i = 0, e = ShapedType::getNumElements(box.sizes); i < e; ++i) {
      SmallVector<int64_t> position = delinearize(i, boxSteps);
      for (auto [index, offset, stride] :
           llvm::zip_equal(position, box.offsets, box.strides))
        index = offset + index * stride;
      covered.set(linearize(position, steps));
    }
  }
  return covered.all();
}

/// Returns true if `parts` together cover all elements of a buffer. Dimensions
/// that some part does not cover completely must have static extents, offsets
/// and strides.
bool BodyBounds::areCovering(ArrayRef<memref::SubViewOp> parts, Value buffer,
                             Operation *reader) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> dims, extents;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    bool isWholeInAll = llvm::all_of(parts, [&](memref::SubViewOp part) {
      return beginsDim(part, dim) &&
             isNonNegative(getIndex(part.getMixedSizes()[dim]) -
                               getExtent(buffer, dim),
                           reader);
    });
    if (isWholeInAll)
      continue;
    if (type.isDynamicDim(dim))
      return false;
    dims.push_back(dim);
    extents.push_back(type.getDimSize(dim));
  }
  SmallVector<Box> boxes;
  for (memref::SubViewOp part : parts) {
    std::optional<Box> box = Box::get(part, dims);
    if (!box)
      return false;
    boxes.push_back(std::move(*box));
  }
  bool areContiguous =
      llvm::all_of(boxes, [](const Box &box) { return box.hasUnitStride(); });
  return areContiguous ? coverCells(boxes, extents)
                       : coverElements(boxes, extents);
}

/// Adds the distances of a view's elements from the first element of `root`.
/// Returns false if they are not constant, or too many.
static bool addElements(Value view, Value root,
                        llvm::DenseSet<int64_t> &elements) {
  auto type = cast<MemRefType>(view.getType());
  std::optional<int64_t> distance = getDistance(view, root);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!distance || !type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamicShape(strides) ||
      type.getNumElements() > kMaxCovered)
    return false;
  SmallVector<int64_t> steps = computeStrides(type.getShape());
  for (int64_t i = 0, e = type.getNumElements(); i < e; ++i)
    elements.insert(*distance + linearize(delinearize(i, steps), strides));
  return true;
}

/// Returns true if ops before `reader` fill views of a tile or temporary that
/// together contain all elements of `buffer`.
bool BodyBounds::isFilledByViews(Value root, Value buffer,
                                 ArrayRef<OpOperand *> uses,
                                 Operation *reader) {
  llvm::DenseSet<int64_t> filled, wanted;
  if (!addElements(buffer, root, wanted) && !addElements(root, root, wanted))
    return false;
  for (OpOperand *use : uses)
    if (isFillBefore(*use, reader))
      addElements(use->get(), root, filled);
  return llvm::all_of(
      wanted, [&](int64_t element) { return filled.contains(element); });
}

bool BodyBounds::isFilledBefore(Value buffer, Operation *reader) {
  auto type = cast<MemRefType>(buffer.getType());
  if (type.hasStaticShape() && type.getNumElements() == 0)
    return true;
  Value root = getViewRoot(buffer);
  SmallVector<OpOperand *> uses;
  collectUses(root, uses);
  if (hasFillBefore(collectWholes(buffer), uses, reader))
    return true;
  if (llvm::any_of(uses, [&](OpOperand *use) {
        return contains(use->get(), buffer, reader) &&
               isFillBefore(*use, reader);
      }))
    return true;
  // Several ops may each fill a subview of the buffer.
  Value whole = skipWholeViews(buffer);
  SmallVector<memref::SubViewOp> parts;
  for (OpOperand *use : uses) {
    auto part = dyn_cast<memref::SubViewOp>(use->getOwner());
    if (!part || part.getSource() != whole)
      continue;
    llvm::SmallPtrSet<Value, 1> filled = {part.getResult()};
    if (hasFillBefore(filled, uses, reader))
      parts.push_back(part);
  }
  if (!parts.empty() && areCovering(parts, whole, reader))
    return true;
  return isFilledByViews(root, buffer, uses, reader);
}

/// Returns the last op of the body before `reader` that writes every element of
/// `buffer`, or null.
Operation *BodyBounds::findLastFill(Value buffer, ArrayRef<OpOperand *> uses,
                                    Operation *reader) {
  llvm::SmallPtrSet<Value, 4> wholes = collectWholes(buffer);
  Operation *last = nullptr;
  for (OpOperand *use : uses) {
    auto writer = dyn_cast<linalg::LinalgOp>(use->getOwner());
    if (writer && writer->getParentOp() == task &&
        writer->isBeforeInBlock(reader) &&
        (!last || last->isBeforeInBlock(writer)) &&
        wholes.contains(skipWholeViews(use->get())) && fills(*use))
      last = writer;
  }
  return last;
}

/// Returns a form for the index that a load from a temporary yields. The index
/// was stored by the last op that fills the temporary, or by a later op.
LinearForm BodyBounds::computeLoaded(Value buffer, Operation *at) {
  Value root = getViewRoot(buffer);
  if (!cast<MemRefType>(buffer.getType()).getElementType().isIndex() ||
      !root.getDefiningOp<memref::AllocaOp>())
    return system.createVariable();
  Block &body = task.getBody().front();
  Operation *reader = body.findAncestorOpInBlock(*at);
  SmallVector<OpOperand *> uses;
  collectUses(root, uses);
  Operation *fill = findLastFill(buffer, uses, reader);
  if (!fill)
    return system.createVariable();
  SmallVector<LinearForm> stored;
  for (OpOperand *use : uses) {
    Operation *user = body.findAncestorOpInBlock(*use->getOwner());
    if (user->isBeforeInBlock(fill) || reader->isBeforeInBlock(user))
      continue;
    if (auto writer = dyn_cast<linalg::LinalgOp>(use->getOwner())) {
      if (writer.isDpsInit(use))
        stored.push_back(getIndex(writer.getMatchingYieldValue(use)->get()));
    } else if (auto store = dyn_cast<memref::StoreOp>(use->getOwner())) {
      stored.push_back(getIndex(store.getValueToStore()));
    } else if (!isa<memref::DimOp, memref::ExtractStridedMetadataOp,
                    memref::LoadOp, ViewLikeOpInterface>(use->getOwner())) {
      return system.createVariable();
    }
  }
  SmallVector<Facts, 0> cases;
  for (const LinearForm &form : stored) {
    llvm::DenseMap<unsigned, unsigned> names;
    cases.push_back({system.renameVarying(form, names)});
  }
  std::optional<Interval> interval;
  for (const LinearForm &form : stored) {
    Interval own = system.getInterval(form);
    interval = interval ? unite(*interval, own) : own;
  }
  LinearForm loaded = system.createVariable(interval.value_or(Interval()));
  for (Facts &facts : cases)
    facts = {loaded - facts.front(), facts.front() - loaded};
  system.setCases(loaded, std::move(cases));
  return loaded;
}
