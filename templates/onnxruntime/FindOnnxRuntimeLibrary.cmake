# Finds the library of ONNX Runtime and defines onnxruntime_library::onnxruntime. Its headers are not needed.
#
# Looks at ONNXRUNTIME_ROOT (an unpacked release, a vcpkg or Conan package, ...), then where CMake looks for
# libraries, then at the onnxruntime package of the Python found on the PATH.
set(ONNXRUNTIME_ROOT "" CACHE PATH "Folder with ONNX Runtime: its lib/ holds libonnxruntime.so")

find_library(ONNXRUNTIME_LIBRARY onnxruntime HINTS ${ONNXRUNTIME_ROOT} $ENV{ONNXRUNTIME_ROOT} PATH_SUFFIXES lib lib64
  NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
find_library(ONNXRUNTIME_LIBRARY onnxruntime)
if(NOT ONNXRUNTIME_LIBRARY)
  find_program(TORCH2CPP_PYTHON_PROGRAM NAMES python3 python)
  if(TORCH2CPP_PYTHON_PROGRAM AND NOT CMAKE_CROSSCOMPILING)
    execute_process(
      COMMAND ${TORCH2CPP_PYTHON_PROGRAM} -c
              "import importlib.util, os; print(os.path.dirname(importlib.util.find_spec('onnxruntime').origin))"
      OUTPUT_VARIABLE _from_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  file(GLOB _found ${ONNXRUNTIME_ROOT}/libonnxruntime.so.* ${ONNXRUNTIME_ROOT}/capi/libonnxruntime.so.*
       ${_from_python}/capi/libonnxruntime.so.*)
  if(_found)
    # Python's package has no file of the name that programs ask the loader for.
    list(GET _found 0 _found)
    # Installed beside the program, since the folder of this build may go away.
    set(OnnxRuntimeLibrary_BUNDLED ${_found} CACHE INTERNAL "")
    set(OnnxRuntimeLibrary_BUNDLED_AS libonnxruntime.so.1 CACHE INTERNAL "")
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/onnxruntime)
    file(CREATE_LINK ${_found} ${CMAKE_BINARY_DIR}/onnxruntime/libonnxruntime.so.1 SYMBOLIC)
    set(ONNXRUNTIME_LIBRARY ${CMAKE_BINARY_DIR}/onnxruntime/libonnxruntime.so.1 CACHE FILEPATH "ONNX Runtime" FORCE)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxRuntimeLibrary
  REQUIRED_VARS ONNXRUNTIME_LIBRARY
  REASON_FAILURE_MESSAGE "Give the folder of ONNX Runtime with -DONNXRUNTIME_ROOT=DIR, or pip install onnxruntime.")

if(OnnxRuntimeLibrary_FOUND AND NOT TARGET onnxruntime_library::onnxruntime)
  add_library(onnxruntime_library::onnxruntime UNKNOWN IMPORTED)
  set_target_properties(onnxruntime_library::onnxruntime PROPERTIES IMPORTED_LOCATION ${ONNXRUNTIME_LIBRARY})
endif()
