// RUN: ark-opt %s --split-input-file --ark-name-locations --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-compile-to=graph --ark-target=cpu:1 | FileCheck %s --check-prefix=GROUP

// The name wraps the original location.
// CHECK-LABEL: ark.program @namesBecomeLocations
// CHECK: ark.relu %{{.+}} : (tensor<4xf32>) -> tensor<4xf32> loc("gate"("{{.*}}name-locations.mlir":[[@LINE+9]]:8))
// CHECK-NEXT: ark.softmax %{{.+}} loc("{{.*}}name-locations.mlir":{{.+}})
// GROUP-LABEL: ark.program @namesBecomeLocations
// GROUP: ark.group "gate"
// GROUP: ark.group "softmax"
// GROUP: ark.group "matmul"
ark.program @namesBecomeLocations(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}, tensor<1x1xf32> {ark.name = "z"}, tensor<4xf32> {ark.name = "g"}) {
  %0 = ark.relu %x {ark.name = "gate"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.softmax %0 axis = 0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.reshape %x shape = [1, 4] : (tensor<4xf32>) -> tensor<1x4xf32>
  %3 = ark.matmul %2, %2 {transpose_other} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x1xf32>
  ark.return %1, %3, %0 : tensor<4xf32>, tensor<1x1xf32>, tensor<4xf32>
}

// -----

// Locations from the builder hold more detail and stay; a name in the text that differs is added.
// CHECK-LABEL: ark.program @existingNamesStay
// CHECK: ark.relu %{{.+}} loc("gate"("net.py":7:3))
// CHECK-NEXT: ark.exp %{{.+}} loc("edited"("gate"("net.py":8:3)))
// CHECK-NEXT: ark.neg %{{.+}} loc("neg"("net.py":9:3))
ark.program @existingNamesStay(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  %0 = ark.relu %x {ark.name = "gate"} : (tensor<4xf32>) -> tensor<4xf32> loc("gate"("net.py":7:3))
  %1 = ark.exp %0 {ark.name = "edited"} : (tensor<4xf32>) -> tensor<4xf32> loc("gate"("net.py":8:3))
  %2 = ark.neg %1 : (tensor<4xf32>) -> tensor<4xf32> loc("neg"("net.py":9:3))
  ark.return %2 : tensor<4xf32>
}

// -----

// Different names do not prevent CSE of equal ops; the name of the first op stays.
// GROUP-LABEL: ark.program @equalOpsWithDifferentNames
// GROUP: ark.group "first"
// GROUP-NEXT: ark.softmax
// GROUP-NOT: ark.softmax
// GROUP: ark.return
ark.program @equalOpsWithDifferentNames(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  %0 = ark.softmax %x axis = 0 {ark.name = "first"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.softmax %x axis = 0 {ark.name = "second"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ark.return %2 : tensor<4xf32>
}
