/* Distributed under the Boost Software License, Version 1.0.
 * What a scheduler in C does: admit FILE… prints a line for each job file, and is 0 when all of them fit. */
#include "headroom.h"

#include <stdio.h>
#include <stdlib.h>

/* The file's text, for free(); NULL where it cannot be read. */
static char* text_of(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  char* text = NULL;
  *size = 0;
  if (file == NULL) return NULL;
  for (size_t room = 0, got = 1; got > 0; *size += got) {
    if (*size == room) {
      char* larger = realloc(text, room = 2 * room + 4096);
      if (larger == NULL) break;
      text = larger;
    }
    got = fread(text + *size, 1, room - *size, file);
  }
  fclose(file);
  return text;
}

int main(int count, char** names) {
  static const char* const said[] = {"fits", "does not fit", "bad input", "no memory", "not decided"};
  int worst = 0;
  for (int i = 1; i < count; ++i) {
    size_t size = 0;
    char* job = text_of(names[i], &size);
    char* answer = NULL;
    const int decision = headroom_admit(job, size, NULL, 0, &answer);
    printf("%s: %s\n", names[i], said[decision]);
    if (decision == HEADROOM_BAD_INPUT) printf("  %s\n", answer);
    if (decision > worst) worst = decision;
    headroom_free(answer);
    free(job);
  }
  return worst;
}
