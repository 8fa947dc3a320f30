//===- BufferView.h - Which bytes of which buffer a memref names -*- C++
//-*-===//

#ifndef ARK_LIB_SUPPORT_BUFFERVIEW_H
#define ARK_LIB_SUPPORT_BUFFERVIEW_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace mlir::ark {

/// Whether elements follow one another in row-major order, without gaps.
bool isDense(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides);

/// A memref of a bufferised program in terms of the buffer that it lies in.
/// Element `(i, j, ...)` is at byte
/// `byteOffset + (i * strides[0] + j * strides[1] + ...) * elementBytes`
/// of `root`.
struct BufferView {
  /// A block argument of the program, or the result of `ark.arena`. Before the
  /// arena is planned also the result of a `memref.alloc`.
  Value root;
  /// What was allocated: `root`, or the `memref.view` that is an intermediate
  /// of the arena. Two of these may share bytes of the root.
  Value buffer;
  /// From the first byte of `root` to element 0.
  int64_t byteOffset = 0;
  SmallVector<int64_t> shape;
  /// In elements; zero along a broadcast dimension, never negative.
  SmallVector<int64_t> strides;
  Type elementType;
  int64_t elementBytes = 0;

  int64_t getNumElements() const;
  /// One past the last byte of `root` that an element occupies; `byteOffset`
  /// for an empty view.
  int64_t getByteEnd() const;
  bool isDense() const { return ark::isDense(shape, strides); }
  /// Whether the view is all of `root`, as `root` is: no op lies between.
  bool isWholeRoot() const;

  bool operator==(const BufferView &other) const;
};

/// Bytes of one element in a buffer: a bool takes one.
int64_t getElementBytes(Type elementType);

/// Bytes of a dense buffer of static shape.
int64_t getBufferBytes(ShapedType type);

/// Row-major strides of a dense buffer, in elements.
SmallVector<int64_t> getDenseStrides(ArrayRef<int64_t> shape);

/// Strides and offset of a memref, in elements, dynamic ones included. Unlike
/// MemRefType's own, this knows the strides of a dense buffer without elements.
LogicalResult getStridesAndOffset(MemRefType type,
                                  SmallVectorImpl<int64_t> &strides,
                                  int64_t &offset);

/// Whether a root is the buffer of packets, which order nothing but themselves.
bool isPackets(Value root);

/// Follows a memref to its root, through `memref.view` at constant offset and
/// `ark.buffer_cast`, `memref.reinterpret_cast`, `subview`, `expand_shape`,
/// `collapse_shape`, `transpose` and `cast` of static layout. Where it cannot,
/// fails with an error at the op that stands in the way.
FailureOr<BufferView> resolveBufferView(Value memref);

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_BUFFERVIEW_H
