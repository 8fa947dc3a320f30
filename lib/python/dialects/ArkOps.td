//===- ArkOps.td - Entry point of the Python op bindings ---*- tablegen -*-===//
// The bindings generator places its output by the path of its input, so this file has the path of
// the Python module.
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PYTHON_DIALECTS_ARKOPS_TD
#define ARK_LIB_PYTHON_DIALECTS_ARKOPS_TD

include "dialects/ark/ArkOps.td"

#endif // ARK_LIB_PYTHON_DIALECTS_ARKOPS_TD
