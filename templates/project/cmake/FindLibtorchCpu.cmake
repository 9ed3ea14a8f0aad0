# Finds the CPU part of libtorch and defines libtorch_cpu::libtorch_cpu: libtorch_cpu and libc10, and nothing of Python.
#
# Looks at TORCH2CPP_TORCH, then at the prefixes of CMAKE_PREFIX_PATH and Torch_DIR, then at the torch package of
# the Python found on the PATH (its files only: no program built here needs Python). When cross-compiling, the first
# two are taken as they are, not below the target's root, and that Python's package is not looked at.
set(TORCH2CPP_TORCH "" CACHE PATH "Folder with libtorch: its include/ and lib/")

set(_hints ${TORCH2CPP_TORCH} $ENV{TORCH2CPP_TORCH})
foreach(_prefix ${CMAKE_PREFIX_PATH} ${Torch_DIR})
  list(APPEND _hints ${_prefix} ${_prefix}/../.. ${_prefix}/../../..)
endforeach()
if(NOT _hints AND NOT CMAKE_CROSSCOMPILING)
  find_program(TORCH2CPP_PYTHON_PROGRAM NAMES python3 python)
  if(TORCH2CPP_PYTHON_PROGRAM)
    execute_process(
      COMMAND ${TORCH2CPP_PYTHON_PROGRAM} -c
              "import importlib.util, os; print(os.path.dirname(importlib.util.find_spec('torch').origin))"
      OUTPUT_VARIABLE _from_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND _hints ${_from_python})
  endif()
endif()

set(_as_given NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
find_path(LIBTORCH_INCLUDE_DIR torch/csrc/stable/tensor.h HINTS ${_hints} PATH_SUFFIXES include ${_as_given})
find_library(LIBTORCH_CPU_LIBRARY torch_cpu HINTS ${_hints} PATH_SUFFIXES lib ${_as_given})
find_library(LIBTORCH_C10_LIBRARY c10 HINTS ${_hints} PATH_SUFFIXES lib ${_as_given})
find_path(LIBTORCH_INCLUDE_DIR torch/csrc/stable/tensor.h)
find_library(LIBTORCH_CPU_LIBRARY torch_cpu)
find_library(LIBTORCH_C10_LIBRARY c10)
if(LIBTORCH_CPU_LIBRARY AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  # The number of its machine in the file's header: linking would fail with less clear words.
  file(READ ${LIBTORCH_CPU_LIBRARY} _machine OFFSET 18 LIMIT 2 HEX)
  if(NOT _machine STREQUAL "b700")
    message(FATAL_ERROR "${LIBTORCH_CPU_LIBRARY} is not for aarch64. Give one that is with -DTORCH2CPP_TORCH=DIR.")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibtorchCpu
  REQUIRED_VARS LIBTORCH_CPU_LIBRARY LIBTORCH_C10_LIBRARY LIBTORCH_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Give the folder of libtorch with -DTORCH2CPP_TORCH=DIR.")

if(LibtorchCpu_FOUND AND NOT TARGET libtorch_cpu::libtorch_cpu)
  add_library(libtorch_cpu::c10 UNKNOWN IMPORTED)
  set_target_properties(libtorch_cpu::c10 PROPERTIES IMPORTED_LOCATION ${LIBTORCH_C10_LIBRARY})
  add_library(libtorch_cpu::libtorch_cpu UNKNOWN IMPORTED)
  set_target_properties(libtorch_cpu::libtorch_cpu PROPERTIES
    IMPORTED_LOCATION ${LIBTORCH_CPU_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${LIBTORCH_INCLUDE_DIR}
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${LIBTORCH_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES libtorch_cpu::c10)

  get_filename_component(_lib ${LIBTORCH_CPU_LIBRARY} DIRECTORY)
  if(CMAKE_CROSSCOMPILING)
    # Where the linker finds what libtorch needs; natively it looks there itself.
    set_property(TARGET libtorch_cpu::libtorch_cpu APPEND PROPERTY
      INTERFACE_LINK_OPTIONS -Wl,-rpath-link,${_lib} -Wl,--allow-shlib-undefined)
  endif()
  # libtorch brings an OpenMP library of its own; regions must use that one, not a second beside it.
  file(GLOB _openmp ${_lib}/libgomp*.so* ${_lib}/libomp*.so*)
  if(_openmp)
    list(GET _openmp 0 _openmp)
    add_library(libtorch_cpu::openmp UNKNOWN IMPORTED)
    set_target_properties(libtorch_cpu::openmp PROPERTIES IMPORTED_LOCATION ${_openmp})
  endif()
endif()
