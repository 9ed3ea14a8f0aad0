// Classes of results and exceptions on the Python side.
#include "convert.h"

#include <map>

#include <torch2cpp/errors.h>

namespace torch2cpp::python {
namespace {

// An exception class by the name that Python's builtins, torch or this module know it under.
pb::object exception_class(const pb::module_& module, const PyError& error) {
  const std::string& name = error.type_name();
  const pb::module_ builtins = pb::module_::import("builtins");
  if (pb::hasattr(builtins, name.c_str())) {
    return builtins.attr(name.c_str());
  }
  if (name == "LinAlgError") {
    return pb::module_::import("torch").attr("linalg").attr("LinAlgError");
  }
  if (!pb::hasattr(module, name.c_str())) {
    pb::object base = builtins.attr("Exception");
    for (const std::string& candidate : error.bases()) {
      if (pb::hasattr(builtins, candidate.c_str())) {
        base = builtins.attr(candidate.c_str());
        break;
      }
    }
    const std::string full = std::string(pb::str(module.attr("__name__"))) + "." + name;
    module.attr(name.c_str()) =
        pb::reinterpret_steal<pb::object>(PyErr_NewException(full.c_str(), base.ptr(), nullptr));
  }
  return module.attr(name.c_str());
}

// str(KeyError(x)) is repr(x), which is what the message holds.
pb::object key_of(const std::string& message) {
  try {
    return pb::module_::import("ast").attr("literal_eval")(message);
  } catch (const pb::error_already_set&) {
    return pb::str(message);
  }
}

void raise(const pb::module_& module, const PyError& error) {
  const pb::object type = exception_class(module, error);
  const pb::object value = type(error.type_name() == "KeyError" ? key_of(error.message()) : pb::str(error.message()));
  if (!error.file().empty() && pb::hasattr(value, "add_note")) {
    value.attr("add_note")("raised at " + error.file() + ":" + std::to_string(error.line()));
  }
  PyErr_SetObject(type.ptr(), value.ptr());
}

// torch's own class for what an operator such as `topk` returns, called with the fields; None if there is none.
pb::object return_type(const std::string& name, const pb::list& fields) {
  const pb::object classes = pb::module_::import("torch").attr("return_types");
  if (!pb::hasattr(classes, name.c_str())) {
    return pb::none();
  }
  const pb::object type = classes.attr(name.c_str());
  for (const pb::handle field : fields) {
    if (!pb::hasattr(type, pb::str(field))) {
      return pb::none();
    }
  }
  return pb::cpp_function([type](const pb::args& values) { return type(values); });
}

}  // namespace

pb::object python_class(const std::string& name, const std::string& form, const pb::list& fields) {
  static auto* const made = new std::map<std::string, pb::object>();
  std::string key = form + " " + name;
  for (const pb::handle field : fields) {
    key += " " + std::string(pb::str(field));
  }
  const auto found = made->find(key);
  if (found != made->end()) {
    return found->second;
  }
  const pb::object of_torch = return_type(name, fields);
  if (!of_torch.is_none()) {
    return made->emplace(key, of_torch).first->second;
  }
  const pb::object type = form == "namedtuple"
                              ? pb::module_::import("collections").attr("namedtuple")(name, fields)
                              : pb::module_::import("dataclasses").attr("make_dataclass")(name, fields);
  return made->emplace(key, type).first->second;
}

void register_errors(pb::module_& module) {
  // The translator outlives the module object: it keeps its own reference, never released.
  static auto* const owner = new pb::module_(module);
  static auto* const input_error = new pb::object(pb::exception<InputError>(module, "InputError", PyExc_ValueError));
  pb::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) {
        std::rethrow_exception(pointer);
      }
    } catch (const PyError& error) {
      raise(*owner, error);
    } catch (const InputError& error) {
      PyErr_SetString(input_error->ptr(), error.what());
    }
  });
}

}  // namespace torch2cpp::python
