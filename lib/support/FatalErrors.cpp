//===- FatalErrors.cpp - Recovery from LLVM's fatal errors ----------------===//

#include "lib/support/FatalErrors.h"

#include "llvm/Support/ErrorHandling.h"

#include <csetjmp>
#include <cstdio>
#include <mutex>

using namespace mlir;

namespace {
/// The stack frame at which this thread continues after a fatal error, and the
/// message of the error.
struct Recovery {
  std::jmp_buf target;
  std::string message;
};
thread_local Recovery *currentRecovery = nullptr;

void print(const char *reason) {
  std::fprintf(stderr, "ark: fatal error in LLVM: %s\n", reason);
}
void (*fatalErrorListener)(const char *) = print;
} // namespace

/// Leaves LLVM by longjmp, the only way out, since LLVM is compiled without
/// exceptions. LLVM's CrashRecoveryContext does the same, but also takes over
/// the signal handlers of the host process, which are Python's to set.
static void handleFatalError(void *, const char *reason, bool) {
  if (Recovery *recovery = currentRecovery) {
    recovery->message = reason;
    std::longjmp(recovery->target, 1);
  }
  fatalErrorListener(reason);
}

void ark::installFatalErrorHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(handleFatalError, nullptr);
  });
}

void ark::setFatalErrorListener(void (*listener)(const char *)) {
  installFatalErrorHandler();
  fatalErrorListener = listener;
}

std::optional<std::string>
ark::runRecoverably(llvm::function_ref<void()> body) {
  installFatalErrorHandler();
  // A variable that is read after the jump must not live in a register:
  // `recovery` is reached through its address, and `outer` is not changed after
  // setjmp.
  Recovery recovery;
  Recovery *const outer = currentRecovery;
  currentRecovery = &recovery;
  if (setjmp(recovery.target) != 0) {
    currentRecovery = outer;
    return std::move(recovery.message);
  }
  body();
  currentRecovery = outer;
  return std::nullopt;
}
