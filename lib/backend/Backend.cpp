//===- Backend.cpp - Code generation for a family of machines -------------===//

#include "lib/backend/Backend.h"

#include "dialects/ark/ArkDialect.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Registry
//===----------------------------------------------------------------------===//

Backend::~Backend() = default;

static std::map<StringRef, std::unique_ptr<Backend>> &getRegistry() {
  static std::map<StringRef, std::unique_ptr<Backend>> registry;
  return registry;
}

void ark::registerBackend(std::unique_ptr<Backend> backend) {
  StringRef name = backend->getName();
  bool isNew = getRegistry().try_emplace(name, std::move(backend)).second;
  assert(isNew && "two backends have the same name");
  (void)isNew;
}

SmallVector<const Backend *> ark::getBackends() {
  SmallVector<const Backend *> backends;
  for (const auto &entry : getRegistry())
    backends.push_back(entry.second.get());
  return backends;
}

std::string ark::listBackends() {
  return llvm::join(llvm::make_first_range(getRegistry()), ", ");
}

const Backend *ark::findBackend(StringRef name) {
  auto found = getRegistry().find(name);
  return found == getRegistry().end() ? nullptr : found->second.get();
}

FailureOr<const Backend *> ark::findBackend(ModuleOp module) {
  auto target = module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
  StringRef name = target ? target.getBackend() : StringRef(kCpuBackend);
  if (const Backend *backend = findBackend(name))
    return backend;
  return module.emitError("is for the backend '")
         << name << "', which this compiler lacks: it has " << listBackends();
}

//===----------------------------------------------------------------------===//
// Inline assembly
//===----------------------------------------------------------------------===//

bool ark::haveConstraints(LLVM::InlineAsmOp assembly, StringRef letters) {
  SmallVector<StringRef> constraints;
  assembly.getConstraints().split(constraints, ',', /*MaxSplit=*/-1,
                                  /*KeepEmpty=*/false);
  return llvm::all_of(constraints, [&](StringRef constraint) {
    StringRef code = constraint.ltrim("=+&*");
    return code.starts_with("~") || code.starts_with("{") ||
           (!code.empty() &&
            llvm::all_of(code, [&](char c) { return llvm::isDigit(c); })) ||
           (code.size() == 1 && letters.contains(code.front()));
  });
}
