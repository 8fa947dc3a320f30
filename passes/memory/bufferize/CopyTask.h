//===- CopyTask.h - Build tasks that copy a tensor --------------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_BUFFERIZE_COPYTASK_H
#define ARK_PASSES_MEMORY_BUFFERIZE_COPYTASK_H

#include "passes/memory/bufferize/TensorLayout.h"

namespace mlir::ark {

/// Builds tasks that copy a viewed tensor into a new dense tensor.
class CopyTaskBuilder {
public:
  explicit CopyTaskBuilder(ProgramOp program);

  /// Creates, at the insertion point of `builder`, a copy of `source`, whose
  /// layout is `layout`.
  Value create(OpBuilder &builder, Location loc, Value source,
               const TensorLayout &layout);

private:
  /// Returns a name that no task of the program has.
  std::string getUniqueName();

  ProgramOp program;
  /// Number of vCTAs that run concurrently.
  int64_t sms;
  int64_t copies = 0;
};

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_BUFFERIZE_COPYTASK_H
