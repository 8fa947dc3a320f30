//===- ArkCustomOps.td - Ops that users define ------------------*- tablegen -*-===//

#ifndef ARK_CUSTOM_OPS_TD
#define ARK_CUSTOM_OPS_TD

include "dialects/ark/ArkAttrs.td"
include "dialects/ark/ArkInterfaces.td"
include "dialects/ark/ArkTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Ark_CustomOp : Ark_Op<"custom", [AnchorOpInterface, IsolatedFromAbove, Pure, SingleBlock]> {
  let summary = "A grid of vCTAs with declared regions and a body that the user writes";
  let description = [{
    The op becomes one task, of the same grid, regions and body. The compiler schedules,
    synchronises and proves the task like any other task. The body is one vCTA. Its arguments are
    the grid indices, a tile for every input, and a tile for the result. It yields the elements of
    the result's tile; the last argument has no elements yet, and serves as destination of
    structured ops.

    A tile has the extents of its region; an extent is dynamic (`?`) if the region is clipped for some
    vCTA, as for `ark.task`. The body holds `linalg`, `tensor`, `arith`, `math`, `scf.for`, `scf.if` and affine
    ops, and those ark ops that `ark-decompose` can expand without a choice of tiles: elementwise ops,
    reductions, `softmax`, norms and `matmul`. ark ops need static extents.
    `ark-verify-input` checks these ops, and that the regions of the result cover all of it.
    `ark-verify-synchronization` proves that they do not overlap.

    - (custom_c1) the grid has at least one dimension; its extents are positive, and it has at most
      2^22 vCTAs.
    - (custom_c2) inputs and result have a static shape and at least one element. The region of an
      input has as many results as the input has dimensions, and as many inputs as the grid has
      dimensions. The same holds for the region of the result.
    - (custom_c3) a region starts inside of its tensor for every vCTA.
    - (custom_c4) block arguments: one `index` for every grid dimension, then one tile for every input
      and one for the result.
    - (custom_c5) the body yields one tensor, of the type of the result's tile.

    ```mlir
    %1 = ark.custom grid [2] ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>)
        out <(d0) -> (d0 * 16), [16]> {
    ^bb0(%i: index, %a: tensor<16xf32>, %o: tensor<16xf32>):
      %2 = ark.exp %a : (tensor<16xf32>) -> tensor<16xf32>
      %3 = ark.mul %2, %a : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
      ark.yield %3 : tensor<16xf32>
    } : tensor<32xf32>
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$grid, Variadic<Ark_Tensor>:$inputs,
                       TypedArrayAttrBase<Ark_RegionAttr, "regions">:$input_regions,
                       Ark_RegionAttr:$out_region);
  let results = (outs Ark_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `grid` $grid
    `ins` `(` custom<RegionOperands>($inputs, type($inputs), $input_regions) `)`
    `out` $out_region attr-dict-with-keyword $body `:` type($result)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    bool takesEpilogue() { return false; }
    /// Returns the region of input `index`.
    ::mlir::ark::RegionAttr getInputRegion(unsigned index) {
      return ::llvm::cast<::mlir::ark::RegionAttr>(getInputRegions()[index]);
    }
  }];
}

#endif // ARK_CUSTOM_OPS_TD
