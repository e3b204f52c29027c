// Distributed under the Boost Software License, Version 1.0.
// The version, in the one place that CMake reads it from.
#pragma once

// major * 1'000'000 + minor * 1'000 + patch. While major is 0, a minor release may change the API.
#define HEADROOM_VERSION_MAJOR 0
#define HEADROOM_VERSION_MINOR 1
#define HEADROOM_VERSION_PATCH 0
#define HEADROOM_VERSION 1000

// Set to 0 to make errors abort instead of throw; follows -fno-exceptions by itself.
#ifndef HEADROOM_EXCEPTIONS
#if defined(__cpp_exceptions)
#define HEADROOM_EXCEPTIONS 1
#else
#define HEADROOM_EXCEPTIONS 0
#endif
#endif
