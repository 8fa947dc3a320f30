//===- GuardedRun.h - Work in a child process -------------------*- C++ -*-===//

#ifndef ARK_LIB_CAPI_GUARDEDRUN_H
#define ARK_LIB_CAPI_GUARDEDRUN_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstddef>
#include <sys/resource.h>

namespace mlir {
class PassManager;
} // namespace mlir

namespace mlir::ark {

/// Memory that the guarded process and its parent share.
struct Progress;

/// Tells the parent which step the guarded process executes, and sets the
/// limits of this step.
///
/// Reading and printing by MLIR have low limits of time, memory and stack,
/// because damaged input exhausts them. Passes have the limits of the parent.
class GuardedRun {
public:
  GuardedRun(Progress &progress, unsigned seconds);

  /// Must be called before MLIR reads an input of `bytes`. Sets the limits of
  /// reading, which hold until passes run.
  void beginReading(size_t bytes);

  /// Tells the parent which pass runs, and sets the limits before and after
  /// passes.
  void watchPasses(PassManager &manager);

  /// Must be called when the status of the work is known and only the end of
  /// the process follows.
  void finish();

private:
  class Watcher;

  void setLimits();
  void liftLimits();

  Progress &progress;
  unsigned seconds;
  size_t inputBytes = 0;
  /// The limits of the parent.
  rlimit core, stack, memory, time;
};

/// Runs `work` in a child process. Returns the status of `work` in both
/// processes, so that destructors run in the child, too. If the child crashes,
/// exceeds a limit or does not finish, prints one error that names `file`, and
/// returns 1 in the parent. `seconds` limits the processor time for reading,
/// and again for printing.
///
/// The process must have no other thread.
int runGuarded(StringRef file, unsigned seconds,
               llvm::function_ref<int(GuardedRun &)> work);

} // namespace mlir::ark

#endif // ARK_LIB_CAPI_GUARDEDRUN_H
