# MLIR identifies a trait by the name of its type as the compiler spells it, and GCC and Clang spell
# such names differently. An ark built with another compiler than MLIR would start, but would not
# see that builtin.module is a symbol table.

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  get_target_property(ark_libmlir MLIR LOCATION)
  file(STRINGS ${ark_libmlir} ark_clang_spelling
       REGEX "DesiredTypeName = mlir::OpTrait::SymbolTable<Empty>" LIMIT_COUNT 1)
  if(ark_clang_spelling)
    message(FATAL_ERROR "ark: this MLIR was built with Clang, so ark must be too: "
      "install clang-22, or pass -DCMAKE_CXX_COMPILER=clang++")
  endif()
endif()
