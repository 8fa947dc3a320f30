// RUN: ark-opt %s --split-input-file --ark-begin-stage=stage=memory | FileCheck %s --check-prefix=BEGIN
// RUN: ark-opt %s --split-input-file --ark-end-stage=stage=memory | FileCheck %s --check-prefix=END
// RUN: ark-opt %s --split-input-file --ark-end-stage=stage=memory --mlir-print-debuginfo | ark-opt --split-input-file
// RUN: ark-opt %s --split-input-file --ark-end-stage=stage=memory --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=ARGUMENTS

// A module without a stage is accepted.
// BEGIN: module @withoutStage {
// END: module @withoutStage attributes {ark.stage = "memory"} {
module @withoutStage {
  ark.program @p() {
    ark.return
  }
}

// -----

// BEGIN: module @stageBefore attributes {ark.stage = "tiling"} {
// END: module @stageBefore attributes {ark.stage = "memory"} {
module @stageBefore attributes {ark.stage = "tiling"} {
  ark.program @p() {
    ark.return
  }
}

// -----

// MLIR cannot parse the location of %y if it prints the parts as aliases.
// ARGUMENTS: loc("first"
// ARGUMENTS-NOT: fused
module @fusedLocationOfAnArgument {
  ark.program @p(%y: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "y"} loc(fused["first"("a.py":1:1), "second"("a.py":2:1)])) {
    ark.return
  }
}
