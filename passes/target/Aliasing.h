//===- Aliasing.h - Which buffers of a body may overlap ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ALIASING_H
#define ARK_PASSES_TARGET_ALIASING_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::ark {

/// What a buffer is a view of: an argument of the body, or a temporary.
Value getRoot(Value buffer);

/// Whether a root shares bytes with no other.
bool isNoAlias(Value root);

/// Whether two buffers may have bytes in common. Temporaries share none, and
/// neither do arguments that say so, nor parts of a buffer that lie beside each
/// other.
bool mayAlias(Value a, Value b);

/// Memory that an op reads or writes. Where it is not known which, the buffer
/// is null.
struct Access {
  Value buffer;
  bool writes;
};

/// What an op and those inside of it read and write; memory that it gets and
/// frees itself counts for nothing. A function touches the buffers that it is
/// given: the kernel has no globals.
SmallVector<Access> getAccesses(Operation *op);

/// Whether it matters which of two comes first.
bool conflict(const Access &a, const Access &b);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ALIASING_H
