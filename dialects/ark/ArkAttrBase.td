//===- ArkAttrBase.td - Base class of attributes ----------------*- tablegen -*-===//

#ifndef ARK_ATTR_BASE_TD
#define ARK_ATTR_BASE_TD

include "dialects/ark/ArkEnums.td"
include "mlir/IR/AttrTypeBase.td"

class Ark_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Ark_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

#endif // ARK_ATTR_BASE_TD
