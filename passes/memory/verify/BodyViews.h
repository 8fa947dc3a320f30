//===- BodyViews.h - Views of tiles and temporaries -------------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_VERIFY_BODYVIEWS_H
#define ARK_PASSES_MEMORY_VERIFY_BODYVIEWS_H

#include "passes/memory/verify/BodyBounds.h"

namespace mlir::ark {

/// Returns true for ops whose result is a part of the memory of their first
/// operand.
bool isBodyView(Operation *op);

/// Returns the tile or the temporary of which a buffer is a view.
Value getViewRoot(Value buffer);

/// Fails with an error unless the indices `first` to `last` are proven to lie
/// inside of a dimension of a buffer.
LogicalResult checkRange(BodyBounds &bounds, Operation *op, Value buffer,
                         int64_t dim, const LinearForm &first,
                         const LinearForm &last);

/// Fails with an error unless all elements of a view are proven to be elements
/// of its source.
LogicalResult checkView(BodyBounds &bounds, Operation *view);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_VERIFY_BODYVIEWS_H
