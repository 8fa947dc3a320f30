//===- ArkAttrs.td - Attributes of the ark dialect --------------*- tablegen -*-===//

#ifndef ARK_ATTRS_TD
#define ARK_ATTRS_TD

include "dialects/ark/ArkEnums.td"
include "mlir/IR/AttrTypeBase.td"

class Ark_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Ark_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Ark_RegionAttr : Ark_Attr<"Region", "region"> {
  let summary = "The part of a buffer that one vCTA of a task may touch";
  let description = [{
    `offsets` maps the vCTA's grid index to the first element in every dimension; `sizes` gives the
    extents. A region is clipped to the shape of the operand, so the last vCTA of a ragged grid
    touches fewer elements.

    ```mlir
    // vCTA (i, j) touches rows [32 i, 32 i + 32) and columns [64 j, 64 j + 64).
    #ark.region<(d0, d1) -> (d0 * 32, d1 * 64), [32, 64]>
    ```

    Constraints (`ark.task` checks the region against its operand):
    - (region_c1) `offsets` has one result for every size.
    - (region_c2) every size is positive.
  }];
  let parameters = (ins "::mlir::AffineMap":$offsets,
                        OptionalArrayRefParameter<"int64_t">:$sizes);
  let assemblyFormat = "`<` custom<RegionMap>($offsets) `,` `[` (`]`) : ($sizes^ `]`)? `>`";
  let genVerifyDecl = 1;
}

def Ark_TargetAttr : Ark_Attr<"Target", "target"> {
  let summary = "Facts about the machine that a program is compiled for";
  let description = [{
    All figures are per device unless the name says otherwise. The cost model reads no other facts,
    so a file or a measurement can replace any of them.

    - `sms`: streaming multiprocessors; worker threads on `cpu`. 1 to 65536.
    - `warps`: warps of one persistent CTA; on `cpu` the most lanes of a worker.
    - `shared_memory`: bytes that the vCTAs of one SM may share.
    - `bandwidth`: streaming read, GB/s. `flops`: dense matrix rate, GFLOP/s.
    - `handoff`: one SM-to-SM signal, ns. `barrier`: one grid barrier, ns.
    - `overhead`: fixed cost of starting one vCTA, ns.

    ```mlir
    module attributes {ark.target = #ark.target<backend = cpu, arch = "host",
      sms = 2, warps = 1, shared_memory = 262144, bandwidth = 20, flops = 100,
      handoff = 200, barrier = 400, overhead = 50>} {}
    ```
  }];
  let parameters = (ins
    EnumParameter<Ark_Backend>:$backend, StringRefParameter<>:$arch,
    "int64_t":$sms, "int64_t":$warps, "int64_t":$shared_memory,
    "int64_t":$bandwidth, "int64_t":$flops, "int64_t":$handoff,
    "int64_t":$barrier, "int64_t":$overhead);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns true if many threads of an SM run one vCTA together.
    bool isGpu() const { return getBackend() != Backend::CPU; }
    /// Returns true if a run polls the packets that it reads: see ark-hand-over-packets.
    bool hasPolledPackets() const { return getBackend() == Backend::CUDA; }
    /// Returns the number of threads that run in step: 64 on the AMD GPUs that ark knows.
    int64_t getWarpSize() const {
      return getBackend() == Backend::HIP ? 64 : isGpu() ? 32 : 1;
    }
  }];
}

#endif // ARK_ATTRS_TD
