// Distributed under the Boost Software License, Version 1.0.
#include <headroom/io/admission.hpp>
#include <headroom/io/admission/admit.hpp>

namespace headroom::io {

admission admit(const admission_request& asked) { return detail::admitted(asked); }

ordered_json to_json(const admission& a, confidence sure) { return detail::json_of(a, sure); }

}  // namespace headroom::io
