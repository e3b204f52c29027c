// Distributed under the Boost Software License, Version 1.0.
// The constexpr core. Files, text and pictures are opt-in: headroom/io/*.hpp.
#pragma once

// First what refuses a job: the way to it is then a short one, which compilers write above its sentence.
#include <headroom/model/check.hpp>
#include <headroom/settle/check.hpp>
#include <headroom/objection.hpp>

#include <headroom/bounds.hpp>                 // bounds(report), fits(report, 0.95)
#include <headroom/cost/bounds.hpp>            // cost(job) -> step time, tokens/s; bounds(cost(job))
#include <headroom/estimate.hpp>               // estimate(job) -> report
#include <headroom/fits.hpp>                   // fits(job), fits(job, 0.95), require_fits<job>
#include <headroom/framework/frameworks.hpp>   // profiles by name
#include <headroom/hardware/gpu.hpp>           // gpus::h100_sxm_80gb, …; all of them: hardware/gpu_names.hpp
#include <headroom/job.hpp>                    // what is trained, on what, how
#include <headroom/model/zoo_models.hpp>       // models::llama_3_1_8b, …; by name: model/zoo.hpp
#include <headroom/model/zoo_recent.hpp>
#include <headroom/report.hpp>                 // what that occupies, where and when
#include <headroom/solve/balance.hpp>          // uneven pipeline stages with the most headroom
#include <headroom/solve/solve.hpp>            // the largest micro-batch that fits, the fewest GPUs, …
#include <headroom/units/literals.hpp>         // 80_GiB, 80_GB, 7_Bparams
#include <headroom/version.hpp>
