//===- Backend.h - Code generation for a family of machines -----*- C++ -*-===//
//
// The interface between the passes, which serve all machines, and a backend.
// Passes look up the backend of the module's target and compare no names.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_BACKEND_BACKEND_H
#define ARK_LIB_BACKEND_BACKEND_H

#include "dialects/ark/ArkAttrs.h"
#include "lib/backend/KernelText.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::ark {

class GpuBackend;

/// Options of the target stage.
struct LoweringOptions {
  /// f32 elements of a vector register; 0 stands for those of this machine.
  /// Only the backend of processors uses this option.
  int64_t vectorElements = 0;
};

/// The connections between the GPUs of the ranks of a program: there is one
/// rank, peers store to each other's memory, or some ranks are in different
/// domains, between which NCCL's network adapters or port channels of MSCCL++
/// copy.
enum class RankLinks { None, Peers, Network, PortChannels };

/// Code generation for a family of machines.
class Backend {
public:
  virtual ~Backend();

  /// Returns the name of the backend in targets, such as `cuda`.
  virtual StringRef getName() const = 0;

  /// Returns this object if the machines are GPUs, and null otherwise.
  virtual const GpuBackend *asGpu() const { return nullptr; }

  //===--------------------------------------------------------------------===//
  // Targets
  //===--------------------------------------------------------------------===//

  /// Returns the short names of targets for error messages, such as
  /// `cuda:<arch>`.
  virtual SmallVector<std::string> getTargetNames() const = 0;

  /// Returns the target `<name>:<arch>`, or the target `<name>` without an
  /// architecture. Reports an error at `loc` and fails if there is no such
  /// target.
  virtual FailureOr<TargetAttr> parseTarget(std::optional<StringRef> arch,
                                            Location loc) const = 0;

  //===--------------------------------------------------------------------===//
  // Kernel
  //===--------------------------------------------------------------------===//

  /// Returns the texts of the kernel.
  virtual SmallVector<KernelText> getKernelTexts(RankLinks links) const = 0;

  /// Builds bodies of functions that kernel texts only declare.
  virtual void buildKernelFunctions(SymbolTable &symbols) const {}

  /// Adds the dialects of the ops in kernel texts, and of the attributes of
  /// modules.
  virtual void registerDialects(DialectRegistry &registry) const = 0;

  //===--------------------------------------------------------------------===//
  // Lowering
  //===--------------------------------------------------------------------===//

  /// Adds the passes of the target stage for a module with this target, which
  /// may be null. Reports an error with `emitError` and fails if the backend
  /// does not support the target.
  virtual LogicalResult
  buildLowering(OpPassManager &pm, TargetAttr target,
                const LoweringOptions &options,
                function_ref<InFlightDiagnostic()> emitError) const = 0;

  /// Adds the dialects and interfaces that the passes of the target stage need.
  virtual void registerLowering(DialectRegistry &registry) const = 0;

  //===--------------------------------------------------------------------===//
  // Checks of the code
  //===--------------------------------------------------------------------===//

  /// Returns true for a dialect whose ops LLVM translates to instructions of
  /// these machines, in addition to the LLVM dialect.
  virtual bool isMachineDialect(const Dialect &dialect) const { return false; }

  /// Returns the prefix of LLVM's intrinsics for these machines, such as `nvvm`
  /// of `llvm.nvvm.barrier0`.
  virtual StringRef getIntrinsicPrefix() const = 0;

  /// Returns true if inline assembly is in the language of these machines.
  virtual bool isOwnAssembly(LLVM::InlineAsmOp assembly) const { return false; }

  /// Returns true if the linker resolves functions without a body.
  virtual bool linksLibraries() const { return true; }

  /// Returns true if the owner of `use`, the use of the address of a packet, is
  /// a packet instruction with a scope, or a prefetch, which accesses no
  /// packet.
  virtual bool isPacketAccess(OpOperand &use, StringRef scope) const {
    return false;
  }

  /// Returns true for an op that accesses no memory, although MLIR does not
  /// know this. If an operand is the address of a packet, so is the result.
  virtual bool accessesNoMemory(Operation *op) const { return false; }
};

/// Registers a backend for the lifetime of the process. The name of the backend
/// is not registered yet.
void registerBackend(std::unique_ptr<Backend> backend);

/// Returns all backends, ordered by name.
SmallVector<const Backend *> getBackends();

/// Returns the names of all backends, separated by commas.
std::string listBackends();

/// Returns the backend with a name, or null.
const Backend *findBackend(StringRef name);

/// Returns the backend of the module's target, or the backend of processors if
/// the module has no target. Reports an error and fails if there is no backend
/// of this name.
FailureOr<const Backend *> findBackend(ModuleOp module);

/// Returns true if every constraint of inline assembly is a register or an
/// immediate with one of these letters, a tie to a result, a register by name,
/// or a clobber.
bool haveConstraints(LLVM::InlineAsmOp assembly, StringRef letters);

} // namespace mlir::ark

#endif // ARK_LIB_BACKEND_BACKEND_H
