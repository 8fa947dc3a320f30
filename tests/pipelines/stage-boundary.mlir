// RUN: ark-opt %s --split-input-file --ark-begin-stage=stage=memory | FileCheck %s --check-prefix=BEGIN
// RUN: ark-opt %s --split-input-file --ark-end-stage=stage=memory | FileCheck %s --check-prefix=END

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
