/* Distributed under the Boost Software License, Version 1.0.
 * Counts what a program does. What is here comes before the C library's, in libraries that the program loads, too. */
#include <stddef.h>

size_t steps = 0;

/* Called by each basic block of what is compiled with -fsanitize-coverage=trace-pc. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) { ++steps; }

void* memchr(const void* in, int what, size_t size) {
  const unsigned char* at = in;
  size_t i = 0;
  while (i < size && at[i] != (unsigned char)what) ++i;
  steps += i / 8;
  return i < size ? (void*)(at + i) : NULL;
}

int memcmp(const void* a, const void* b, size_t size) {
  const unsigned char *x = a, *y = b;
  size_t i = 0;
  while (i < size && x[i] == y[i]) ++i;
  steps += i / 8;
  return i < size ? x[i] - y[i] : 0;
}

void* memcpy(void* restrict to, const void* restrict from, size_t size) {
  unsigned char* x = to;
  const unsigned char* y = from;
  for (size_t i = 0; i < size; ++i) x[i] = y[i];
  steps += size / 8;
  return to;
}

void* memmove(void* to, const void* from, size_t size) {
  unsigned char* x = to;
  const unsigned char* y = from;
  if (x < y) for (size_t i = 0; i < size; ++i) x[i] = y[i];
  else for (size_t i = size; i > 0; --i) x[i - 1] = y[i - 1];
  steps += size / 8;
  return to;
}
