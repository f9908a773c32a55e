// Calls of functions of the library of operations about data services. Each returns the
// code of a status, and a message for the caller to free.
#ifndef MILLRACE_DATA_SERVER_H_
#define MILLRACE_DATA_SERVER_H_

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#pragma GCC visibility push(hidden)

int mr_start_data_server(const char *library, int worker, const void *config, size_t size, void **server, int *port, char **message);
int mr_stop_data_server(const char *library, void *server, char **message);
int mr_count_data_server(const char *library, int worker, void *server, int64_t *first, int64_t *second, char **message);
int mr_block_counts(const char *library, int64_t *counts);

#pragma GCC visibility pop

#endif
