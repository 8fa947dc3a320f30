//===- TensorLayout.h - Tensors as strided parts of buffers -----*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_BUFFERIZE_TENSORLAYOUT_H
#define ARK_PASSES_MEMORY_BUFFERIZE_TENSORLAYOUT_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Position of a tensor's elements in a buffer, counted in elements.
struct TensorLayout {
  int64_t offset = 0;
  SmallVector<int64_t> shape;
  SmallVector<int64_t> strides;

  /// Returns the row-major layout.
  static TensorLayout getDense(ArrayRef<int64_t> shape);
  /// Returns the layout without gaps in which dimension `order[0]` is slowest
  /// and `order.back()` fastest.
  static TensorLayout getOrdered(ArrayRef<int64_t> shape,
                                 ArrayRef<int64_t> order);
  /// Returns the layout with all elements at one position.
  static TensorLayout getSplat(ArrayRef<int64_t> shape);

  bool isDense() const;
  /// Returns true if the layout is dense and begins at the start of the buffer.
  bool isWhole() const { return offset == 0 && isDense(); }
};

/// Returns the layout of a view's result, given the layout of its source.
/// Returns nothing if strides cannot express the view.
std::optional<TensorLayout> viewLayout(ViewOpInterface view,
                                       const TensorLayout &source);

/// A tensor as part of the buffer of a base tensor.
struct TensorPlacement {
  /// An argument, a constant, or the result of the task that fills the buffer
  /// first; an update in place has the buffer of the updated tensor.
  Value base;
  TensorLayout layout;
};

/// Decides the memory layout of tensors. An argument is dense. The result of a
/// task is dense as well, unless another order of its dimensions needs fewer
/// copies, or needs the same number of copies and lets more users read a dense
/// tensor.
class TensorPlacements {
public:
  /// Returns the buffer and layout of a tensor. Returns nothing if strides
  /// cannot express a view between `tensor` and its base.
  std::optional<TensorPlacement> lookup(Value tensor);

  /// Returns the dimensions of a base tensor, the slowest first.
  ArrayRef<int64_t> getOrder(Value base);

private:
  llvm::DenseMap<Value, SmallVector<int64_t>> orders;
};

/// Returns the source of a chain of views.
Value skipViews(Value tensor);

/// Returns the operand of `outs` that a task updates in place to produce
/// `result`, or null if the task fills a new tensor.
OpOperand *getUpdatedOperand(OpResult result);

/// Emits an error unless all arguments and results of a program are tensors of
/// static shape.
LogicalResult verifyOnTensors(ProgramOp program);

/// Returns true if an operand of `ark.return` may be the output buffer itself:
/// a task fills it for this result alone.
bool isOutputBuffer(OpOperand &operand);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_BUFFERIZE_TENSORLAYOUT_H
