//===- ArkAttrs.td - Attributes of the ark dialect --------------*- tablegen -*-===//

#ifndef ARK_ATTRS_TD
#define ARK_ATTRS_TD

include "dialects/ark/ArkTargetAttrs.td"

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

#endif // ARK_ATTRS_TD
