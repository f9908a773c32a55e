#include "data_server.h"

#include <dlfcn.h>

// UNIMPLEMENTED is the code of a function that the library does not have.
enum { UNIMPLEMENTED = 12 };

// find returns a function of a library that is loaded, NULL if there is none.
static void *find(const char *library, const char *name) {
  void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return NULL;
  void *function = dlsym(handle, name);
  dlclose(handle);
  return function;
}

int mr_start_data_server(const char *library, int worker, const void *config, size_t size, void **server, int *port, char **message) {
  int (*start)(int, const void *, size_t, void **, int *, char **) = find(library, "MillraceStartDataServer");
  return start ? start(worker, config, size, server, port, message) : UNIMPLEMENTED;
}

int mr_stop_data_server(const char *library, void *server, char **message) {
  int (*stop)(void *, char **) = find(library, "MillraceStopDataServer");
  return stop ? stop(server, message) : UNIMPLEMENTED;
}

int mr_count_data_server(const char *library, int worker, void *server, int64_t *first, int64_t *second, char **message) {
  int (*count)(int, void *, int64_t *, int64_t *, char **) = find(library, "MillraceCountDataServer");
  return count ? count(worker, server, first, second, message) : UNIMPLEMENTED;
}

int mr_block_counts(const char *library, int64_t *counts) {
  void (*count)(int64_t *) = find(library, "MillraceBlockCounts");
  if (!count) return UNIMPLEMENTED;
  count(counts);
  return 0;
}
