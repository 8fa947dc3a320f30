//===- CopyTask.h - Tasks that copy a tensor --------------------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_COPYTASK_H
#define ARK_PASSES_MEMORY_COPYTASK_H

#include "passes/memory/TensorLayout.h"

namespace mlir::ark {

/// Makes tasks that copy a tensor, as it is seen through views, into a dense
/// one of its own.
class CopyTaskBuilder {
public:
  explicit CopyTaskBuilder(ProgramOp program);

  /// The copy of `source`, which has layout `layout`, made at the insertion
  /// point of `builder`.
  Value create(OpBuilder &builder, Location loc, Value source,
               const TensorLayout &layout);

private:
  /// A name that no task of the program has.
  std::string getUniqueName();

  ProgramOp program;
  /// vCTAs that run at a time.
  int64_t sms;
  int64_t copies = 0;
};

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_COPYTASK_H
