// Distributed under the Boost Software License, Version 1.0.
#include <headroom/io/job_reader.hpp>

namespace headroom::io {

job read_job(const json_value& value, const file_base& base) { return detail::job_from(value, {.base = base}); }
job read_job(const json_value& value, const job_reading& how) { return detail::job_from(value, how); }

}  // namespace headroom::io
