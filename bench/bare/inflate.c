// inflate inflates gzip files with the zlib of a TensorFlow library, in one
// thread and with nothing around it, and prints the time as JSON: the best of
// some passes over all files.
//
//     inflate LIBRARY PASSES FILE...
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "external/zlib/zlib.h"

static void fail(const char *what) {
  fprintf(stderr, "inflate: %s\n", what);
  exit(1);
}

static int (*init)(z_streamp, int, const char *, int);
static int (*step)(z_streamp, int);
static int (*end)(z_streamp);

// pass returns how many bytes a file holds.
static size_t pass(const char *path) {
  static unsigned char in[64 << 10], out[128 << 10];
  FILE *file = fopen(path, "rb");
  z_stream s = {0};
  if (!file || init(&s, 15 + 16, ZLIB_VERSION, sizeof s) != Z_OK) fail(path);
  size_t total = 0;
  int result = Z_OK;
  while (result == Z_OK && (s.avail_in = (uInt)fread(in, 1, sizeof in, file)) > 0) {
    s.next_in = in;
    do {
      s.next_out = out;
      s.avail_out = sizeof out;
      result = step(&s, Z_NO_FLUSH);
      total += sizeof out - s.avail_out;
    } while (result == Z_OK && (s.avail_in > 0 || s.avail_out == 0));
    if (result == Z_BUF_ERROR) result = Z_OK;  // it needs more input
  }
  if (result != Z_STREAM_END) fail("not one whole member");
  end(&s);
  fclose(file);
  return total;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  if (argc < 4) fail("usage: inflate LIBRARY PASSES FILE...");
  void *library = dlopen(argv[1], RTLD_LAZY);
  if (!library) fail(dlerror());
  init = (int (*)(z_streamp, int, const char *, int))dlsym(library, "inflateInit2_");
  step = (int (*)(z_streamp, int))dlsym(library, "inflate");
  end = (int (*)(z_streamp))dlsym(library, "inflateEnd");
  if (!init || !step || !end) fail("the library has no zlib");
  double best = 0;
  size_t bytes = 0;
  for (int i = 0; i < atoi(argv[2]); i++) {
    const double begin = now();
    bytes = 0;
    for (int f = 3; f < argc; f++) bytes += pass(argv[f]);
    const double took = now() - begin;
    if (best == 0 || took < best) best = took;
  }
  printf("{\"seconds\": %.9f, \"bytes\": %zu}\n", best, bytes);
  fflush(stdout);
  _Exit(0);  // TensorFlow's threads are still there
}
