//===- ArkCommOps.td - Collectives and channel primitives -------*- tablegen -*-===//

#ifndef ARK_COMM_OPS_TD
#define ARK_COMM_OPS_TD

include "dialects/ark/ArkGraphOps.td"

//===----------------------------------------------------------------------===//
// Collectives on tensors
//===----------------------------------------------------------------------===//

/// Every rank executes the op. `world_size` equals that of the program.
class Ark_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Ark_Op<mnemonic, !listconcat(
        [InferTypeOpAdaptor, AnchorOpInterface,
         DeclareOpInterfaceMethods<CollectiveOpInterface>,
         MemoryEffects<[MemRead, MemWrite]>], traits)> {
  let results = (outs Ark_Tensor:$result);
  let extraClassDeclaration = [{
    bool takesEpilogue() { return false; }
  }];
}

def Ark_AllReduceOp : Ark_CollectiveOp<"all_reduce"> {
  let summary = "Elementwise reduction over all ranks, on every rank";
  let arguments = (ins Ark_NumberTensor:$operand, Ark_ReductionKindAttr:$kind, I64Attr:$world_size);
  let assemblyFormat = [{
    `` $kind $operand `world_size` `=` $world_size attr-dict `:` functional-type(operands, results)
  }];
  let description = "- (collective_c1) `world_size` is from 1 to 65536.";
}

def Ark_AllGatherOp : Ark_CollectiveOp<"all_gather"> {
  let summary = "Tensors of all ranks joined along one dimension, in order of rank";
  let arguments = (ins Ark_Tensor:$operand, I64Attr:$axis, I64Attr:$world_size);
  let assemblyFormat = [{
    $operand `axis` `=` $axis `world_size` `=` $world_size attr-dict
    `:` functional-type(operands, results)
  }];
  let description = [{
    - (collective_c1) `world_size` is from 1 to 65536.
    - (collective_c2) `axis` is a dimension of the operand.
  }];
}

def Ark_ReduceScatterOp : Ark_CollectiveOp<"reduce_scatter"> {
  let summary = "Elementwise reduction over all ranks; rank r keeps slice r along one dimension";
  let arguments = (ins Ark_NumberTensor:$operand, Ark_ReductionKindAttr:$kind, I64Attr:$axis,
                       I64Attr:$world_size);
  let assemblyFormat = [{
    `` $kind $operand `axis` `=` $axis `world_size` `=` $world_size attr-dict
    `:` functional-type(operands, results)
  }];
  let description = [{
    - (collective_c1) `world_size` is from 1 to 65536.
    - (collective_c2) `axis` is a dimension of the operand.
    - (collective_c3) its extent is a multiple of `world_size`.
  }];
}

def Ark_AllToAllOp : Ark_CollectiveOp<"all_to_all"> {
  let summary = "Sends slice r along one dimension to rank r";
  let arguments = (ins Ark_Tensor:$operand, I64Attr:$axis, I64Attr:$world_size);
  let assemblyFormat = [{
    $operand `axis` `=` $axis `world_size` `=` $world_size attr-dict
    `:` functional-type(operands, results)
  }];
  let description = [{
    - (collective_c1) `world_size` is from 1 to 65536.
    - (collective_c2) `axis` is a dimension of the operand.
    - (collective_c3) its extent is a multiple of `world_size`.
  }];
}

def Ark_BroadcastOp : Ark_CollectiveOp<"broadcast"> {
  let summary = "The tensor of one rank, on every rank";
  let arguments = (ins Ark_Tensor:$operand, I64Attr:$root, I64Attr:$world_size);
  let assemblyFormat = [{
    $operand `root` `=` $root `world_size` `=` $world_size attr-dict
    `:` functional-type(operands, results)
  }];
  let description = [{
    - (collective_c1) `world_size` is from 1 to 65536.
    - (collective_c4) `root` is a rank of the world.
  }];
}

def Ark_SendOp : Ark_CollectiveOp<"send"> {
  let summary = "Sends a tensor to another rank; the result is the tensor sent";
  let arguments = (ins Ark_Tensor:$operand, I64Attr:$peer, I64Attr:$tag);
  let assemblyFormat = [{
    $operand `to` $peer `tag` `=` $tag attr-dict `:` functional-type(operands, results)
  }];
  let description = [{
    - (collective_c5) the peer is not negative.
    - (collective_c6) the tag is not negative.
  }];
}

def Ark_RecvOp : Ark_Op<"recv", [DeclareOpInterfaceMethods<CollectiveOpInterface>,
                                 MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Receives a tensor from another rank";
  let arguments = (ins I64Attr:$peer, I64Attr:$tag);
  let results = (outs Ark_Tensor:$result);
  let assemblyFormat = "`from` $peer `tag` `=` $tag attr-dict `:` type($result)";
  let description = [{
    - (collective_c5) the peer is not negative.
    - (collective_c6) the tag is not negative.
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Primitives on channels
//===----------------------------------------------------------------------===//
//
// The primitives move values, not buffers. The `memory` stage decides where a value lies at the
// peer, and the `synchronization` stage decides which lanes wait before its bytes are reused, and
// proves the result.

class Ark_ChannelOp<string mnemonic, list<Trait> traits = []>
    : Ark_Op<"channel." # mnemonic,
             !listconcat([ChannelOpInterface, MemoryEffects<[MemRead, MemWrite]>], traits)>;

def Ark_ChannelOpenOp : Ark_Op<"channel.open", [Pure]> {
  let summary = "The channel between this rank and a peer";
  let description = [{
    Both ends name the same tag. Each end receives tensors in the order in which the other end puts
    them.

    - (collective_c5) the peer is not negative.
  }];
  let arguments = (ins I64Attr:$peer, I64Attr:$tag);
  let results = (outs Ark_ChannelType:$channel);
  let assemblyFormat = "`peer` `=` $peer `tag` `=` $tag attr-dict `:` type($channel)";
  let hasVerifier = 1;
}

class Ark_ChannelPutBaseOp<string mnemonic, code methods = ""> : Ark_ChannelOp<mnemonic> {
  let arguments = (ins Ark_ChannelType:$channel, Ark_Tensor:$operand);
  let assemblyFormat = "$channel `,` $operand attr-dict `:` type($channel) `,` type($operand)";
  let extraClassDeclaration = "::mlir::Value getPutTensor() { return getOperand(); }" # methods;
}

class Ark_ChannelTakeBaseOp<string mnemonic, code methods = ""> : Ark_ChannelOp<mnemonic> {
  let arguments = (ins Ark_ChannelType:$channel);
  let results = (outs Ark_Tensor:$result);
  let assemblyFormat = "$channel attr-dict `:` type($channel) `->` type($result)";
  let extraClassDeclaration = "::mlir::Value getTakenTensor() { return getResult(); }" # methods;
}

class Ark_ChannelSyncOp<string mnemonic> : Ark_ChannelOp<mnemonic> {
  let arguments = (ins Ark_ChannelType:$channel);
  let assemblyFormat = "$channel attr-dict `:` type($channel)";
}

defvar packetMethods = "bool usesPackets() { return true; }";

def Ark_ChannelPutOp : Ark_ChannelPutBaseOp<"put"> {
  let summary = "Copies a tensor to the peer, which may read it after the next signal";
}
def Ark_ChannelSignalOp : Ark_ChannelSyncOp<"signal"> {
  let summary = "Releases all earlier puts to the peer";
  let extraClassDeclaration = "bool isSignal() { return true; }";
}
def Ark_ChannelWaitOp : Ark_ChannelSyncOp<"wait"> {
  let summary = "Waits for one signal of the peer";
}
def Ark_ChannelGetOp : Ark_ChannelTakeBaseOp<"get"> {
  let summary = "The next tensor that the peer put and signalled";
}
def Ark_ChannelPutPacketOp : Ark_ChannelPutBaseOp<"put_packet", packetMethods> {
  let summary = "Copies a small tensor to the peer as LL packets, which carry the epoch";
  let description = [{
    - (packet_c1) elements have at most 32 bits.
  }];
  let hasVerifier = 1;
}
def Ark_ChannelReadPacketOp : Ark_ChannelTakeBaseOp<"read_packet", packetMethods> {
  let summary = "The next tensor that the peer put as LL packets, when its epoch arrives";
  let description = [{
    - (packet_c1) elements have at most 32 bits.
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Packets
//===----------------------------------------------------------------------===//
//
// The primitives in the joined program of all ranks. A packet is a word of 64 bits that one store
// writes. A reader that sees the current epoch in the word has the data as well, and needs no
// counter.

def Ark_PackPacketOp
    : Ark_GraphOp<"pack_packet", [DeclareOpInterfaceMethods<ElementwiseOpInterface>]> {
  let summary = "Every element as an LL packet: the element's bits below the epoch";
  let description = [{
    Bits 0 to 31 hold the element, and bits 32 to 63 the epoch of the iteration.

    - (packet_c1) elements have at most 32 bits.

    ```mlir
    %1 = ark.pack_packet %0 : (tensor<4xf32>) -> tensor<4xi64>
    ```
  }];
  let arguments = (ins Ark_Tensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
}

def Ark_UnpackPacketOp
    : Ark_GraphOp<"unpack_packet", [DeclareOpInterfaceMethods<ElementwiseOpInterface>]> {
  let summary = "The elements in LL packets that have arrived";
  let description = [{
    The op ignores the epochs: the hand-off before it has checked them.

    - (packet_c1) elements have at most 32 bits.
    - (packet_c2) the operand holds words of 64 bits.

    ```mlir
    %1 = ark.unpack_packet %0 to f32 : (tensor<4xi64>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Ark_Tensor:$operand, TypeAttr:$dtype);
  let assemblyFormat = [{
    $operand `to` $dtype attr-dict `:` functional-type(operands, results)
  }];
}

#endif // ARK_COMM_OPS_TD
