# Helpers for the CMakeLists.txt files of this project.
#
# All C++ goes into object libraries, one per folder, and every binary links all of them. A folder
# does not name the folders that it uses, there is no link order, and passes may call each other's
# helpers. The sources of a folder are all its *.cpp; adding a file needs no edit here.

# Objects for ark-opt and the C API, and objects of test-only passes for ark-opt.
set_property(GLOBAL PROPERTY ARK_LIBRARIES "")
set_property(GLOBAL PROPERTY ARK_TEST_LIBRARIES "")

# Every generated header is a dependency of this target, so that any source file may include any of
# the headers.
add_custom_target(ark-headers)

# Generated documentation: `ark-docs` writes build/docs, `update-ark-docs` copies
# it beside the sources, `check-ark-docs` fails when the copies are stale.
add_custom_target(ark-docs)
add_custom_target(update-ark-docs)
add_custom_target(check-ark-docs)

# Compile flags and dependencies common to all C++ of this project.
function(ark_setup_target name)
  add_dependencies(${name} ark-headers)
  # LLVM is built with RTTI and without exceptions; code that links LLVM must agree.
  target_compile_options(${name} PRIVATE -fno-exceptions -frtti -Wno-unused-parameter)
endfunction()

# The precompiled header is built once, in an otherwise empty library, and
# shared by every folder.
function(ark_use_pch name)
  if(NOT ARK_ENABLE_PCH)
    return()
  endif()
  target_precompile_headers(${name} REUSE_FROM ArkPCH)
endfunction()

# add_ark_library(<name> [TEST_ONLY] [NO_PCH] [SOURCES ...])
# Compiles a folder of C++. Without SOURCES, takes all *.cpp of the folder, and skips a folder
# without any.
function(add_ark_library name)
  cmake_parse_arguments(ARG "TEST_ONLY;NO_PCH" "" "SOURCES" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  endif()
  if(NOT ARG_SOURCES)
    return()
  endif()
  add_library(${name} OBJECT ${ARG_SOURCES})
  ark_setup_target(${name})
  if(NOT ARG_NO_PCH)
    ark_use_pch(${name})
  endif()
  if(ARG_TEST_ONLY)
    set_property(GLOBAL APPEND PROPERTY ARK_TEST_LIBRARIES ${name})
  else()
    set_property(GLOBAL APPEND PROPERTY ARK_LIBRARIES ${name})
  endif()
endfunction()

# Links all ark libraries into a binary, with MLIR and LLVM: their shared libraries, or their
# archives for ARK_STATIC_LLVM.
function(ark_link target)
  get_property(libraries GLOBAL PROPERTY ARK_LIBRARIES)
  foreach(library ${libraries})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${library}>)
  endforeach()
  if(ARK_STATIC_LLVM)
    ark_embed_llvm(${target})
    return()
  endif()
  target_link_libraries(${target} PRIVATE MLIR LLVM)
  # The distribution keeps libMLIR.so outside the loader's default path.
  set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH ${LLVM_LIBRARY_DIR})
  set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH ${LLVM_LIBRARY_DIR})
endfunction()

# add_ark_dialect(<Prefix> <name>): tablegens <Prefix>{Dialect,Enums,Attrs,Types,
# Interfaces,Ops}.td of this folder into <Prefix>*.{h,cpp}.inc, compiles the
# folder as library <Prefix>Dialect and documents it in <Prefix>Dialect.md.
function(add_ark_dialect prefix dialect)
  macro(ark_gen td_file stem command)
    set(LLVM_TARGET_DEFINITIONS ${td_file})
    mlir_tablegen(${stem}.h.inc -gen-${command}-decls ${ARGN})
    mlir_tablegen(${stem}.cpp.inc -gen-${command}-defs ${ARGN})
  endmacro()
  ark_gen(${prefix}Ops.td ${prefix}Dialect dialect -dialect=${dialect})
  ark_gen(${prefix}Enums.td ${prefix}Enums enum)
  ark_gen(${prefix}Attrs.td ${prefix}Attrs attrdef -attrdefs-dialect=${dialect})
  ark_gen(${prefix}Types.td ${prefix}Types typedef -typedefs-dialect=${dialect})
  ark_gen(${prefix}Interfaces.td ${prefix}Interfaces op-interface)
  ark_gen(${prefix}Ops.td ${prefix}Ops op)
  add_public_tablegen_target(${prefix}DialectIncGen)
  add_dependencies(ark-headers ${prefix}DialectIncGen)
  add_ark_library(${prefix}Dialect)
  add_ark_doc(${prefix}Dialect ${prefix}Ops.td -gen-dialect-doc -dialect=${dialect})
endfunction()

# add_ark_passes(<stage>): tablegens Passes.td of this folder into Passes.h.inc
# (registration function registerArk<Stage>Passes) and compiles the folder as
# library Ark<Stage>Passes.
function(add_ark_passes stage)
  string(SUBSTRING ${stage} 0 1 initial)
  string(TOUPPER ${initial} initial)
  string(SUBSTRING ${stage} 1 -1 rest)
  set(name Ark${initial}${rest})
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name ${name})
  add_public_tablegen_target(${name}PassesIncGen)
  add_dependencies(ark-headers ${name}PassesIncGen)
  add_ark_library(${name}Passes)
  add_ark_doc(Passes Passes.td -gen-pass-doc)
endfunction()

# add_ark_doc(<name> <td file> <tblgen arguments>): <name>.md beside the td file.
function(add_ark_doc name td_file)
  set(LLVM_TARGET_DEFINITIONS ${td_file})
  tablegen(MLIR ${name}.md ${ARGN})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name}.md)
  set(built ${PROJECT_BINARY_DIR}/docs/${folder}/${name}.md)
  set(copy ${CMAKE_CURRENT_SOURCE_DIR}/${name}.md)
  string(REPLACE "/" "-" id "${folder}")

  add_custom_command(OUTPUT ${built}
    COMMAND ${CMAKE_COMMAND} -E copy ${generated} ${built}
    DEPENDS ${generated})
  add_custom_target(ark-docs-${id} DEPENDS ${built})
  add_custom_target(update-ark-docs-${id}
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${built} ${copy}
    DEPENDS ${built})
  add_custom_target(check-ark-docs-${id}
    COMMAND ${CMAKE_COMMAND} -Dgenerated=${built} -Dcopy=${copy}
            -P ${PROJECT_SOURCE_DIR}/lib/cmake/CheckDoc.cmake
    DEPENDS ${built})
  add_dependencies(ark-docs ark-docs-${id})
  add_dependencies(update-ark-docs update-ark-docs-${id})
  add_dependencies(check-ark-docs check-ark-docs-${id})
endfunction()
