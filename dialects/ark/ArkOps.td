//===- ArkOps.td - All ops of the ark dialect -------------------*- tablegen -*-===//

#ifndef ARK_OPS_TD
#define ARK_OPS_TD

include "dialects/ark/ArkAnchorOps.td"
include "dialects/ark/ArkBodyOps.td"
include "dialects/ark/ArkCommOps.td"
include "dialects/ark/ArkConvolutionOps.td"
include "dialects/ark/ArkCustomOps.td"
include "dialects/ark/ArkGradientOps.td"
include "dialects/ark/ArkQuantizedOps.td"
include "dialects/ark/ArkGraphOps.td"
include "dialects/ark/ArkScheduleOps.td"
include "dialects/ark/ArkTaskOps.td"

#endif // ARK_OPS_TD
