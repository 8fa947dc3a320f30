//===- ThreadCopyBuilder.h - Stages that threads copy -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_THREADCOPYBUILDER_H
#define ARK_PASSES_TARGET_THREADCOPYBUILDER_H

#include "passes/target/WarpgroupBuilder.h"

namespace mlir::ark {

/// Every thread copies its part of each stage, 16 bytes of a row at a time.
class ThreadCopyBuilder : public WarpgroupBuilder {
public:
  ThreadCopyBuilder(ImplicitLocOpBuilder &builder,
                    ArrayRef<TensorProduct> products,
                    const WarpgroupShape &shape, Value memory, Value thread,
                    int64_t threads);

private:
  /// A factor: where this thread begins to copy, the bytes from one of its rows
  /// to the next, and how many rows there are.
  struct Source {
    Value pointer, stride;
    int64_t rows;
  };

  SmallVector<Value> addUp() override;
  void addSource(Value buffer, int64_t rows);
  void copy(Value k, Value stage);
  void wait(int64_t count);

  int64_t threads;
  /// This thread's row and part of it in a copy.
  Value copiedRow, copiedPart;
  SmallVector<Source> sources;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_THREADCOPYBUILDER_H
