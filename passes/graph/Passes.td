//===- Passes.td - Passes of the graph stage ---------------*- tablegen -*-===//

#ifndef ARK_PASSES_GRAPH_PASSES_TD
#define ARK_PASSES_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyInputPass : Pass<"ark-verify-input", "::mlir::ark::ProgramOp"> {
  let summary = "Rejects programs that the compiler cannot execute yet";
  let description = [{
    What the dialect can express and the later stages cannot run gives one
    error here, at the op that is at fault, instead of a puzzling one later:
    collectives between several ranks, channel primitives, ops that are not
    graph ops, and a program that is already further down the pipeline.

    - (input_c1) a tensor takes at most 2^47 bytes, which is what a process can
      address. (Arguments: program_c5.)

    Changes nothing.
  }];
}

def NormalizeGraphPass : Pass<"ark-normalize-graph", "::mlir::ark::ProgramOp"> {
  let summary = "Brings the tensor graph into the form that groups are made of";
  let description = [{
    - Views compose, and a view of a splat constant is a splat constant.
    - A broadcast that an op does by itself disappears into the op, and a
      transpose of the last two dimensions into the matmul that reads it.
    - `ark.identity` without `deps` disappears; nested ones join their `deps`.
    - A tensor without elements is a constant.
    - Reads of a state that follow its update in the block read a copy that is
      made before, because the update overwrites the state.

    ```mlir
    %0 = ark.transpose %w perm = [1, 0] : (tensor<256x64xf32>) -> tensor<64x256xf32>
    %1 = ark.matmul %x, %0 : (tensor<4x64xf32>, tensor<64x256xf32>) -> tensor<4x256xf32>
    %2 = ark.broadcast_to %b shape = [4, 256] : (tensor<256xf32>) -> tensor<4x256xf32>
    %3 = ark.add %1, %2 : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
    ```
    becomes
    ```mlir
    %1 = ark.matmul %x, %w {transpose_other} : (tensor<4x64xf32>, tensor<256x64xf32>) -> tensor<4x256xf32>
    %3 = ark.add %1, %b : (tensor<4x256xf32>, tensor<256xf32>) -> tensor<4x256xf32>
    ```
  }];
  let statistics = [
    Statistic<"numStateCopies", "state-copies", "Copies of a state made before its update">,
  ];
}

def IsolateResultsPass : Pass<"ark-isolate-results", "::mlir::ark::ProgramOp"> {
  let summary = "Gives every result of the program an op of its own";
  let description = [{
    The `memory` stage turns every result into a buffer that one task writes. A
    result that is an argument, a view, a constant, a state or another result
    is copied.

    ```mlir
    ark.return %x : tensor<4xf32>
    ```
    becomes
    ```mlir
    %0 = ark.copy %x : (tensor<4xf32>) -> tensor<4xf32>
    ark.return %0 : tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"numCopies", "copies", "Copies inserted">];
}

def FormGroupsPass : Pass<"ark-form-groups", "::mlir::ark::ProgramOp"> {
  let summary = "Joins every anchor op with its cheap producers and consumers";
  let description = [{
    A group becomes one task, and what it computes inside never reaches memory.

    - Epilogue: elementwise ops that are the only reader of what the group has so
      far and keep its shape.
    - Prologue: elementwise ops that only the anchor reads, where the
      anchor's tiles read every element once (reductions, normalisations, rope,
      update), so that nothing is computed twice. What goes into an update reads
      of its state only the elements that the same vCTA writes: none through a
      transpose, a reduction or a slice at other offsets.
    - Elementwise ops without anchor join their readers likewise.

    Views stay outside. Splat constants are cloned into every group that reads
    them. `deps` of an `ark.identity` become operands that the body ignores:
    the group still depends on them. A group takes the name of its anchor's
    location, made unique in the program, and the anchor's `ark.plan`; ops
    with different plans stay apart.

    ```mlir
    %0 = ark.matmul %x, %w {transpose_other} : ...
    %1 = ark.add %0, %bias : ...
    %2 = ark.gelu %1 approximate = none : ...
    ```
    becomes
    ```mlir
    %0 = ark.group "fc1" (%a = %x, %b = %w, %c = %bias) : (...) -> tensor<64x1536xf32> {
      %1 = ark.matmul %a, %b {transpose_other} : ...
      %2 = ark.add %1, %c : ...
      %3 = ark.gelu %2 approximate = none : ...
      ark.yield %3 : tensor<64x1536xf32>
    }
    ```
  }];
  let options = [
    Option<"maxOps", "max-ops", "int64_t", "32", "Most ops in a group">,
  ];
  let statistics = [
    Statistic<"numGroups", "groups", "Groups formed">,
    Statistic<"numFused", "fused-ops", "Ops that joined the group of another">,
  ];
}

def VerifyGraphPass : Pass<"ark-verify-graph", "::mlir::ark::ProgramOp"> {
  let summary = "Checks that a program is what the tiling stage accepts";
  let description = [{
    - (graph_c1) the body holds groups, views, constants and `ark.return` only.
    - (graph_c2) a group has one result, one anchor at most, and graph ops other
      than views; its constants are splats.
    - (graph_c3) every result of the program is the result of a group that gives
      no other result and is no update.
    - (graph_c4) no group reads a state after the group that updates it.
    - (graph_c5) groups have distinct names.
    - (graph_c6) an `ark.identity` has no `deps`: its readers' groups carry them.

    Changes nothing.
  }];
}

#endif // ARK_PASSES_GRAPH_PASSES_TD
