# Finds OpenVINO's C++ runtime and defines openvino_runtime::openvino.
#
# Looks where CMake looks for packages (OpenVINO_DIR, CMAKE_PREFIX_PATH), then at the openvino package of the Python
# found on the PATH.
find_package(OpenVINO CONFIG QUIET COMPONENTS Runtime)
if(NOT OpenVINO_FOUND)
  find_program(TORCH2CPP_PYTHON_PROGRAM NAMES python3 python)
  if(TORCH2CPP_PYTHON_PROGRAM)
    execute_process(
      COMMAND ${TORCH2CPP_PYTHON_PROGRAM} -c
              "import importlib.util, os; print(os.path.dirname(importlib.util.find_spec('openvino').origin))"
      OUTPUT_VARIABLE _from_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(_from_python)
      set(OpenVINO_DIR ${_from_python}/cmake CACHE PATH "Folder of OpenVINO's CMake package" FORCE)
      find_package(OpenVINO CONFIG QUIET COMPONENTS Runtime)
    endif()
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenVinoRuntime
  REQUIRED_VARS OpenVINO_DIR OpenVINO_FOUND
  REASON_FAILURE_MESSAGE "Give the folder of its CMake package with -DOpenVINO_DIR=DIR, or pip install openvino.")

if(OpenVinoRuntime_FOUND AND NOT TARGET openvino_runtime::openvino)
  add_library(openvino_runtime::openvino INTERFACE IMPORTED)
  set_target_properties(openvino_runtime::openvino PROPERTIES INTERFACE_LINK_LIBRARIES openvino::runtime)
endif()
