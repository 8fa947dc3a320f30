//===- Extensions.cpp - Stubs of LLVM's link-time extensions --------------===//
//
// LLVM's link-time optimizer calls every extension that its distribution was
// built with. ark links no bitcode, so these stubs are never called.
//
//===----------------------------------------------------------------------===//

#include "llvm/Plugins/PassPlugin.h"

#define HANDLE_EXTENSION(extension)                                            \
  llvm::PassPluginLibraryInfo get##extension##PluginInfo() {                   \
    return {LLVM_PLUGIN_API_VERSION, #extension, "none",                       \
            [](llvm::PassBuilder &) {}};                                       \
  }
#include "llvm/Support/Extension.def"
