//===- Passes.td - Passes at the boundaries of stages ------*- tablegen -*-===//

#ifndef ARK_PASSES_PIPELINES_PASSES_TD
#define ARK_PASSES_PIPELINES_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignTargetPass : Pass<"ark-assign-target", "::mlir::ModuleOp"> {
  let summary = "Attach the description of the target machine";
  let description = [{
    Sets the module's `ark.target`. An existing target stays unless the option `target` is given.
    Without either, the module is compiled for the cores of this machine.

    ```mlir
    module {}
    // ark-assign-target{target=cpu:2} =>
    module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, ...>} {}
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"",
           "cpu, cpu:<workers>, cuda:<arch>, hip:<arch>, or the text of an #ark.target">,
  ];
  let dependentDialects = ["::mlir::ark::ArkDialect"];
}

def BeginStagePass : Pass<"ark-begin-stage", "::mlir::ModuleOp"> {
  let summary = "Check that a module has reached the previous stage";
  let description = [{
    A module that carries `ark.stage` must have reached exactly the previous stage. A module without
    `ark.stage` is accepted. Changes nothing.
  }];
  let options = [
    Option<"stage", "stage", "std::string", /*default=*/"", "The stage that begins">,
  ];
}

def EndStagePass : Pass<"ark-end-stage", "::mlir::ModuleOp"> {
  let summary = "Record that a module has reached a stage, and dump it on request";
  let description = [{
    Sets `ark.stage`. A block argument with a fused location gets the first part
    of the location, since MLIR cannot parse what it prints for a fused one. With
    `dump-dir`, writes the module with its locations to
    `<dump-dir>/NN-<stage>.mlir`, where NN is the number of the stage.

    ```mlir
    module {}
    // ark-end-stage{stage=graph} =>
    module attributes {ark.stage = "graph"} {}
    ```
  }];
  let options = [
    Option<"stage", "stage", "std::string", /*default=*/"", "The stage that ends">,
    Option<"dumpDir", "dump-dir", "std::string", /*default=*/"", "Folder to write the module to">,
  ];
  let dependentDialects = ["::mlir::ark::ArkDialect"];
}

#endif // ARK_PASSES_PIPELINES_PASSES_TD
