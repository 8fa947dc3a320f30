//===- ArkDialect.td - The ark dialect and its op base classes --*- tablegen -*-===//

#ifndef ARK_DIALECT_TD
#define ARK_DIALECT_TD

include "mlir/IR/OpBase.td"

def Ark_Dialect : Dialect {
  let name = "ark";
  let cppNamespace = "::mlir::ark";
  let summary = "Tensor programs compiled into one persistent kernel";
  let description = [{
    The `ark` dialect carries a program through every level of the compiler:

    | level | ops |
    |---|---|
    | graph | `ark.program`, tensor ops (`ark.matmul`, `ark.softmax`, ...), collectives, `ark.group` |
    | tasks | `ark.task`: a grid of virtual CTAs with declared read and write regions |
    | schedule | `ark.schedule`, `ark.lane`, `ark.run`, `ark.wait`, `ark.signal`, `ark.barrier` |
    | kernel | `ark.kernel`: the tables that the persistent kernel executes |

    Shapes are static. An extent that varies at run time is bounded by the shape and passed as a
    scalar argument, so that one kernel serves every value.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasRegionArgAttrVerify = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Names of attributes, for passes and bindings.
    static constexpr llvm::StringLiteral kKindAttr = "ark.kind";
    static constexpr llvm::StringLiteral kNameAttr = "ark.name";
    static constexpr llvm::StringLiteral kInitAttr = "ark.init";
    static constexpr llvm::StringLiteral kMaxAttr = "ark.max";
    static constexpr llvm::StringLiteral kStopAttr = "ark.stop";
    /// On an argument of a body: the words of the argument are packets.
    static constexpr llvm::StringLiteral kPacketsAttr = "ark.packets";
    static constexpr llvm::StringLiteral kValueAttr = "ark.value";
    static constexpr llvm::StringLiteral kTargetAttr = "ark.target";
    static constexpr llvm::StringLiteral kStageAttr = "ark.stage";
    static constexpr llvm::StringLiteral kPlanAttr = "ark.plan";
    static constexpr llvm::StringLiteral kLargestLiveSetAttr = "ark.largest_live_set";
    /// On a program: bytes that the arena of each rank may have.
    static constexpr llvm::StringLiteral kMemoryLimitAttr = "ark.memory_limit";
    /// On a module: the NVLink domain of each rank of the program. GPUs of one domain
    /// store to each other's memory; between domains, network adapters copy.
    static constexpr llvm::StringLiteral kDomainsAttr = "ark.domains";
    /// Entry of a plan: the rank on whose SMs a group or task runs.
    static constexpr llvm::StringLiteral kRankKey = "rank";
    /// Entry of a plan: the rank of another domain to which a network adapter copies.
    static constexpr llvm::StringLiteral kNetworkKey = "network";

  private:
    void registerAttributes();
    void registerTypes();

  public:
  }];
}

/// Base of every op: the C++ class is the def without the `Ark_` prefix.
class Ark_Op<string mnemonic, list<Trait> traits = []>
    : Op<Ark_Dialect, mnemonic, traits>;

#endif // ARK_DIALECT_TD
