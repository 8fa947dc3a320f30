/*===- Ark.h - C API of ark -------------------------------------*- C -*-===*\
|*                                                                            *|
|* The functions that the Python bindings call. C programs may call them too. *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef ARK_C_ARK_H
#define ARK_C_ARK_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Declares the handle of the dialect: mlirGetDialectHandle__ark__().
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Ark, ark);

/// Adds the dialect, with the interfaces that it attaches to other dialects.
MLIR_CAPI_EXPORTED void arkRegisterDialects(MlirDialectRegistry registry);

/// Registers all passes and pipelines of ark by their command-line names.
/// Idempotent.
MLIR_CAPI_EXPORTED void arkRegisterPasses(void);

/// Makes LLVM's fatal errors outside the functions below print one line before
/// the process ends. Idempotent.
MLIR_CAPI_EXPORTED void arkInstallFatalErrorHandler(void);

/// Options of code generation. An empty string selects the default: the
/// module's own triple or this machine's, a baseline cpu, no further features.
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
/// bytes on success. On failure, the module's context has the diagnostics.
MLIR_CAPI_EXPORTED MlirLogicalResult arkTranslate(
    MlirModule module, ArkCodeKind kind, const ArkCodegenOptions *options,
    MlirStringCallback callback, void *userData);

/// Calls arkTranslate for an object file.
MLIR_CAPI_EXPORTED MlirLogicalResult
arkTranslateToObject(MlirModule module, const ArkCodegenOptions *options,
                     MlirStringCallback callback, void *userData);

/// Passes this machine's triple, CPU name and feature string to `callback`, in
/// three calls. The last three arguments are the user data of these calls.
MLIR_CAPI_EXPORTED void arkGetHostCpu(MlirStringCallback callback, void *triple,
                                      void *name, void *features);

/// Changes the data layout of a library of LLVM bitcode. Calls `callback` once:
/// with the bytes of the library and `data`, or on failure with LLVM's message
/// and `problem`.
MLIR_CAPI_EXPORTED MlirLogicalResult
arkSetDataLayout(MlirStringRef bitcode, MlirStringRef layout,
                 MlirStringCallback callback, void *data, void *problem);

/// The sections of a bundle that a proof needs. Messages refer to the bundle by
/// the name `where`.
typedef struct {
  MlirStringRef where;
  MlirStringRef manifest;
  MlirStringRef instructions;
  MlirStringRef lanes;
  MlirStringRef tasks;
  MlirStringRef operands;
} ArkBundleTables;

/// The extent of a proof: the numbers of vCTAs, of cells of buffers, and of
/// accesses to cells.
typedef struct {
  int64_t vctas;
  int64_t cells;
  int64_t accesses;
} ArkTableProof;

/// Receives a message of an error. `location` is `file:line` or a file, and
/// `message` describes the error. Notes follow their error.
typedef void (*ArkProblemCallback)(MlirStringRef location,
                                   MlirStringRef message, bool isNote,
                                   void *userData);

/// Proves the schedule that the tables of a bundle describe. If the proof
/// fails, calls `report` for every message of the error.
MLIR_CAPI_EXPORTED MlirLogicalResult
arkProveTables(const ArkBundleTables *tables, ArkTableProof *proof,
               ArkProblemCallback report, void *userData);

#ifdef __cplusplus
}
#endif

#endif /* ARK_C_ARK_H */
