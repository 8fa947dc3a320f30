//===- OptMain.cpp - The tool ark-opt -------------------------------------===//

#include "lib/capi/ark-c/Tools.h"

#include "lib/capi/GuardedRun.h"
#include "lib/registration/RegisterAll.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"

#include <string>
#include <tuple>

using namespace mlir;

/// The number of bytes at the start of a file that tell whether it is text.
static constexpr size_t kCheckedBytes = 4096;

/// Returns the name of the input in errors.
static StringRef getName(StringRef input) {
  return input == "-" ? "<stdin>" : input;
}

/// Returns the reason why a file cannot be MLIR, or an empty string. The parser
/// would quote a binary file in its error.
static StringRef describeBinary(StringRef name, StringRef content) {
  if (content.starts_with("ARKBIN"))
    return "a bundle, not MLIR; 'ark info' prints the content of a bundle";
  if (content.take_front(kCheckedBytes).contains('\0') &&
      !isBytecode(llvm::MemoryBufferRef(content, name)))
    return "a binary file, neither MLIR as text nor as bytecode";
  return "";
}

/// Runs MLIR's main function after its options are parsed, and tells the guard
/// which step follows.
static LogicalResult runGuardedOpt(StringRef input, StringRef output,
                                   DialectRegistry &registry,
                                   MlirOptMainConfig config,
                                   ark::GuardedRun &guard) {
  if (input == "-" && llvm::sys::Process::FileDescriptorIsDisplayed(0))
    llvm::errs() << "ark-opt: reading standard input; end it with ctrl-d\n";
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(input, &error);
  if (!buffer) {
    llvm::errs() << error << "\n";
    return failure();
  }
  StringRef name = getName(input);
  if (StringRef reason = describeBinary(name, buffer->getBuffer());
      !reason.empty()) {
    llvm::errs() << name << ":1:1: error: " << reason << "\n";
    return failure();
  }
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(output, &error);
  if (!file) {
    llvm::errs() << error << "\n";
    return failure();
  }
  config.setPassPipelineSetupFn([&guard, config](PassManager &manager) {
    guard.watchPasses(manager);
    return config.setupPassPipeline(manager);
  });
  guard.beginReading(buffer->getBufferSize());
  if (failed(MlirOptMain(file->os(), std::move(buffer), registry, config)))
    return failure();
  file->keep();
  return success();
}

static void registerEverything(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  ark::registerAllArkDialects(registry);
  registerAllPasses();
  ark::registerAllArkPasses();
}

/// Upstream prints the whole op below an error. The op is often the program,
/// whose text hides the error.
static void printOpsOnRequestOnly() {
  registerMLIRContextCLOptions();
  auto &options = llvm::cl::getRegisteredOptions();
  auto found = options.find("mlir-print-op-on-diagnostic");
  if (found != options.end())
    static_cast<llvm::cl::opt<bool> *>(found->second)->setInitialValue(false);
}

int arkOptMain(int argc, char **argv) {
  DialectRegistry registry;
  registerEverything(registry);
  printOpsOnRequestOnly();
  llvm::cl::opt<bool> isGuarded(
      "ark-guard",
      llvm::cl::desc("Work in a child process, which turns a crash into an "
                     "error; false for debuggers"),
      llvm::cl::init(true));
  llvm::cl::opt<unsigned> seconds(
      "ark-read-seconds",
      llvm::cl::desc("Limit of the processor time for reading, and of that for "
                     "printing, in seconds, plus one for each 64 KiB of input"),
      llvm::cl::init(20));
  std::string input, output;
  std::tie(input, output) = registerAndParseCLIOptions(
      argc, argv, "ark: persistent kernel compiler\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (!isGuarded || config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  return ark::runGuarded(
      getName(input).str(), seconds, [&](ark::GuardedRun &run) {
        return asMainReturnCode(
            runGuardedOpt(input, output, registry, config, run));
      });
}
