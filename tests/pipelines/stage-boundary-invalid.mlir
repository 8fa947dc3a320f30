// RUN: ark-opt %s --split-input-file --verify-diagnostics --ark-begin-stage=stage=memory -o /dev/null
// RUN: not ark-opt %s --split-input-file --ark-begin-stage=stage=linking 2>&1 | FileCheck %s --check-prefix=BEGIN
// RUN: not ark-opt %s --split-input-file --ark-end-stage=stage=linking 2>&1 | FileCheck %s --check-prefix=END
// RUN: not ark-opt %s --split-input-file --ark-begin-stage 2>&1 | FileCheck %s --check-prefix=NONE

// BEGIN: error: 'linking' is not a stage
// END: error: 'linking' is not a stage
// NONE: error: '' is not a stage

// expected-error @below {{stage 'memory' cannot follow: the module has reached stage 'graph'; go on from 'tiling' (--ark-compile-from=tiling)}}
module @stageIsLeftOut attributes {ark.stage = "graph"} {}

// -----

// expected-error @below {{stage 'memory' cannot follow: the module has reached stage 'memory'; go on from 'scheduling' (--ark-compile-from=scheduling)}}
module @stageRunsTwice attributes {ark.stage = "memory"} {}

// -----

// expected-error @below {{stage 'memory' cannot follow: the module has reached stage 'synchronization'; go on from 'kernel' (--ark-compile-from=kernel)}}
module @stageIsLongPast attributes {ark.stage = "synchronization"} {}

// -----

// No stage follows the last one.
// expected-error-re @below {{stage 'memory' cannot follow: the module has reached stage 'target'{{$}}}}
module @lastStage attributes {ark.stage = "target"} {}

// -----

// expected-error @below {{'polishing' is not a stage}}
module @unknownStage attributes {ark.stage = "polishing"} {}
