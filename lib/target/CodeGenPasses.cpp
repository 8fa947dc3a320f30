//===- CodeGenPasses.cpp - LLVM's passes from IR to machine code ----------===//

#include "lib/target/CodeGenPasses.h"

#include "llvm/CodeGen/CodeGenTargetMachineImpl.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;

/// Does what `TargetMachine::addPassesToEmitFile` does, which cannot leave out
/// a pass.
static bool addAmdPasses(llvm::legacy::PassManager &passes,
                         llvm::CodeGenTargetMachineImpl &machine,
                         llvm::raw_pwrite_stream &os,
                         llvm::CodeGenFileType type) {
  // The pass manager owns the passes.
  auto *modules = new llvm::MachineModuleInfoWrapperPass(&machine);
  llvm::TargetPassConfig *config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  config->disablePass(&llvm::EarlyMachineLICMID);
  passes.add(config);
  passes.add(modules);
  if (config->addISelPasses())
    return false;
  config->addMachinePasses();
  config->setInitialized();
  if (machine.addAsmPrinter(passes, os, /*DwoOut=*/nullptr, type,
                            modules->getMMI().getContext()))
    return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  return true;
}

bool ark::addCodeGenPasses(llvm::legacy::PassManager &passes,
                           llvm::TargetMachine &machine,
                           llvm::raw_pwrite_stream &os,
                           llvm::CodeGenFileType type) {
  if (machine.getTargetTriple().isAMDGPU())
    return addAmdPasses(passes,
                        static_cast<llvm::CodeGenTargetMachineImpl &>(machine),
                        os, type);
  return !machine.addPassesToEmitFile(passes, os, /*DwoOut=*/nullptr, type);
}
