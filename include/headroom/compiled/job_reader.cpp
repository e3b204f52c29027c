// Distributed under the Boost Software License, Version 1.0.
#include <headroom/io/job_reader.hpp>

headroom::job headroom::io::read_job(const json_value& value, const file_base& base) { return detail::job_from(value, base); }
