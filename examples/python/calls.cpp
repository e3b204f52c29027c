// Distributed under the Boost Software License, Version 1.0.
// The extension under the package: the calls that C has, a request's text in, an answer's text out. Everything else is Python.
#include "../calls/calls.hpp"
#include "../calls/roomy.hpp"

#include <headroom/version.hpp>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>

namespace py = pybind11;

namespace {

std::pair<int, std::string> call(const std::string& name, const std::string& request, std::optional<double> wait) {
  const py::gil_scoped_release others_run;
  const auto until = wait ? headroom::deadline::in(*wait) : headroom::deadline{};
  calls::answer said;
  const auto work = [&] { said = calls::call(name, request, {.until = until}); };
  calls::with_room(work);
  return {static_cast<int>(said.outcome), std::move(said.text)};
}

}  // namespace

PYBIND11_MODULE(_calls, m) {
  m.doc() = "headroom's calls: JSON in, JSON out";
  m.def("call", &call, py::arg("name"), py::arg("request"), py::arg("seconds") = py::none(),
        "The outcome (0 fits, 1 does not fit, 2 bad input, 4 not decided, 5 done) and the answer's text.");
  m.attr("interface") = calls::interface_version;
  m.attr("version") = std::to_string(HEADROOM_VERSION_MAJOR) + "." + std::to_string(HEADROOM_VERSION_MINOR) + "." + std::to_string(HEADROOM_VERSION_PATCH);
}
