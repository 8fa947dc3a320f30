//===- Passes.td - Passes for several ranks ----------------*- tablegen -*-===//

#ifndef ARK_PASSES_GRAPH_COLLECTIVES_PASSES_TD
#define ARK_PASSES_GRAPH_COLLECTIVES_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyRanksPass : Pass<"ark-verify-ranks", "::mlir::ModuleOp"> {
  let summary = "Check that the programs of all ranks fit together";
  let description = [{
    Errors are reported at an op of one rank, with a note at the op of the other rank.

    - (ranks_c1) either no program of the module has a rank, or there is one program for every rank
      of one world.
    - (ranks_c2) a collective has the world size of its program.
    - (ranks_c3) all ranks execute the same collectives in the same order: op, type of the operand,
      kind, axis and root agree.
    - (ranks_c4) each tensor that a rank sends to another under a tag is received there under that
      tag, in the same order and with the same type.
    - (ranks_c5) if the module has `ark.domains`, every rank has a domain.
    - (ranks_c6) if the module has `ark.representative`, its one program stands for the programs of
      all ranks: no op names a rank, as `ark.send`, `ark.recv` and `ark.broadcast` do, and the module
      has no domains. The other rules then have no effect, except ranks_c2.

    Changes nothing.
  }];
}

def ExpandCollectivesPass : Pass<"ark-expand-collectives", "::mlir::ark::ProgramOp"> {
  let summary = "Expand collectives into primitives on channels, by size";
  let description = [{
    Expands a collective into the operations of one rank: it puts tensors to other ranks, takes the
    tensors that they put, and combines them. `ark.send` and `ark.recv` become one put and one take.

    | algorithm | all_reduce | broadcast | all_gather, reduce_scatter |
    |---|---|---|---|
    | one-shot | tensors to all ranks | from the root to all | to all |
    | two-shot | slices to one rank each, results to all | slices, then as all_gather | to all |
    | ring | slices to the next rank, twice around | to the next rank | to the next rank |

    With the one-shot algorithm, every rank reduces all tensors. With the two-shot algorithm, each
    rank reduces one slice and sends the result to all ranks. If slices stay larger than
    `slice-bytes`, the tensor is exchanged in two to four chunks: the slices of a chunk are sent
    before the previous chunk is reduced. With the ring algorithm, each rank
    sends to the next rank only: slices are reduced on their first way around the ranks, and the
    results are distributed on the second.

    `ark.all_to_all` sends every slice directly to its rank. On GPUs, `auto` selects the one-shot or
    the two-shot algorithm by the predicted time: latency and bytes over links. The ring algorithm
    would send as many bytes as the two-shot algorithm in more steps. On `cpu`, `auto` selects
    one-shot up to `one-shot-bytes` (multiplied by two and divided by the number of ranks, since a
    rank sends to all others; always with two ranks), two-shot up to `two-shot-bytes`, and the ring
    algorithm beyond. If an option sets one of these limits, the limits decide on GPUs, too. Tensors
    of at most `packet-bytes` whose elements have at most 32 bits are sent as LL packets; others are
    put and signalled. If ranks have several domains (`ark.domains`), no tensor is sent as packets.
    Otherwise, the default is 1 KiB on `cpu`, beyond which packets take longer than a
    counter, and 0 on GPUs, where small tensors become task packets in a later stage.

    Sums of floats are accumulated in f32 and rounded once. The one-shot and the two-shot algorithm
    add in the order of ranks, so they give the same bits on every rank. The ring algorithm adds
    slice `r` in the order `r + 1, ..., r`.

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
    Option<"oneShotBytes", "one-shot-bytes", "int64_t", "-1",
           "Largest tensor that two ranks exchange in one shot; less for more ranks. -1: 256 KiB, on "
           "GPUs the predicted time">,
    Option<"twoShotBytes", "two-shot-bytes", "int64_t", "-1",
           "Largest tensor exchanged in two shots. -1: 1 MiB, on GPUs any">,
    Option<"sliceBytes", "slice-bytes", "int64_t", "1048576",
           "Least bytes of the slices of a chunk of an all-reduce in two shots">,
    Option<"packetBytes", "packet-bytes", "int64_t", "-1",
           "Largest tensor that is sent as LL packets; -1 selects the target's default">,
  ];
  let statistics = [
    Statistic<"numCollectives", "collectives", "Collectives expanded">,
    Statistic<"numPuts", "puts", "Messages to other ranks">,
  ];
}

def RecomputeSumsPass : Pass<"ark-recompute-sums", "::mlir::ark::ProgramOp"> {
  let summary = "Recompute sums over ranks in the norms that read them (GPU)";
  let description = [{
    In a decoder, the sum of an all-reduce is added to the residual, and both a norm and a later sum
    read the result. In a separate task, the sum would cost the norm a hand-off between SMs. The
    pass gives the norm its own copy of the elementwise ops between the tensors of other ranks and
    the norm, so that the copy joins the group of the norm. The original has all other readers.

    ```mlir
    %1 = ark.channel.get %c : !ark.channel -> tensor<1x64xf32>
    %2 = ark.add %own, %1 : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %3 = ark.rmsnorm %2 eps = 1.0e-5 : (tensor<1x64xf32>) -> tensor<1x64xf32>
    %4 = ark.exp %2 : (tensor<1x64xf32>) -> tensor<1x64xf32>
    ```
    becomes
    ```mlir
    %1 = ark.channel.get %c : !ark.channel -> tensor<1x64xf32>
    %2 = ark.add %own, %1 : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %5 = ark.add %own, %1 : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %3 = ark.rmsnorm %5 eps = 1.0e-5 : (tensor<1x64xf32>) -> tensor<1x64xf32>
    %4 = ark.exp %2 : (tensor<1x64xf32>) -> tensor<1x64xf32>
    ```

    The pass skips sums with more rows than an SM has warps, whose norms are not recomputed, and sums
    with a plan of the user. On cpu, it does nothing.
  }];
  let statistics = [Statistic<"numSums", "sums", "Sums recomputed">];
}

def JoinRanksPass : Pass<"ark-join-ranks", "::mlir::ModuleOp"> {
  let summary = "Join the programs of all ranks into one";
  let description = [{
    One schedule then holds the lanes of all ranks, one proof covers the order between them, and a
    tensor that crosses ranks is an ordinary dependence. If there are several ranks, names of
    arguments, results and groups are prefixed with their rank, and the plan of each group contains
    its rank. Of several states with `ark.stop`, the one of the lowest rank ends the launch.

    Each put becomes a separate group, which copies the tensor to the buffer that the other rank
    reads. Signals and waits disappear: the `synchronization` stage derives them from the reads.

    Between two domains (`ark.domains`), each put becomes two groups. SMs copy the tensor to a
    contiguous buffer of the sender, and a network adapter copies this buffer. The plan of the second
    group names the receiver: `{network = 1, rank = 0}`.

    If the module has `ark.representative`, its one program stands for all ranks. The joined program
    has two copies of this program, ranks 0 and 1. Each copy takes from the other copy, as the tensor
    of the rank at a distance before it, what the other copy puts to the rank at this distance after
    it.

    - (channel_c1) a tensor taken from a channel has the type and the form (packet or not) of the
      tensor that was put.
    - (channel_c2) every tensor that is put is taken, and ranks do not wait for each other in a
      cycle.
    - (channel_c3) a channel comes from `ark.channel.open`, and leads to a rank whose program is in
      the module.
    - (channel_c4) a module with `ark.representative` has one program.

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

#endif // ARK_PASSES_GRAPH_COLLECTIVES_PASSES_TD
