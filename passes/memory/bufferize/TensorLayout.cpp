//===- TensorLayout.cpp - Tensors as strided parts of buffers -------------===//

#include "passes/memory/bufferize/TensorLayout.h"

#include "lib/support/BufferView.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

TensorLayout TensorLayout::getDense(ArrayRef<int64_t> shape) {
  return {0, SmallVector<int64_t>(shape), getDenseStrides(shape)};
}

TensorLayout TensorLayout::getOrdered(ArrayRef<int64_t> shape,
                                      ArrayRef<int64_t> order) {
  TensorLayout layout = getDense(shape);
  int64_t stride = 1;
  for (int64_t dim : llvm::reverse(order)) {
    layout.strides[dim] = stride;
    stride *= shape[dim];
  }
  return layout;
}

TensorLayout TensorLayout::getSplat(ArrayRef<int64_t> shape) {
  return {0, SmallVector<int64_t>(shape), SmallVector<int64_t>(shape.size())};
}

bool TensorLayout::isDense() const { return ark::isDense(shape, strides); }

/// Sets the strides of dimensions of extent one, which address nothing, to the
/// strides of a dense tensor. Types that differ only in such strides become
/// equal, and so do the bodies that use these types.
static TensorLayout normalized(TensorLayout layout) {
  int64_t stride = 1;
  for (size_t dim = layout.shape.size(); dim-- > 0;) {
    if (layout.shape[dim] == 1)
      layout.strides[dim] = stride;
    stride = layout.strides[dim] * layout.shape[dim];
  }
  return layout;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Returns the layout of a reshape. Splits both shapes into the shortest runs
/// of dimensions with equal numbers of elements; strides express a run if the
/// source's dimensions in it are contiguous.
static std::optional<TensorLayout> reshapeLayout(const TensorLayout &source,
                                                 ArrayRef<int64_t> shape) {
  TensorLayout result = TensorLayout::getDense(shape);
  result.offset = source.offset;
  if (ShapedType::getNumElements(shape) == 0)
    return result;

  SmallVector<int64_t> oldShape, oldStrides;
  for (auto [extent, stride] : llvm::zip(source.shape, source.strides))
    if (extent != 1) {
      oldShape.push_back(extent);
      oldStrides.push_back(stride);
    }

  size_t newDim = 0;
  for (size_t oldDim = 0; oldDim < oldShape.size();) {
    size_t oldEnd = oldDim + 1, newEnd = newDim + 1;
    int64_t oldCount = oldShape[oldDim], newCount = shape[newDim];
    while (oldCount != newCount) {
      if (newCount < oldCount)
        newCount *= shape[newEnd++];
      else
        oldCount *= oldShape[oldEnd++];
    }
    for (size_t dim = oldDim; dim + 1 < oldEnd; ++dim)
      if (oldStrides[dim] != oldStrides[dim + 1] * oldShape[dim + 1])
        return std::nullopt;
    int64_t stride = oldStrides[oldEnd - 1];
    for (size_t dim = newEnd; dim-- > newDim;) {
      result.strides[dim] = stride;
      stride *= shape[dim];
    }
    oldDim = oldEnd;
    newDim = newEnd;
  }
  return result;
}

static TensorLayout transposeLayout(const TensorLayout &source,
                                    ArrayRef<int64_t> permutation) {
  TensorLayout result = source;
  for (auto [dim, from] : llvm::enumerate(permutation)) {
    result.shape[dim] = source.shape[from];
    result.strides[dim] = source.strides[from];
  }
  return result;
}

static TensorLayout sliceLayout(const TensorLayout &source, SliceOp slice) {
  TensorLayout result = source;
  result.shape.assign(slice.getType().getShape().begin(),
                      slice.getType().getShape().end());
  for (size_t dim = 0; dim < source.shape.size(); ++dim) {
    // An empty slice may start after the last element.
    if (result.shape[dim] != 0)
      result.offset += slice.getStarts()[dim] * source.strides[dim];
    result.strides[dim] *= slice.getSteps()[dim];
  }
  return result;
}

static TensorLayout broadcastLayout(const TensorLayout &source,
                                    ArrayRef<int64_t> shape) {
  TensorLayout result = TensorLayout::getSplat(shape);
  result.offset = source.offset;
  size_t added = shape.size() - source.shape.size();
  for (size_t dim = 0; dim < source.shape.size(); ++dim)
    if (source.shape[dim] == shape[added + dim])
      result.strides[added + dim] = source.strides[dim];
  return result;
}

/// Returns the layout of a bitcast: a wider element joins neighbouring
/// elements, and narrower elements split an element.
static std::optional<TensorLayout> bitcastLayout(const TensorLayout &source,
                                                 BitcastOp bitcast) {
  RankedTensorType type = bitcast.getType();
  int64_t from =
              getElementBytes(bitcast.getSource().getType().getElementType()),
          to = getElementBytes(type.getElementType());
  if (from == to)
    return source;
  if (type.getNumElements() == 0)
    return TensorLayout::getDense(type.getShape());
  size_t last = source.shape.size() - 1;
  if (source.shape[last] != 1 && source.strides[last] != 1)
    return std::nullopt;
  TensorLayout result = source;
  result.shape[last] = type.getDimSize(last);
  result.strides[last] = 1;
  bool fits = source.offset * from % to == 0;
  result.offset = source.offset * from / to;
  for (size_t dim = 0; dim < last; ++dim) {
    fits &= source.shape[dim] == 1 || source.strides[dim] * from % to == 0;
    result.strides[dim] = source.strides[dim] * from / to;
  }
  return fits ? std::optional(result) : std::nullopt;
}

std::optional<TensorLayout> mlir::ark::viewLayout(ViewOpInterface view,
                                                  const TensorLayout &source) {
  auto layout =
      llvm::TypeSwitch<Operation *, std::optional<TensorLayout>>(
          view.getOperation())
          .Case([&](ReshapeOp op) {
            return reshapeLayout(source, op.getShape());
          })
          .Case([&](TransposeOp op) {
            return transposeLayout(source, op.getPermutation());
          })
          .Case([&](SliceOp op) { return sliceLayout(source, op); })
          .Case([&](BroadcastToOp op) {
            return broadcastLayout(source, op.getShape());
          })
          .Case([&](BitcastOp op) { return bitcastLayout(source, op); })
          .Case([&](IdentityOp) { return source; })
          .Default(std::nullopt);
  if (layout)
    return normalized(*layout);
  return std::nullopt;
}

Value mlir::ark::skipViews(Value tensor) {
  while (auto view = tensor.getDefiningOp<ViewOpInterface>())
    tensor = view.getViewSource();
  return tensor;
}

OpOperand *mlir::ark::getUpdatedOperand(OpResult result) {
  auto task = cast<TaskOp>(result.getOwner());
  OpOperand &out = task.getOutsMutable()[result.getResultNumber()];
  return out.get().getDefiningOp<tensor::EmptyOp>() ? nullptr : &out;
}

LogicalResult mlir::ark::verifyOnTensors(ProgramOp program) {
  for (TypeRange types : {TypeRange(program.getArgumentTypes()),
                          TypeRange(program.getResultTypes())})
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.hasStaticShape())
        return program.emitError("has an argument or a result of type ")
               << type << ", which is not a tensor of static shape";
    }
  return success();
}

bool mlir::ark::isOutputBuffer(OpOperand &operand) {
  auto result = dyn_cast<OpResult>(operand.get());
  if (!result || !isa<TaskOp>(result.getOwner()) || getUpdatedOperand(result))
    return false;
  return llvm::none_of(result.getUses(), [&](OpOperand &use) {
    return use.getOwner() == operand.getOwner() &&
           use.getOperandNumber() < operand.getOperandNumber();
  });
}

//===----------------------------------------------------------------------===//
// Choice of the order of dimensions
//===----------------------------------------------------------------------===//

namespace {
/// The views between a base tensor and one of its uses.
using ViewPath = SmallVector<ViewOpInterface>;

/// Cost of an order of dimensions; the first field is the most important.
struct OrderCost {
  int64_t copiedElements = 0;
  int64_t stridedUses = 0;

  bool operator<(const OrderCost &other) const {
    return std::tie(copiedElements, stridedUses) <
           std::tie(other.copiedElements, other.stridedUses);
  }
};
} // namespace

/// Collects a path for every use of `tensor` by an op that is not a view.
/// Returns false if a use fixes the layout: results of the program are dense.
static bool collectPaths(Value tensor, ViewPath &path,
                         SmallVectorImpl<ViewPath> &paths) {
  bool free = true;
  for (Operation *user : tensor.getUsers()) {
    auto view = dyn_cast<ViewOpInterface>(user);
    if (!view) {
      free &= !(isa<ReturnOp>(user) && path.empty());
      paths.push_back(path);
      continue;
    }
    // Control dependences read no element.
    if (view.getViewSource() != tensor)
      continue;
    path.push_back(view);
    free &= collectPaths(view->getResult(0), path, paths);
    path.pop_back();
  }
  return free;
}

static OrderCost getCost(const TensorLayout &base, ArrayRef<ViewPath> paths) {
  OrderCost cost;
  llvm::SmallDenseSet<Value> copied;
  for (const ViewPath &path : paths) {
    std::optional<TensorLayout> layout = base;
    for (ViewOpInterface view : path) {
      std::optional<TensorLayout> next = viewLayout(view, *layout);
      if (!next) {
        if (copied.insert(view.getViewSource()).second)
          cost.copiedElements += ShapedType::getNumElements(layout->shape);
        // The copy is dense, and so, usually, are the tensors read through it.
        layout = std::nullopt;
        break;
      }
      layout = next;
    }
    if (layout && !layout->isDense())
      ++cost.stridedUses;
  }
  return cost;
}

/// Returns the order of dimensions in which the transposes at the head of a
/// path are dense.
static SmallVector<int64_t> getPreferredOrder(const ViewPath &path,
                                              int64_t rank) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(rank));
  for (ViewOpInterface view : path) {
    if (isa<IdentityOp>(view))
      continue;
    auto transpose = dyn_cast<TransposeOp>(view.getOperation());
    if (!transpose)
      break;
    SmallVector<int64_t> composed;
    for (int64_t from : transpose.getPermutation())
      composed.push_back(order[from]);
    order = composed;
  }
  return order;
}

static SmallVector<int64_t> chooseOrder(Value result) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(result.getType()).getShape();
  int64_t rank = shape.size();
  auto identity = llvm::to_vector(llvm::seq<int64_t>(rank));

  ViewPath path;
  SmallVector<ViewPath> paths;
  if (!collectPaths(result, path, paths))
    return identity;
  // The first candidate, row-major, wins ties.
  llvm::SetVector<SmallVector<int64_t>, SmallVector<SmallVector<int64_t>>,
                  std::set<SmallVector<int64_t>>>
      candidates;
  candidates.insert(identity);
  for (const ViewPath &path : paths)
    candidates.insert(getPreferredOrder(path, rank));

  SmallVector<int64_t> best = identity;
  std::optional<OrderCost> bestCost;
  for (const SmallVector<int64_t> &order : candidates) {
    OrderCost cost = getCost(TensorLayout::getOrdered(shape, order), paths);
    if (!bestCost || cost < *bestCost) {
      best = order;
      bestCost = cost;
    }
  }
  return best;
}

//===----------------------------------------------------------------------===//
// TensorPlacements
//===----------------------------------------------------------------------===//

ArrayRef<int64_t> TensorPlacements::getOrder(Value base) {
  auto [entry, inserted] = orders.try_emplace(base);
  if (inserted) {
    int64_t rank = cast<RankedTensorType>(base.getType()).getRank();
    entry->second = base.getDefiningOp<TaskOp>()
                        ? chooseOrder(base)
                        : llvm::to_vector(llvm::seq<int64_t>(rank));
  }
  return entry->second;
}

std::optional<TensorPlacement> TensorPlacements::lookup(Value tensor) {
  SmallVector<ViewOpInterface> views;
  Value base = tensor;
  while (true) {
    if (auto view = base.getDefiningOp<ViewOpInterface>()) {
      views.push_back(view);
      base = view.getViewSource();
      continue;
    }
    auto result = dyn_cast<OpResult>(base);
    if (result && isa<TaskOp>(result.getOwner()))
      if (OpOperand *updated = getUpdatedOperand(result)) {
        base = updated->get();
        continue;
      }
    break;
  }

  ArrayRef<int64_t> shape = cast<RankedTensorType>(base.getType()).getShape();
  auto constant = base.getDefiningOp<ConstantOp>();
  TensorLayout layout = constant && isa<SplatElementsAttr>(constant.getValue())
                            ? TensorLayout::getSplat(shape)
                            : TensorLayout::getOrdered(shape, getOrder(base));
  for (ViewOpInterface view : llvm::reverse(views)) {
    std::optional<TensorLayout> next = viewLayout(view, layout);
    if (!next)
      return std::nullopt;
    layout = *next;
  }
  return TensorPlacement{base, layout};
}
