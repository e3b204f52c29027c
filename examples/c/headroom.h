/* Distributed under the Boost Software License, Version 1.0.
 * headroom from C, and from every language that can call C: JSON in, JSON out.
 * Every function may be called from any thread at any time, whatever its stack: what takes more than a thread may have runs on one of the
 * library's own, for as long as the call takes. No exception and no signal leaves them. */
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

/* The other calls: a request in, an answer out, both objects of JSON.
 *   request, size  {"job": {…}, …}; it need not end in 0. The keys of each are below. All take
 *                  "files": {NAME: TEXT} or [{"name", "text"}], which a job or "job": NAME may name: no file of the machine is read;
 *                  "confidence": 0.5 to 0.999, with which it is judged and of which the ranges are;
 *                  "interface": 1, to be refused by a library that speaks another one
 *   seconds        an answer comes within them, or some milliseconds later HEADROOM_NOT_DECIDED; HEADROOM_NO_LIMIT: when it is there
 *   answer         NULL, or receives {"interface", "version", "decision", "sentence", …} as UTF-8 text, for headroom_free(). Bad input
 *                  is a decision, too: its sentence says what is wrong, where, and what would be right
 * Bytes are integers, times are seconds. A call that judges no job is HEADROOM_DONE.
 *   estimate   job                      the report, in microseconds and without fragmentation; the step's time
 *   replay     job                      the report with fragmentation, as `headroom estimate --json` writes it; advice where it does not fit
 *   cost       job                      the step's time alone
 *   plan       job, top, threads, part, parts     the fastest plans that fit, of keys that are "auto", or of a sweep
 *   solve      job, for                 the largest (or least) value of a key that fits: "batch.micro", "hardware.nodes", …
 *   fit        model, method, gpu, gpus, sequence, micro, rank, taken_gib, set     the longest sequence of a fine-tuning
 *   diagnose   job, message             why a run went out of memory, of its log
 *   import     files, as, model, gpu, auto, program, line, env, ignore, set        a job from the files of other programs
 *   export     job, to                  the job as the file of another program
 * headroom_call() takes their names, and "text", "svg", "html" (job: the report for people) and "list" (what: "gpus", "models", …). */
#define HEADROOM_DONE HEADROOM_FITS
#define HEADROOM_NO_LIMIT (-1.0)
enum headroom_decision headroom_call(const char* name, const char* request, size_t size, double seconds, char** answer);
enum headroom_decision headroom_estimate(const char* request, size_t size, double seconds, char** answer);
enum headroom_decision headroom_replay(const char* request, size_t size, double seconds, char** answer);
enum headroom_decision headroom_cost(const char* request, size_t size, double seconds, char** answer);
enum headroom_decision headroom_plan(const char* request, size_t size, double seconds, char** answer);
enum headroom_decision headroom_solve(const char* request, size_t size, double seconds, char** answer);
enum headroom_decision headroom_fit(const char* request, size_t size, double seconds, char** answer);
enum headroom_decision headroom_diagnose(const char* request, size_t size, double seconds, char** answer);
enum headroom_decision headroom_import(const char* request, size_t size, double seconds, char** answer);
enum headroom_decision headroom_export(const char* request, size_t size, double seconds, char** answer);

/* Releases an answer; NULL is fine. */
void headroom_free(char* answer);

/* "0.1.0": of the library that is loaded. */
const char* headroom_version(void);

/* Which requests and answers it speaks: 1. It grows where a key of an answer changes its meaning or goes; new keys may come with any version. */
int headroom_interface(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
