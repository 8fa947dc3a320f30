//===- FatalErrors.h - Recovery from LLVM's fatal errors --------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_FATALERRORS_H
#define ARK_LIB_SUPPORT_FATALERRORS_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>

namespace mlir::ark {

/// Makes LLVM's fatal errors print one line before the process ends, except
/// inside `runRecoverably`. Idempotent.
void installFatalErrorHandler();

/// Makes LLVM's fatal errors call `listener` instead of printing, except inside
/// `runRecoverably`.
void setFatalErrorListener(void (*listener)(const char *reason));

/// Runs `body`. If LLVM calls `report_fatal_error` on this thread meanwhile,
/// stops there and returns the message. LLVM has no way to unwind: everything
/// that `body` holds at that point leaks.
std::optional<std::string> runRecoverably(llvm::function_ref<void()> body);

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_FATALERRORS_H
