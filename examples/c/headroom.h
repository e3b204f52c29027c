/* Distributed under the Boost Software License, Version 1.0.
 * headroom from C, and from every language that can call C: a job as JSON in, its report as JSON out.
 * Every function may be called from any thread at any time. No exception and no signal leaves them. */
#ifndef HEADROOM_H
#define HEADROOM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum headroom_decision {
  HEADROOM_FITS = 0,
  HEADROOM_DOES_NOT_FIT = 1,
  HEADROOM_BAD_INPUT = 2, /* the answer's "sentence" says what is wrong, where, and what would be right */
  HEADROOM_NO_MEMORY = 3, /* of this process; there is no answer */
  HEADROOM_NOT_DECIDED = 4 /* in the time that was given: no opinion, and no fault of the job */
};

/* Whether a training job fits its GPUs, host memory and NVMe.
 *   job, size    a job file's text; it need not end in 0
 *   folder       where the paths of model configurations in it start: files below it are read, and no others; NULL: none is
 *   confidence   0 decides by the prediction, 0.5 to 0.999 by the upper end of that range
 *   answer       NULL, or receives {"decision", "sentence"} and the report's keys as UTF-8 text, for headroom_free()
 * Bytes are integers. */
enum headroom_decision headroom_admit(const char* job, size_t size, const char* folder, double confidence, char** answer);

/* The same within so many seconds, or some milliseconds more: then it is HEADROOM_NOT_DECIDED. */
enum headroom_decision headroom_admit_within(const char* job, size_t size, const char* folder, double confidence, double seconds, char** answer);

/* Releases an answer; NULL is fine. */
void headroom_free(char* answer);

/* "0.1.0": of the library that is loaded. */
const char* headroom_version(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
