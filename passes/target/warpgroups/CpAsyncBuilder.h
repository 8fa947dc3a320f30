//===- CpAsyncBuilder.h - Matmul stages copied by cp.async ------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WARPGROUPS_CPASYNCBUILDER_H
#define ARK_PASSES_TARGET_WARPGROUPS_CPASYNCBUILDER_H

#include "passes/target/warpgroups/ThreadCopyBuilder.h"

namespace mlir::ark {

/// Copies each stage with `cp.async`: every thread copies 16 bytes at a time.
class CpAsyncBuilder : public ThreadCopyBuilder {
public:
  CpAsyncBuilder(ImplicitLocOpBuilder &builder, ArrayRef<MatmulTile> products,
                 const WarpgroupShape &shape, Value memory, Value thread,
                 int64_t threads);

private:
  SmallVector<Value> accumulate() override;
  void copy(Value k, Value stage);
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WARPGROUPS_CPASYNCBUILDER_H
