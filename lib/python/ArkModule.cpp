//===- ArkModule.cpp - The Python extension _ark --------------------------===//

#include "lib/capi/ark-c/Ark.h"

#include "mlir-c/Pass.h"
#include "mlir/Bindings/Python/IRCore.h"
#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Config/llvm-config.h"

namespace nb = nanobind;
using namespace mlir::python::nanobind_adaptors;
using namespace mlir::python::MLIR_BINDINGS_PYTHON_DOMAIN;

namespace {

MlirStringRef toRef(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

void appendTo(MlirStringRef text, void *out) {
  static_cast<std::string *>(out)->append(text.data, text.length);
}

/// Collects the errors of a context during its own lifetime. Unlike upstream's
/// ErrorCapture, this class touches no Python object until `take`, so that the
/// caller may release Python's global lock (GIL) until then.
class ErrorCollector {
public:
  explicit ErrorCollector(MlirContext context)
      : context(context),
        id(mlirContextAttachDiagnosticHandler(context, handle, this, nullptr)) {
  }
  ~ErrorCollector() { mlirContextDetachDiagnosticHandler(context, id); }

  std::vector<PyDiagnostic::DiagnosticInfo> take() {
    std::vector<PyDiagnostic::DiagnosticInfo> infos;
    PyMlirContextRef owner = PyMlirContext::forContext(context);
    for (const Error &error : errors) {
      std::vector<PyDiagnostic::DiagnosticInfo> notes;
      for (const auto &[location, message] : error.notes)
        notes.push_back({PyDiagnosticSeverity::Note,
                         PyLocation(owner, location),
                         message,
                         {}});
      infos.push_back({PyDiagnosticSeverity::Error,
                       PyLocation(owner, error.location), error.message,
                       std::move(notes)});
    }
    return infos;
  }

  std::vector<std::string> getMessages() const {
    std::vector<std::string> messages;
    for (const Error &error : errors)
      messages.push_back(error.message);
    return messages;
  }

private:
  struct Error {
    MlirLocation location;
    std::string message;
    std::vector<std::pair<MlirLocation, std::string>> notes;
  };

  static std::string messageOf(MlirDiagnostic diagnostic) {
    std::string message;
    mlirDiagnosticPrint(diagnostic, appendTo, &message);
    return message;
  }

  static MlirLogicalResult handle(MlirDiagnostic diagnostic, void *self) {
    if (mlirDiagnosticGetSeverity(diagnostic) != MlirDiagnosticError)
      return mlirLogicalResultFailure();
    Error error{
        mlirDiagnosticGetLocation(diagnostic), messageOf(diagnostic), {}};
    for (intptr_t i = 0, e = mlirDiagnosticGetNumNotes(diagnostic); i < e;
         ++i) {
      MlirDiagnostic note = mlirDiagnosticGetNote(diagnostic, i);
      error.notes.emplace_back(mlirDiagnosticGetLocation(note),
                               messageOf(note));
    }
    static_cast<ErrorCollector *>(self)->errors.push_back(std::move(error));
    return mlirLogicalResultSuccess();
  }

  MlirContext context;
  std::vector<Error> errors;
  MlirDiagnosticHandlerID id;
};

/// Arguments common to all translations, in Python's order.
struct Codegen {
  std::string triple, cpu, features;
  int optLevel;
};

/// Translates without Python's global lock (GIL), so that other Python threads
/// run while LLVM works.
std::string translate(MlirModule module, ArkCodeKind kind,
                      const Codegen &codegen) {
  if (codegen.optLevel < 0 || codegen.optLevel > 3)
    throw nb::value_error(
        ("opt_level is " + std::to_string(codegen.optLevel) + ", not 0..3")
            .c_str());
  ArkCodegenOptions options = {toRef(codegen.triple), toRef(codegen.cpu),
                               toRef(codegen.features),
                               static_cast<unsigned>(codegen.optLevel)};
  std::string code;
  MlirLogicalResult result;
  ErrorCollector errors(mlirModuleGetContext(module));
  {
    nb::gil_scoped_release release;
    result = arkTranslate(module, kind, &options, appendTo, &code);
  }
  if (mlirLogicalResultIsFailure(result))
    throw MLIRError("Translation to machine code failed", errors.take());
  return code;
}

/// Runs passes without the GIL, so that other Python threads run meanwhile. No
/// other thread may use the context: its tables have no locks. Returns the
/// errors that passes reported although none of them failed.
std::vector<std::string> runPasses(MlirOperation operation,
                                   const std::string &pipeline) {
  MlirContext context = mlirOperationGetContext(operation);
  MlirPassManager manager = mlirPassManagerCreate(context);
  auto destroy =
      llvm::make_scope_exit([&] { mlirPassManagerDestroy(manager); });
  // The caller verifies the result, as after PassManager.run.
  mlirPassManagerEnableVerifier(manager, false);
  std::string problem;
  if (mlirLogicalResultIsFailure(
          mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(manager),
                                toRef(pipeline), appendTo, &problem)))
    throw nb::value_error(problem.c_str());
  MlirLogicalResult result;
  ErrorCollector errors(context);
  {
    nb::gil_scoped_release release;
    result = mlirPassManagerRunOnOp(manager, operation);
  }
  if (mlirLogicalResultIsFailure(result))
    throw MLIRError("Failure while executing pass pipeline", errors.take());
  return errors.getMessages();
}

nb::bytes setDataLayout(nb::bytes bitcode, const std::string &layout) {
  std::string data, problem;
  MlirLogicalResult result =
      arkSetDataLayout(mlirStringRefCreate(bitcode.c_str(), bitcode.size()),
                       toRef(layout), appendTo, &data, &problem);
  if (mlirLogicalResultIsFailure(result))
    throw nb::value_error(problem.c_str());
  return nb::bytes(data.data(), data.size());
}

nb::tuple hostCpu() {
  std::string triple, name, features;
  arkGetHostCpu(appendTo, &triple, &name, &features);
  return nb::make_tuple(name, features);
}

std::string hostTriple() {
  std::string triple, name, features;
  arkGetHostCpu(appendTo, &triple, &name, &features);
  return triple;
}

/// A line of an error: location, message, and true if the line is a note.
using Problem = std::tuple<std::string, std::string, bool>;

void addProblem(MlirStringRef location, MlirStringRef message, bool isNote,
                void *problems) {
  static_cast<std::vector<Problem> *>(problems)->emplace_back(
      std::string(location.data, location.length),
      std::string(message.data, message.length), isNote);
}

nb::tuple proveTables(const std::string &where, nb::bytes manifest,
                      nb::bytes instructions, nb::bytes lanes, nb::bytes tasks,
                      nb::bytes operands) {
  auto ref = [](const nb::bytes &bytes) {
    return mlirStringRefCreate(bytes.c_str(), bytes.size());
  };
  ArkBundleTables tables = {toRef(where), ref(manifest), ref(instructions),
                            ref(lanes),   ref(tasks),    ref(operands)};
  ArkTableProof proof = {0, 0, 0};
  std::vector<Problem> problems;
  {
    nb::gil_scoped_release release;
    MlirLogicalResult result =
        arkProveTables(&tables, &proof, addProblem, &problems);
    if (mlirLogicalResultIsFailure(result) && problems.empty())
      problems.emplace_back(where, "the proof failed without a reason", false);
  }
  nb::list list;
  for (const auto &[location, message, isNote] : problems)
    list.append(nb::make_tuple(location, message, isNote));
  return nb::make_tuple(list, proof.vctas, proof.cells, proof.accesses);
}

} // namespace

NB_MODULE(_ark, m) {
  m.doc() = "The ark dialect, its passes, and translation to machine code.";

  // Importing the bindings suffices for using the passes by name.
  arkRegisterPasses();
  arkInstallFatalErrorHandler();

  m.attr("LLVM_VERSION") = LLVM_VERSION_STRING;

  m.def(
      "register_dialects",
      [](MlirDialectRegistry registry) { arkRegisterDialects(registry); },
      nb::arg("registry"), "Adds the ark dialect to a registry.");

  m.def(
      "translate_to_object",
      [](MlirModule module, std::string triple, std::string cpu,
         std::string features, int optLevel) {
        std::string code = translate(
            module, ArkCodeObject,
            {std::move(triple), std::move(cpu), std::move(features), optLevel});
        return nb::bytes(code.data(), code.size());
      },
      nb::arg("module"), nb::kw_only(), nb::arg("triple") = "",
      nb::arg("cpu") = "", nb::arg("features") = "", nb::arg("opt_level") = 3,
      R"(Compiles a module in the LLVM dialect to a relocatable object file.

An empty triple selects the module's own triple, or else this machine's. An
empty cpu selects a baseline processor of the triple, and empty features add
none. Raises MLIRError with LLVM's messages if the translation fails.)");

  m.def(
      "translate_to_assembly",
      [](MlirModule module, std::string triple, std::string cpu,
         std::string features, int optLevel) {
        return translate(
            module, ArkCodeAssembly,
            {std::move(triple), std::move(cpu), std::move(features), optLevel});
      },
      nb::arg("module"), nb::kw_only(), nb::arg("triple") = "",
      nb::arg("cpu") = "", nb::arg("features") = "", nb::arg("opt_level") = 3,
      "Compiles as translate_to_object does and returns assembly text.");

  m.def(
      "run_passes", runPasses, nb::arg("operation"), nb::arg("pipeline"),
      R"(Runs a pipeline of passes on an operation, without Python's global lock.

Returns the errors that passes reported although no pass failed: an empty list, unless a pass has
a defect. Other Python threads run meanwhile, but none of them may use the operation's context. The
verifier does not run after each pass. Raises ValueError if the pipeline does not parse, and
MLIRError if a pass fails.)");

  m.def("set_data_layout", setDataLayout, nb::arg("bitcode"), nb::arg("layout"),
        R"(Returns a library of LLVM bitcode with another data layout.

Raises ValueError with LLVM's message if the bytes are no bitcode, or the layout
is not valid.)");

  m.def(
      "translate_to_llvm_ir",
      [](MlirModule module) {
        return translate(module, ArkCodeLLVMIR, {"", "", "", 0});
      },
      nb::arg("module"),
      "Returns the LLVM IR of a module in the LLVM dialect, not optimised.");

  m.def(
      "optimize_to_llvm_ir",
      [](MlirModule module, std::string triple, std::string cpu,
         std::string features, int optLevel) {
        return translate(
            module, ArkCodeOptimizedIR,
            {std::move(triple), std::move(cpu), std::move(features), optLevel});
      },
      nb::arg("module"), nb::kw_only(), nb::arg("triple") = "",
      nb::arg("cpu") = "", nb::arg("features") = "", nb::arg("opt_level") = 3,
      "Returns the LLVM IR from which translate_to_object generates code.");

  m.def("host_cpu", hostCpu, nb::sig("def host_cpu() -> tuple[str, str]"),
        "Returns (name, features) of this machine's processor in LLVM's form.");
  m.def("prove_tables", proveTables, nb::arg("where"), nb::arg("manifest"),
        nb::arg("instructions"), nb::arg("lanes"), nb::arg("tasks"),
        nb::arg("operands"),
        nb::sig("def prove_tables(where: str, manifest: bytes, "
                "instructions: bytes, lanes: bytes, tasks: bytes, operands: "
                "bytes) -> tuple[list[tuple[str, str, bool]], int, int, int]"),
        R"(Proves the schedule that the tables of a bundle say (docs/bundle.md).

Returns the lines of the error, empty where the proof holds, and how many vCTAs, parts of
buffers and visits to these were looked at. A line is its location, its message, and whether it
is a note of the one before.)");
  m.def("host_triple", hostTriple, "Returns this machine's target triple.");
}
