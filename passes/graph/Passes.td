//===- Passes.td - Passes of the graph stage ---------------*- tablegen -*-===//

#ifndef ARK_PASSES_GRAPH_PASSES_TD
#define ARK_PASSES_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyInputPass : Pass<"ark-verify-input", "::mlir::ark::ProgramOp"> {
  let summary = "Rejects programs that the compiler cannot execute yet";
  let description = [{
    What the dialect can express and the later stages cannot run gives one
    error here, at the op that is at fault, instead of a puzzling one later:
    ops that are not graph ops, communication in a program without rank and
    world size, and a program that is already further down the pipeline.

    - (input_c1) a tensor takes at most 2^47 bytes, which is what a process can
      address. (Arguments: program_c5.)

    Changes nothing.
  }];
}

def NameLocationsPass : Pass<"ark-name-locations", "::mlir::ark::ProgramOp"> {
  let summary = "Makes the names that ops were given part of their locations";
  let description = [{
    Errors, reports and traces call an op by the name in its location, and groups and tasks
    after it. The Python builder puts names there; text has no locations, so that the builder
    also leaves a name as `ark.name` where it is not that of the op. Here the attribute goes:
    equal ops of other names are equal.

    ```mlir
    %1 = ark.relu %0 {ark.name = "gate"} : (tensor<4xf32>) -> tensor<4xf32>            // before
    %1 = ark.relu %0 : (tensor<4xf32>) -> tensor<4xf32> loc("gate"("program.mlir":7:3))  // after
    ```
  }];
  let statistics = [
    Statistic<"numNamed", "num-named", "Ops whose location had another name or none">,
  ];
}

def VerifyRanksPass : Pass<"ark-verify-ranks", "::mlir::ModuleOp"> {
  let summary = "Checks that the programs of all ranks fit together";
  let description = [{
    Errors are at an op of one rank, with a note at the other's.

    - (ranks_c1) either no program of the module has a rank, or there is one
      program for every rank of one world.
    - (ranks_c2) a collective has the world size of its program.
    - (ranks_c3) all ranks execute the same collectives in the same order: op,
      type of the operand, kind, axis and root agree.
    - (ranks_c4) what a rank sends to another under a tag is received there under
      that tag, in the same order and with the same types.

    Changes nothing.
  }];
}

def ExpandCollectivesPass : Pass<"ark-expand-collectives", "::mlir::ark::ProgramOp"> {
  let summary = "Expands collectives into primitives on channels, by size";
  let description = [{
    What each rank does for a collective: it puts tensors to others, takes what
    they put, and combines. `ark.send` and `ark.recv` are one put and one take.

    | algorithm | all_reduce | broadcast | all_gather, reduce_scatter |
    |---|---|---|---|
    | one-shot | all to all ranks, everyone reduces | from the root to all | to all |
    | two-shot | a part to its rank, which reduces it; reduced parts to all | parts, then as all_gather | to all |
    | ring | parts once around, reduced on the way; once more as they are | around the ring | around the ring |

    `ark.all_to_all` sends every part straight to its rank. `auto` takes one shot
    up to `one-shot-bytes` (times two over the ranks, since a rank sends to all
    others; always among two), two shots up to `two-shot-bytes`, else the ring.
    Messages of at most `packet-bytes`, of elements of at most 32 bits, are packets; others are
    put and signalled. On `cpu` that is 1 KiB: beyond, copying words with flags takes longer than
    a counter. On GPUs it is 256 KiB.

    Sums of floats are taken in f32 and rounded once, in order of rank, so that
    one shot and two shots give the same bits on every rank; the ring adds part `r`
    in the order `r + 1, ..., r`.

    ```mlir
    %1 = ark.all_reduce sum %0 world_size = 2 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    becomes, on rank 0,
    ```mlir
    %c = ark.channel.open peer = 1 tag = -1 : !ark.channel
    ark.channel.put_packet %c, %0 : !ark.channel, tensor<4xf32>
    %p = ark.channel.read_packet %c : !ark.channel -> tensor<4xf32>
    %1 = ark.add %0, %p : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let options = [
    Option<"algorithm", "algorithm", "std::string", /*default=*/"\"auto\"",
           "auto, one-shot, two-shot or ring">,
    Option<"oneShotBytes", "one-shot-bytes", "int64_t", "256 << 10",
           "Largest tensor that two ranks exchange in one shot; less for more ranks">,
    Option<"twoShotBytes", "two-shot-bytes", "int64_t", "1 << 20",
           "Largest tensor exchanged in two shots">,
    Option<"packetBytes", "packet-bytes", "int64_t", "-1",
           "Largest message that goes as packets; -1 for the target's">,
  ];
  let statistics = [
    Statistic<"numCollectives", "collectives", "Collectives expanded">,
    Statistic<"numPuts", "puts", "Messages to other ranks">,
  ];
}

def JoinRanksPass : Pass<"ark-join-ranks", "::mlir::ModuleOp"> {
  let summary = "Makes one program of the programs of all ranks";
  let description = [{
    One schedule then holds the lanes of all ranks, one proof covers the orders
    between them, and what crosses from one rank to another is an ordinary
    dependence. Names of arguments, results and groups get their rank in front,
    where there are several, and the plan of each group says its rank. Of several
    states with `ark.stop`, that of the lowest rank ends the launch.

    What one rank puts is a group of its own, which copies it to where
    the other reads it. Signals and waits disappear: the `synchronization` stage
    derives them from what is read.

    - (channel_c1) what is taken from a channel has the type and the form (packet or
      not) of what was put.
    - (channel_c2) everything that is put is taken, and no ranks wait for each
      other in a circle.
    - (channel_c3) a channel comes from `ark.channel.open`, and leads to a rank whose
      program is in the module.

    ```mlir
    ark.program @p(%x: tensor<4xf32> {...name = "x"}) -> ... attributes {rank = 0, world_size = 2} {
      %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
      ark.channel.put_packet %c, %x : !ark.channel, tensor<4xf32>
      ...
    ark.program @q() -> ... attributes {rank = 1, world_size = 2} {
      %c = ark.channel.open peer = 0 tag = 0 : !ark.channel
      %y = ark.channel.read_packet %c : !ark.channel -> tensor<4xf32>
      %0 = ark.group "relu" (%a = %y) : ...
    ```
    becomes
    ```mlir
    ark.program @p(%x: tensor<4xf32> {...name = "rank0/x"}) -> ... attributes {world_size = 2} {
      %p = ark.group "rank0/put_packet.to1" (%a = %x) attributes {plan = {rank = 0}, ...} : ...  // ark.pack_packet
      %y = ark.group "rank1/read_packet.from0" (%a = %p) attributes {plan = {rank = 1}} : ...    // ark.unpack_packet
      %0 = ark.group "rank1/relu" (%a = %y) attributes {plan = {rank = 1}} : ...
    ```
  }];
  let statistics = [Statistic<"numRanks", "ranks", "Programs joined">];
}

def NormalizeGraphPass : Pass<"ark-normalize-graph", "::mlir::ark::ProgramOp"> {
  let summary = "Brings the tensor graph into the form that groups are made of";
  let description = [{
    - Views compose, and a view of a splat constant is a splat constant.
    - A broadcast that an op does by itself disappears into the op, and a
      transpose of the last two dimensions into the matmul that reads it.
    - A norm of rows that a view names, such as heads of a projection, comes after the views
      behind it that keep the rows: what reads it names elements as it does, and can become one
      task with it.
    - `ark.identity` without `deps` disappears; nested ones join their `deps`.
    - A tensor without elements is a constant.
    - `ark.concat` of more than 32 tensors joins what `ark.concat` makes of 16 at a time.
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

def SplitArgmaxPass : Pass<"ark-split-argmax", "::mlir::ark::ProgramOp"> {
  let summary = "Cuts a long dimension of an argmax into pieces for idle SMs";
  let description = [{
    The argmax of few rows is a vCTA for each of them, such as one for the next token of a
    decoder. Here the dimension becomes `P` pieces of neighbours, and a small op finds the
    largest of what they found: the same index as before, also where values are equal or NaN.

    `P` divides the extent, and there are at most as many pieces of all rows as SMs. The cost
    model chooses among these, or none: where the dimension is short, where there are many rows
    or few SMs. An argmax whose tile is in the user's plan is left alone, and one of 64-bit
    elements, whose value and index are more than one word.

    ```mlir
    %1 = ark.argmax %0 axis = 1 : (tensor<1x128256xf32>) -> tensor<1xi32>
    ```
    becomes
    ```mlir
    %1 = ark.reshape %0 shape = [1, 128, 1002] : (tensor<1x128256xf32>) -> tensor<1x128x1002xf32>
    %2 = ark.partial_argmax %1 axis = 2 : (tensor<1x128x1002xf32>) -> tensor<1x128xi64>
    %3 = ark.combine_argmax %2 axis = 1 : (tensor<1x128xi64>) -> tensor<1xi32>
    ```
  }];
  let options = [
    Option<"pieces", "pieces", "int64_t", "0",
           "Pieces, wherever they divide the extent; 0: by the cost model">,
  ];
  let statistics = [
    Statistic<"numSplit", "split-argmaxes", "Argmaxes that were cut">,
  ];
}

def SplitAttentionPass : Pass<"ark-split-attention", "::mlir::ark::ProgramOp"> {
  let summary = "Cuts attention over long keys into pieces for idle SMs";
  let description = [{
    Attention of few query rows is a vCTA for every key head, whose time follows the length of
    the keys while other SMs have nothing to do. Here the keys become `P` pieces, of every
    `P`-th key each: whatever the length at run time, pieces are equal but for one key. What the
    pieces make, a small op combines.

    `P` divides the number of keys, and there are at most as many pieces of all key heads as
    SMs. The cost model chooses among these, or none: where caches are short, where there are
    many query rows or few SMs. An attention whose tile is in the user's plan is left alone.

    ```mlir
    %1 = ark.attention %q, %k, %v kv_length %n scale = 1.25e-1
        : (tensor<32x1x64xf32>, tensor<8x1024x64xf32>, tensor<8x1024x64xf32>, tensor<i32>) -> tensor<32x1x64xf32>
    ```
    becomes
    ```mlir
    %1 = ark.reshape %k shape = [8, 64, 16, 64] : (tensor<8x1024x64xf32>) -> tensor<8x64x16x64xf32>
    %2 = ark.reshape %v shape = [8, 64, 16, 64] : (tensor<8x1024x64xf32>) -> tensor<8x64x16x64xf32>
    %3 = ark.partial_attention %q, %1, %2 kv_length %n scale = 1.25e-1
        : (tensor<32x1x64xf32>, tensor<8x64x16x64xf32>, tensor<8x64x16x64xf32>, tensor<i32>) -> tensor<32x1x16x66xf32>
    %4 = ark.combine_attention %3 : (tensor<32x1x16x66xf32>) -> tensor<32x1x64xf32>
    ```
  }];
  let options = [
    Option<"maxRows", "max-rows", "int64_t", "16",
           "Query rows of one key head, of all its query heads, at most">,
    Option<"pieces", "pieces", "int64_t", "0",
           "Pieces, wherever they divide the keys of few rows; 0: by the cost model">,
  ];
  let statistics = [
    Statistic<"numSplit", "split-attentions", "Attentions that were cut">,
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
    - (graph_c1) the body holds groups, views, constants, `ark.noop` and `ark.return` only.
    - (graph_c2) a group has one result, one anchor at most, and graph ops other
      than views; its constants are splats.
    - (graph_c3) every result of the program is the result of a group that gives
      no other result and is no update.
    - (graph_c4) no group reads a state after the group that updates it.
    - (graph_c5) groups have distinct names.
    - (graph_c6) an `ark.identity` has no `deps`: its readers' groups carry them.
    - (graph_c7) an `ark.noop` keeps the result of a group.

    Changes nothing.
  }];
}

#endif // ARK_PASSES_GRAPH_PASSES_TD
