/*===- Ark.h - C API of ark -------------------------------------*- C -*-===*\
|*                                                                            *|
|* What the Python bindings call. Every function may be called from C.        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef ARK_C_ARK_H
#define ARK_C_ARK_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Handle of the dialect: mlirGetDialectHandle__ark__().
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Ark, ark);

/// Adds the dialect, and the interfaces that it attaches to other dialects.
MLIR_CAPI_EXPORTED void arkRegisterDialects(MlirDialectRegistry registry);

/// Registers all passes and pipelines of ark by their command-line names.
/// Idempotent.
MLIR_CAPI_EXPORTED void arkRegisterPasses(void);

/// Makes LLVM's fatal errors outside the functions below print one line before
/// the process ends. Idempotent.
MLIR_CAPI_EXPORTED void arkInstallFatalErrorHandler(void);

/// How to generate code; an empty string means "by default": the module's own
/// triple or this machine's, a baseline cpu, no further features.
typedef struct {
  MlirStringRef triple;
  MlirStringRef cpu;
  MlirStringRef features;
  unsigned optLevel; /* 0..3 */
} ArkCodegenOptions;

typedef enum {
  ArkCodeObject,     /* relocatable object file */
  ArkCodeAssembly,   /* assembly text */
  ArkCodeLLVMIR,     /* LLVM IR as translated; `options` may be null */
  ArkCodeOptimizedIR /* LLVM IR as optimised */
} ArkCodeKind;

/// Translates a module in the LLVM dialect. Calls `callback` once with the
/// bytes on success; on failure the module's context has the diagnostics.
MLIR_CAPI_EXPORTED MlirLogicalResult arkTranslate(
    MlirModule module, ArkCodeKind kind, const ArkCodegenOptions *options,
    MlirStringCallback callback, void *userData);

/// arkTranslate to an object file.
MLIR_CAPI_EXPORTED MlirLogicalResult
arkTranslateToObject(MlirModule module, const ArkCodegenOptions *options,
                     MlirStringCallback callback, void *userData);

/// This machine's triple, cpu name and feature string, by one callback each.
MLIR_CAPI_EXPORTED void arkGetHostCpu(MlirStringCallback callback, void *triple,
                                      void *name, void *features);

/// The bytes of a bundle that a proof needs; `where` is what messages call it.
typedef struct {
  MlirStringRef where;
  MlirStringRef manifest;
  MlirStringRef instructions;
  MlirStringRef lanes;
  MlirStringRef tasks;
  MlirStringRef operands;
} ArkBundleTables;

/// What was proven: vCTAs, parts of buffers, and visits to these.
typedef struct {
  int64_t vctas;
  int64_t cells;
  int64_t accesses;
} ArkTableProof;

/// A line of an error: where it is, as `file:line` or a file, and what is
/// wrong. Notes follow the message that they belong to.
typedef void (*ArkProblemCallback)(MlirStringRef location,
                                   MlirStringRef message, bool isNote,
                                   void *userData);

/// Proves the schedule that the tables of a bundle say. Calls `report` for
/// every line of the error that says why they are refused.
MLIR_CAPI_EXPORTED MlirLogicalResult
arkProveTables(const ArkBundleTables *tables, ArkTableProof *proof,
               ArkProblemCallback report, void *userData);

#ifdef __cplusplus
}
#endif

#endif /* ARK_C_ARK_H */
