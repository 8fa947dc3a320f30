//===- Ark.cpp - C API of ark ---------------------------------------------===//

#include "lib/capi/ark-c/Ark.h"

#include "dialects/ark/ArkDialect.h"
#include "lib/registration/RegisterAll.h"
#include "lib/support/FatalErrors.h"
#include "lib/target/Bitcode.h"
#include "lib/target/NativeObject.h"
#include "lib/validation/TableProof.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/Diagnostics.h"

#include <mutex>

using namespace mlir;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Ark, ark, ark::ArkDialect)

void arkRegisterDialects(MlirDialectRegistry registry) {
  ark::registerAllArkDialects(*unwrap(registry));
}

void arkRegisterPasses(void) {
  static std::once_flag once;
  std::call_once(once, ark::registerAllArkPasses);
}

void arkInstallFatalErrorHandler(void) { ark::installFatalErrorHandler(); }

static ark::NativeObjectOptions unwrap(const ArkCodegenOptions &options) {
  return {unwrap(options.triple).str(), unwrap(options.cpu).str(),
          unwrap(options.features).str(), options.optLevel};
}

MlirLogicalResult arkTranslate(MlirModule module, ArkCodeKind kind,
                               const ArkCodegenOptions *options,
                               MlirStringCallback callback, void *userData) {
  ark::NativeObjectOptions native;
  if (options)
    native = unwrap(*options);
  auto deliver = [&](auto &&code) {
    if (failed(code))
      return mlirLogicalResultFailure();
    callback(mlirStringRefCreate(code->data(), code->size()), userData);
    return mlirLogicalResultSuccess();
  };
  switch (kind) {
  case ArkCodeObject:
    return deliver(ark::translateToObject(unwrap(module), native));
  case ArkCodeAssembly:
    return deliver(ark::translateToAssembly(unwrap(module), native));
  case ArkCodeLLVMIR:
    return deliver(ark::translateToLLVMIR(unwrap(module)));
  case ArkCodeOptimizedIR:
    return deliver(ark::translateToLLVMIR(unwrap(module), &native));
  }
  return mlirLogicalResultFailure();
}

MlirLogicalResult arkTranslateToObject(MlirModule module,
                                       const ArkCodegenOptions *options,
                                       MlirStringCallback callback,
                                       void *userData) {
  return arkTranslate(module, ArkCodeObject, options, callback, userData);
}

void arkGetHostCpu(MlirStringCallback callback, void *triple, void *name,
                   void *features) {
  ark::HostCpu host = ark::getHostCpu();
  callback(mlirStringRefCreate(host.triple.data(), host.triple.size()), triple);
  callback(mlirStringRefCreate(host.name.data(), host.name.size()), name);
  callback(mlirStringRefCreate(host.features.data(), host.features.size()),
           features);
}

MlirLogicalResult arkSetDataLayout(MlirStringRef bitcode, MlirStringRef layout,
                                   MlirStringCallback callback, void *data,
                                   void *problem) {
  auto changed = ark::setDataLayout(unwrap(bitcode), unwrap(layout));
  if (changed) {
    callback(mlirStringRefCreate(changed->data(), changed->size()), data);
    return mlirLogicalResultSuccess();
  }
  std::string message = llvm::toString(changed.takeError());
  callback(mlirStringRefCreate(message.data(), message.size()), problem);
  return mlirLogicalResultFailure();
}

/// Returns `file:line` of a location, or only the file for line 0.
static std::string describe(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "";
  std::string text = file.getFilename().str();
  if (file.getLine())
    text += ":" + std::to_string(file.getLine());
  return text;
}

MlirLogicalResult arkProveTables(const ArkBundleTables *tables,
                                 ArkTableProof *proof,
                                 ArkProblemCallback report, void *userData) {
  // The context has no threads, since the caller may fork afterwards. A single
  // program would not use them.
  MLIRContext context(MLIRContext::Threading::DISABLED);
  // Printing an op of a schedule would print the whole program.
  context.printOpOnDiagnostic(false);
  auto deliver = [&](Diagnostic &diagnostic, bool isNote) {
    std::string location = describe(diagnostic.getLocation());
    std::string message = diagnostic.str();
    report({location.data(), location.size()}, {message.data(), message.size()},
           isNote, userData);
  };
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    deliver(diagnostic, /*isNote=*/false);
    for (Diagnostic &note : diagnostic.getNotes())
      deliver(note, /*isNote=*/true);
    return success();
  });
  FailureOr<ark::ScheduleProof> proven =
      ark::proveTables({unwrap(tables->where), unwrap(tables->manifest),
                        unwrap(tables->instructions), unwrap(tables->lanes),
                        unwrap(tables->tasks), unwrap(tables->operands)},
                       context);
  if (failed(proven))
    return mlirLogicalResultFailure();
  *proof = {proven->vctas, proven->cells, proven->accesses};
  return mlirLogicalResultSuccess();
}
