//===- TensorLayout.h - Tensors as strided parts of buffers -----*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_TENSORLAYOUT_H
#define ARK_PASSES_MEMORY_TENSORLAYOUT_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// How the elements of a tensor lie in a buffer. In elements throughout.
struct TensorLayout {
  int64_t offset = 0;
  SmallVector<int64_t> shape;
  SmallVector<int64_t> strides;

  /// Row-major.
  static TensorLayout getDense(ArrayRef<int64_t> shape);
  /// Without gaps, dimension `order[0]` slowest and `order.back()` fastest.
  static TensorLayout getOrdered(ArrayRef<int64_t> shape,
                                 ArrayRef<int64_t> order);
  /// Every element at one place.
  static TensorLayout getSplat(ArrayRef<int64_t> shape);

  bool isDense() const;
  /// Dense and at the start of the buffer.
  bool isWhole() const { return offset == 0 && isDense(); }
};

/// The layout of a view's result, from that of its source; none where no
/// strides express it.
std::optional<TensorLayout> viewLayout(ViewOpInterface view,
                                       const TensorLayout &source);

/// A tensor as part of the buffer of another one.
struct TensorPlacement {
  /// An argument, a constant, or the result of the task that fills the buffer
  /// first: an update in place has the buffer of what it updates.
  Value base;
  TensorLayout layout;
};

/// Decides how tensors lie in memory. An argument is dense. So is the result of
/// a task, unless another order of its dimensions needs fewer copies, or, with
/// as many copies, lets more of its users read a dense tensor.
class TensorPlacements {
public:
  /// None where a view on the way to the base has no strides.
  std::optional<TensorPlacement> lookup(Value tensor);

  /// Dimensions of a base tensor, the slowest first.
  ArrayRef<int64_t> getOrder(Value base);

private:
  llvm::DenseMap<Value, SmallVector<int64_t>> orders;
};

/// The tensor that a chain of views starts from.
Value skipViews(Value tensor);

/// The operand of `outs` that a task updates in place to give `result`; null
/// where the task fills a tensor of its own.
OpOperand *getUpdatedOperand(OpResult result);

/// Emits an error unless a program takes and gives tensors of static shape.
LogicalResult verifyOnTensors(ProgramOp program);

/// Whether an operand of `ark.return` may be the output buffer itself: what a
/// task fills, and fills for this result alone.
bool isOutputBuffer(OpOperand &operand);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_TENSORLAYOUT_H
