//===- Aliasing.h - Aliasing of buffers in a body ---------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_ALIASING_H
#define ARK_PASSES_TARGET_SUPPORT_ALIASING_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::ark {

/// Returns the buffer that `buffer` is a view of: an argument of the body, or a
/// temporary.
Value getRoot(Value buffer);

/// Returns true if a root shares bytes with no other root.
bool isNoAlias(Value root);

/// Returns true if two buffers may have bytes in common. A temporary shares no
/// bytes with other buffers, nor does an argument that is marked `noalias`.
/// Parts of a buffer that lie beside each other share no bytes either.
bool mayAlias(Value a, Value b);

/// A read or a write. A null buffer stands for unknown memory.
struct Access {
  Value buffer;
  bool writes;
};

/// Returns the reads and writes of an op and of the ops inside of it. An
/// allocation is no access. A function touches only the buffers that it is
/// given: the kernel has no globals.
SmallVector<Access> getAccesses(Operation *op);

/// Returns true if the order of two accesses matters.
bool conflict(const Access &a, const Access &b);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_ALIASING_H
