# Helpers for the CMakeLists.txt files of this project.
#
# All C++ goes into object libraries, one per folder, and every binary links all of them. A library
# names the folders that it uses (USES), and the build fails if one of its files includes a header
# of another folder: see CheckIncludes.cmake. The sources of a folder are all its *.cpp; a new file
# needs no entry in CMakeLists.txt.

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

# Fails the build of the library `name` if a file of this folder includes a header of a folder
# that is neither this one nor in the list that follows.
function(ark_check_includes name)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/${name}.includes)
  set(script ${PROJECT_SOURCE_DIR}/lib/cmake/CheckIncludes.cmake)
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} "-Dfolder=${folder}" "-Duses=${ARGN}" "-Dfiles=${files}"
            "-Dstamp=${stamp}" -P ${script}
    DEPENDS ${files} ${script} VERBATIM)
  add_custom_target(${name}-includes DEPENDS ${stamp})
  add_dependencies(${name} ${name}-includes)
endfunction()

# Each precompiled header is built once, in an otherwise empty library of lib/pch, and shared by
# the folders.
function(ark_use_pch name pch)
  if(NOT ARK_ENABLE_PCH)
    return()
  endif()
  target_precompile_headers(${name} REUSE_FROM ${pch})
endfunction()

# add_ark_library(<name> [TEST_ONLY] [NO_PCH | LLVM_PCH] [SOURCES ...] [USES folder ...])
# Compiles a folder of C++. Without SOURCES, takes all *.cpp of the folder, and skips a folder
# without any. LLVM_PCH is for folders most of whose files include MLIR's LLVM or GPU dialects. USES
# lists the other folders whose headers the sources may include; a folder does not stand for its
# subfolders.
function(add_ark_library name)
  cmake_parse_arguments(ARG "TEST_ONLY;NO_PCH;LLVM_PCH" "" "SOURCES;USES" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  endif()
  if(NOT ARG_SOURCES)
    return()
  endif()
  add_library(${name} OBJECT ${ARG_SOURCES})
  ark_setup_target(${name})
  ark_check_includes(${name} ${ARG_USES})
  if(ARG_LLVM_PCH)
    ark_use_pch(${name} ArkLLVMPCH)
  elseif(NOT ARG_NO_PCH)
    ark_use_pch(${name} ArkPCH)
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

# add_ark_dialect(<Prefix> <name> [SEPARATE stem op]): tablegens <Prefix>{Dialect,Enums,Attrs,Types,
# Interfaces,Ops}.td of this folder into <Prefix>*.{h,cpp}.inc, compiles the
# folder as library <Prefix>Dialect and documents it in <Prefix>Dialect.md. The class of the op in
# <stem>.td goes to <stem>.{h,cpp}.inc instead: a change of it rebuilds only the sources that read it.
function(add_ark_dialect prefix dialect)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SEPARATE")
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
  if(arg_SEPARATE)
    list(GET arg_SEPARATE 0 stem)
    list(GET arg_SEPARATE 1 name)
    ark_gen(${stem}.td ${stem} op -op-include-regex=${name})
    ark_gen(${prefix}Ops.td ${prefix}Ops op -op-exclude-regex=${name})
  else()
    ark_gen(${prefix}Ops.td ${prefix}Ops op)
  endif()
  add_public_tablegen_target(${prefix}DialectIncGen)
  add_dependencies(ark-headers ${prefix}DialectIncGen)
  add_ark_library(${prefix}Dialect)
  add_ark_doc(${prefix}Dialect ${prefix}Ops.td -gen-dialect-doc -dialect=${dialect})
endfunction()

# add_ark_passes([LLVM_PCH] [USES folder ...]): tablegens Passes.td of this folder into Passes.h.inc and
# compiles the folder as a library. Both are named after the path below passes: in
# passes/target/simt the library is ArkTargetSimtPasses, and registerArkTargetSimtPasses registers
# the passes.
function(add_ark_passes)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/passes ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX MATCHALL "[^/_]+" words "${path}")
  set(name Ark)
  foreach(word ${words})
    string(SUBSTRING ${word} 0 1 initial)
    string(TOUPPER ${initial} initial)
    string(SUBSTRING ${word} 1 -1 rest)
    string(APPEND name ${initial}${rest})
  endforeach()
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name ${name})
  add_public_tablegen_target(${name}PassesIncGen)
  add_dependencies(ark-headers ${name}PassesIncGen)
  add_ark_library(${name}Passes ${ARGN})
  add_ark_doc(Passes Passes.td -gen-pass-doc)
endfunction()

# add_ark_kernel_texts(): makes KernelTexts.h.inc of all *.mlir of this folder, with a constant
# k<Name> of type KernelText for each <Name>.mlir. The file of a backend includes it.
function(add_ark_kernel_texts)
  set(constants "")
  file(GLOB texts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.mlir)
  foreach(path ${texts})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    get_filename_component(name ${path} NAME_WE)
    file(READ ${path} text)
    string(APPEND constants "inline constexpr KernelText k${name} = {\n    \"${name}.mlir\",\n"
                            "    R\"mlir(${text})mlir\"};\n")
  endforeach()
  file(CONFIGURE OUTPUT KernelTexts.h.inc @ONLY CONTENT
       "#include \"lib/backend/KernelText.h\"\n\nnamespace mlir::ark {\n@constants@}\n")
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

  set(wrap ${PROJECT_SOURCE_DIR}/lib/cmake/wrap_doc.py)
  get_filename_component(built_folder ${built} DIRECTORY)
  file(MAKE_DIRECTORY ${built_folder})
  add_custom_command(OUTPUT ${built}
    COMMAND ${Python3_EXECUTABLE} ${wrap} ${generated} ${built}
    DEPENDS ${generated} ${wrap})
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
