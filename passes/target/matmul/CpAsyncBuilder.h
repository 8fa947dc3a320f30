//===- CpAsyncBuilder.h - Matmul stages copied by cp.async ------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_CPASYNCBUILDER_H
#define ARK_PASSES_TARGET_MATMUL_CPASYNCBUILDER_H

#include "passes/target/matmul/WarpgroupBuilder.h"

namespace mlir::ark {

/// Copies each stage with all threads by `cp.async`, 16 bytes of a row at a
/// time.
class CpAsyncBuilder : public WarpgroupBuilder {
public:
  CpAsyncBuilder(ImplicitLocOpBuilder &builder, ArrayRef<MatmulTile> products,
                 const WarpgroupShape &shape, Value memory, Value thread,
                 int64_t threads);

private:
  /// An operand: the address at which this thread begins to copy, the bytes
  /// from one of the thread's rows to the next one, and the number of rows.
  struct Source {
    Value pointer, stride;
    int64_t rows;
  };

  SmallVector<Value> addUp() override;
  void addSource(Value buffer, int64_t rows);
  void copy(Value k, Value stage);
  void wait(int64_t count);

  int64_t threads;
  /// The row that this thread copies, and its part of the row.
  Value copiedRow, copiedPart;
  SmallVector<Source> sources;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_CPASYNCBUILDER_H
