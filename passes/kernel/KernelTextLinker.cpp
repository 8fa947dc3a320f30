//===- KernelTextLinker.cpp - Links texts of the kernel -------------------===//

#include "passes/kernel/KernelTextLinker.h"

#include "passes/kernel/KernelAbi.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Constants and scopes
//===----------------------------------------------------------------------===//

static std::optional<int64_t> lookUpConstant(StringRef name) {
  using namespace abi;
  return llvm::StringSwitch<std::optional<int64_t>>(name)
#define ARK_CONTEXT_FIELD(name, value) .Case(#name, value)
#define ARK_OPCODE(name, value) .Case("kOpcode" #name, value)
#define ARK_CONSTANT(name, value) .Case(#name, value)
#include "passes/kernel/KernelAbi.def"
      .Default(std::nullopt);
}

static bool isIdentifier(char c) { return llvm::isAlnum(c) || c == '_'; }

/// Returns the length of the token at the start of `text`. Comments, strings
/// and words are single tokens, and so is a word with its sigil (`%x`, `@x`);
/// every other character is a token.
static size_t getTokenLength(StringRef text) {
  if (text.starts_with("//"))
    return std::min(text.find('\n'), text.size());
  if (text.front() == '"') {
    size_t end = 1;
    while (end < text.size() && text[end] != '"')
      end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text.size());
  }
  size_t length = text.drop_front().take_while(isIdentifier).size() + 1;
  bool isWord =
      isIdentifier(text.front()) || StringRef("%@^#!").contains(text.front());
  return isWord ? length : 1;
}

/// Names of constants look like `kReport`; no word of MLIR's syntax does.
static bool isConstantName(StringRef token) {
  return token.size() > 1 && token[0] == 'k' && llvm::isUpper(token[1]);
}

namespace {
/// Replaces the names of constants by their values, and the words for scopes by
/// the names of the scopes.
class TextExpander {
public:
  TextExpander(KernelText kernel, const llvm::StringMap<StringRef> &scopes,
               MLIRContext *context)
      : kernel(kernel), scopes(scopes), context(context) {}

  /// Reports each unknown constant and scope, and fails if there is one.
  FailureOr<std::string> run();

private:
  void addConstant(StringRef name);
  void addString(StringRef text);
  InFlightDiagnostic fail(StringRef part);

  KernelText kernel;
  const llvm::StringMap<StringRef> &scopes;
  MLIRContext *context;
  std::string expanded;
  bool isKnown = true;
};
} // namespace

/// Reports an error at the location of `part`, a substring of the text.
InFlightDiagnostic TextExpander::fail(StringRef part) {
  isKnown = false;
  StringRef before = kernel.text.take_front(part.data() - kernel.text.data());
  unsigned line = before.count('\n') + 1;
  unsigned column = before.size() - (before.rfind('\n') + 1) + 1;
  return emitError(FileLineColLoc::get(context, kernel.name, line, column));
}

void TextExpander::addConstant(StringRef name) {
  if (std::optional<int64_t> value = lookUpConstant(name))
    expanded += std::to_string(*value);
  else
    fail(name) << "KernelAbi.def has no constant '" << name << "'";
}

/// Adds a string. Words for scopes are small letters in angle brackets.
void TextExpander::addString(StringRef text) {
  while (!text.empty()) {
    StringRef word = text.starts_with("<")
                         ? text.drop_front().take_while(llvm::isLower)
                         : StringRef();
    StringRef whole = text.take_front(word.size() + 2);
    if (word.empty() || !whole.ends_with(">")) {
      expanded += text.front();
      text = text.drop_front();
      continue;
    }
    if (auto scope = scopes.find(word); scope != scopes.end())
      expanded += scope->second;
    else
      fail(whole) << "the target has no scope '" << whole << "'";
    text = text.drop_front(whole.size());
  }
}

FailureOr<std::string> TextExpander::run() {
  for (StringRef rest = kernel.text; !rest.empty();) {
    StringRef token = rest.take_front(getTokenLength(rest));
    if (isConstantName(token))
      addConstant(token);
    else if (token.front() == '"')
      addString(token);
    else
      expanded += token;
    rest = rest.drop_front(token.size());
  }
  if (!isKnown)
    return failure();
  return expanded;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static bool isDeclaration(Operation *op) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(op);
  return function && function.isExternal();
}

static Type getFunctionType(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  return function ? function.getFunctionType() : Type();
}

KernelTextLinker::KernelTextLinker(ModuleOp module, bool hasRanks)
    : module(module) {
  auto target = module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
  if (!target || !target.isGpu() || !target.getGpu().getScopes())
    return;
  ScopesAttr names = target.getGpu().getScopes();
  scopes["device"] = names.getDevice();
  scopes["system"] = names.getSystem();
  scopes["ranks"] = hasRanks ? names.getSystem() : names.getDevice();
}

LogicalResult KernelTextLinker::add(KernelText kernel) {
  FailureOr<std::string> expanded =
      TextExpander(kernel, scopes, module.getContext()).run();
  if (failed(expanded))
    return failure();
  OwningOpRef<ModuleOp> text = parseSourceString<ModuleOp>(
      *expanded, ParserConfig(module.getContext()), kernel.name);
  if (!text)
    return failure();
  SymbolTable symbols(module);
  for (Operation &op : llvm::make_early_inc_range(text->getOps()))
    if (failed(add(&op, symbols)))
      return failure();
  return success();
}

LogicalResult KernelTextLinker::add(Operation *function, SymbolTable &symbols) {
  StringAttr name = SymbolTable::getSymbolName(function);
  if (Operation *other = symbols.lookup(name)) {
    bool isFromText = added.contains(name.getValue());
    if (isFromText && getFunctionType(function) != getFunctionType(other)) {
      InFlightDiagnostic error = function->emitOpError("has type ");
      error << getFunctionType(function) << ", but another kernel text gives '@"
            << name.getValue() << "' type " << getFunctionType(other);
      error.attachNote(other->getLoc()) << "the other text";
      return error;
    }
    // Two texts may declare a function of a third text, and each may declare
    // functions of the other.
    if (isDeclaration(function) && (isDeclaration(other) || isFromText))
      return success();
    if (!isDeclaration(other) || isDeclaration(function))
      return other->emitOpError("has the name of a function of the kernel, '@")
             << name.getValue() << "'";
    symbols.erase(other);
  }
  function->remove();
  symbols.insert(function);
  added.insert(name.getValue());
  return success();
}
