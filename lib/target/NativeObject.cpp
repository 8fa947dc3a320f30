//===- NativeObject.cpp - LLVM dialect to machine code --------------------===//

#include "lib/target/NativeObject.h"

#include "lib/support/FatalErrors.h"
#include "lib/target/CodeGenPasses.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace mlir;
using namespace mlir::ark;

namespace {

/// Turns diagnostics of LLVM into MLIR diagnostics. LLVM's default handler
/// exits the process on an error.
struct DiagnosticForwarder final : llvm::DiagnosticHandler {
  DiagnosticForwarder(Location loc, bool &sawError)
      : loc(loc), sawError(sawError) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    std::string message;
    llvm::raw_string_ostream os(message);
    llvm::DiagnosticPrinterRawOStream printer(os);
    info.print(printer);
    if (info.getSeverity() == llvm::DS_Error) {
      sawError = true;
      mlir::emitError(loc) << "LLVM: " << message;
    } else if (info.getSeverity() == llvm::DS_Warning) {
      mlir::emitWarning(loc) << "LLVM: " << message;
    }
    return true;
  }

  Location loc;
  bool &sawError;
};

/// One translation: owns the LLVM module from import to emission.
class Translation {
public:
  Translation(ModuleOp module) : module(module) {
    context.setDiagnosticHandler(
        std::make_unique<DiagnosticForwarder>(module.getLoc(), sawError));
  }

  LogicalResult import();
  LogicalResult optimize(const NativeObjectOptions &options);
  LogicalResult emit(llvm::raw_pwrite_stream &os, llvm::CodeGenFileType type);
  void print(llvm::raw_ostream &os) { llvmModule->print(os, nullptr); }

private:
  LogicalResult createMachine(const NativeObjectOptions &options);
  // Reports at the location, not at the op, which would add the whole module as
  // a note.
  InFlightDiagnostic emitError() { return mlir::emitError(module.getLoc()); }

  ModuleOp module;
  bool sawError = false;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule;
  std::unique_ptr<llvm::TargetMachine> machine;
};

} // namespace

static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmParsers();
    llvm::InitializeAllAsmPrinters();
  });
}

/// Returns an entry of a feature string that the target does not know, or an
/// empty string. LLVM only prints a warning for such an entry and compiles for
/// something else.
static std::string findUnknownFeature(const llvm::MCSubtargetInfo &subtarget,
                                      llvm::StringRef features) {
  llvm::ArrayRef<llvm::SubtargetFeatureKV> known =
      subtarget.getAllProcessorFeatures();
  llvm::SubtargetFeatures requested(features);
  for (const std::string &feature : requested.getFeatures()) {
    llvm::StringRef name = feature;
    if (!llvm::SubtargetFeatures::hasFlag(name))
      return feature;
    name = llvm::SubtargetFeatures::StripFlag(name);
    if (llvm::none_of(known, [&](auto &entry) { return name == entry.Key; }))
      return feature;
  }
  return "";
}

LogicalResult Translation::import() {
  llvmModule = translateModuleToLLVMIR(module, context, "ark");
  if (!llvmModule || sawError)
    return failure();
  std::string message;
  llvm::raw_string_ostream os(message);
  if (llvm::verifyModule(*llvmModule, &os))
    return emitError() << "translates to invalid LLVM IR: " << message;
  return success();
}

LogicalResult Translation::createMachine(const NativeObjectOptions &options) {
  initializeTargets();
  llvm::Triple triple(options.triple);
  if (options.triple.empty())
    triple = llvmModule->getTargetTriple();
  if (triple.str().empty())
    triple = llvm::Triple(llvm::sys::getDefaultTargetTriple());

  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return emitError() << "no LLVM target for triple '" << triple.str()
                       << "': " << error;

  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!subtarget)
    return emitError() << "LLVM cannot describe triple '" << triple.str()
                       << "'";
  if (!options.cpu.empty() && !subtarget->isCPUStringValid(options.cpu))
    return emitError() << "LLVM knows no cpu '" << options.cpu << "' for '"
                       << triple.str() << "'";
  std::string unknown = findUnknownFeature(*subtarget, options.features);
  if (!unknown.empty())
    return emitError() << "LLVM knows no feature '" << unknown << "' for '"
                       << triple.str() << "'";

  std::optional<llvm::CodeGenOptLevel> level =
      llvm::CodeGenOpt::getLevel(options.optLevel);
  if (!level)
    return emitError() << "optimisation level " << options.optLevel
                       << " is not in 0..3";
  machine.reset(target->createTargetMachine(
      triple, options.cpu, options.features, llvm::TargetOptions(),
      llvm::Reloc::PIC_, std::nullopt, *level));
  if (!machine)
    return emitError() << "LLVM cannot generate code for '" << triple.str()
                       << "'";
  llvmModule->setTargetTriple(triple);
  llvmModule->setDataLayout(machine->createDataLayout());
  return success();
}

LogicalResult Translation::optimize(const NativeObjectOptions &options) {
  if (failed(createMachine(options)))
    return failure();

  static const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = options.optLevel > 1;
  tuning.SLPVectorization = options.optLevel > 1;
  tuning.LoopInterleaving = options.optLevel > 1;
  tuning.LoopUnrolling = options.optLevel > 0;

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine.get(), tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);

  llvm::ModulePassManager passes =
      options.optLevel == 0
          ? builder.buildO0DefaultPipeline(llvm::OptimizationLevel::O0)
          : builder.buildPerModuleDefaultPipeline(levels[options.optLevel]);
  passes.run(*llvmModule, modules);
  return failure(sawError);
}

LogicalResult Translation::emit(llvm::raw_pwrite_stream &os,
                                llvm::CodeGenFileType type) {
  llvm::legacy::PassManager passes;
  passes.add(new llvm::TargetLibraryInfoWrapperPass(
      llvm::Triple(llvmModule->getTargetTriple())));
  if (!addCodeGenPasses(passes, *machine, os, type))
    return emitError() << "LLVM cannot emit this kind of file for '"
                       << machine->getTargetTriple().str() << "'";
  passes.run(*llvmModule);
  return failure(sawError);
}

/// Runs `body`. A fatal error of LLVM fails the translation instead of ending
/// the process.
static LogicalResult
translate(ModuleOp module,
          llvm::function_ref<LogicalResult(Translation &)> body) {
  LogicalResult result = failure();
  // On the heap: after a fatal error the LLVM module cannot be destroyed and
  // leaks.
  auto *translation = new Translation(module);
  std::optional<std::string> fatal =
      runRecoverably([&] { result = body(*translation); });
  if (fatal)
    return emitError(module.getLoc()) << "LLVM: " << *fatal;
  delete translation;
  return result;
}

/// Imports and optimises a module, and emits one kind of file.
static LogicalResult emitFile(ModuleOp module,
                              const NativeObjectOptions &options,
                              llvm::CodeGenFileType type,
                              llvm::SmallVectorImpl<char> &bytes) {
  return translate(module, [&](Translation &translation) -> LogicalResult {
    llvm::raw_svector_ostream os(bytes);
    return failure(failed(translation.import()) ||
                   failed(translation.optimize(options)) ||
                   failed(translation.emit(os, type)));
  });
}

HostCpu ark::getHostCpu() {
  llvm::SubtargetFeatures features;
  for (const auto &[name, enabled] : llvm::sys::getHostCPUFeatures())
    features.AddFeature(name, enabled);
  return {llvm::sys::getDefaultTargetTriple(),
          llvm::sys::getHostCPUName().str(), features.getString()};
}

FailureOr<llvm::SmallVector<char, 0>>
ark::translateToObject(ModuleOp module, const NativeObjectOptions &options) {
  llvm::SmallVector<char, 0> bytes;
  if (failed(
          emitFile(module, options, llvm::CodeGenFileType::ObjectFile, bytes)))
    return failure();
  return bytes;
}

FailureOr<std::string>
ark::translateToAssembly(ModuleOp module, const NativeObjectOptions &options) {
  llvm::SmallVector<char, 0> bytes;
  if (failed(emitFile(module, options, llvm::CodeGenFileType::AssemblyFile,
                      bytes)))
    return failure();
  return std::string(bytes.begin(), bytes.end());
}

FailureOr<std::string>
ark::translateToLLVMIR(ModuleOp module, const NativeObjectOptions *options) {
  std::string text;
  if (failed(translate(module, [&](Translation &translation) -> LogicalResult {
        if (failed(translation.import()) ||
            (options && failed(translation.optimize(*options))))
          return failure();
        llvm::raw_string_ostream os(text);
        translation.print(os);
        return success();
      })))
    return failure();
  return text;
}
