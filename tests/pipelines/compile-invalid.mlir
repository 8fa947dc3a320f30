// RUN: not ark-opt %s --ark-compile-to=binary 2>&1 | FileCheck %s --check-prefix=TO
// RUN: not ark-opt %s --ark-compile=to=binary 2>&1 | FileCheck %s --check-prefix=TO
// RUN: not ark-opt %s --ark-compile-to=graph --ark-compile-from=parsing 2>&1 | FileCheck %s --check-prefix=FROM
// RUN: not ark-opt %s --ark-compile-to=graph --ark-compile-from=memory 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not ark-opt %s '--ark-compile=from=memory to=graph' 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not ark-opt %s --ark-compile-to=graph 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: not ark-opt %s --ark-compile-from=scheduling --ark-compile-to=scheduling 2>&1 | FileCheck %s --check-prefix=SKIP
// RUN: not ark-opt %s --ark-compile-from=tiling --ark-compile-to=scheduling --ark-scheduler=oracle 2>&1 | FileCheck %s --check-prefix=SCHEDULER
// RUN: not ark-opt %s --ark-compile=stage=graph 2>&1 | FileCheck %s --check-prefix=OPTION

// TO: error: 'binary' is not a stage: option 'to' is one of graph, tiling, memory, scheduling, synchronization, kernel, target
// FROM: error: 'parsing' is not a stage: option 'from' is one of graph, tiling, memory, scheduling, synchronization, kernel, target
// ORDER: error: stage 'graph' comes before 'memory'
// AGAIN: error: stage 'graph' cannot follow: the module has reached stage 'graph'; go on from 'tiling' (--ark-compile-from=tiling)
// SKIP: error: stage 'scheduling' cannot follow: the module has reached stage 'graph'; go on from 'tiling' (--ark-compile-from=tiling)
// SCHEDULER: error: {{.*}}'oracle'
// OPTION: no such option stage
// OPTION: error: ark-compile: cannot parse options 'stage=graph'
module attributes {ark.stage = "graph"} {
  ark.program @identity(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) {
    %0 = ark.group "copy" (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
      %1 = ark.copy %a : (tensor<4xf32>) -> tensor<4xf32>
      ark.yield %1 : tensor<4xf32>
    }
    ark.return %0 : tensor<4xf32>
  }
}
