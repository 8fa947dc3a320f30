//===- CpAsyncBuilder.h - Matmul stages copied by cp.async ------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_CPASYNCBUILDER_H
#define ARK_PASSES_TARGET_MATMUL_CPASYNCBUILDER_H

#include "passes/target/matmul/WarpgroupBuilder.h"

namespace mlir::ark {

/// Copies each stage with `cp.async`: every thread copies 16 bytes at a time.
class CpAsyncBuilder : public WarpgroupBuilder {
public:
  CpAsyncBuilder(ImplicitLocOpBuilder &builder, ArrayRef<MatmulTile> products,
                 const WarpgroupShape &shape, Value memory, Value thread,
                 int64_t threads);

private:
  /// An operand: the address at which this thread begins to copy, the bytes of
  /// a row, and the number of stage rows.
  struct Source {
    Value pointer, rowBytes;
    int64_t rows;
    Major major;
  };

  SmallVector<Value> accumulate() override;
  void addSource(const StagedOperand &operand);
  Value getDistance(const Source &source, Value k, int64_t row);
  void copy(Value k, Value stage);

  int64_t threads;
  /// The first row that this thread copies, and the thread's part of each row.
  Value copiedRow, copiedPart;
  SmallVector<Source> sources;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_CPASYNCBUILDER_H
