//===- Aliasing.h - Aliasing of buffers in a body ---------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_ALIASING_H
#define ARK_PASSES_TARGET_SUPPORT_ALIASING_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::ark {

/// Returns the buffer that `buffer` is a view of: an argument of the body or a
/// temporary.
Value getRoot(Value buffer);

/// Returns true if a root aliases no other root.
bool isNoAlias(Value root);

/// Returns true if two buffers may overlap. A temporary and a `noalias`
/// argument overlap no other buffer. Disjoint subviews of a buffer do not
/// overlap either.
bool mayAlias(Value a, Value b);

/// A read or a write. A null buffer means unknown memory.
struct Access {
  Value buffer;
  bool writes;
};

/// Returns the accesses of an op and of the ops nested in it. An allocation is
/// not an access. A call accesses only buffers that are its operands, because a
/// kernel has no globals.
SmallVector<Access> getAccesses(Operation *op);

/// Returns true if the order of two accesses matters.
bool conflict(const Access &a, const Access &b);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_ALIASING_H
