// bare calls TF_SessionRun on one signature of a SavedModel, with nothing in
// between, and prints the median time as JSON: what the bindings' calls are
// compared with.
//
//     bare DIR MODEL FEED FETCHES WARM CALLS VALUES DIM...
//
// DIR holds libtensorflow. FEED is "operation:0" and FETCHES are more of the
// kind, with commas; the feed is of float32 and shape [DIM...], VALUES of them.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
  void *op;
  int index;
} output;

static void *library;

static void fail(const char *what) {
  fprintf(stderr, "bare: %s\n", what);
  exit(1);
}

static void *find(const char *name) {
  void *p = dlsym(library, name);
  if (!p) fail(name);
  return p;
}

static void open_libraries(const char *dir) {
  const char *const names[] = {"libtensorflow_framework.so.2", "libtensorflow_cc.so.2"};
  for (int i = 0; i < 2; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, names[i]);
    library = dlopen(path, RTLD_GLOBAL | RTLD_LAZY);
    if (!library) fail(dlerror());
  }
}

static void leave(void *data, size_t len, void *arg) {
  (void)data;
  (void)len;
  (void)arg;
}

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

// parse returns the output that a text names, which it changes.
static output parse(void *(*by_name)(void *, const char *), void *graph, char *text) {
  char *colon = strrchr(text, ':');
  if (!colon) fail("no output");
  *colon = 0;
  output o = {by_name(graph, text), atoi(colon + 1)};
  if (!o.op) fail("no such operation");
  return o;
}

int main(int argc, char **argv) {
  if (argc < 9) fail("usage: bare DIR MODEL FEED FETCH WARM CALLS VALUES DIM...");
  open_libraries(argv[1]);
  void *(*new_status)(void) = find("TF_NewStatus");
  int (*code)(void *) = find("TF_GetCode");
  const char *(*message)(void *) = find("TF_Message");
  void *(*new_graph)(void) = find("TF_NewGraph");
  void *(*new_options)(void) = find("TF_NewSessionOptions");
  void (*set_config)(void *, const void *, size_t, void *) = find("TF_SetConfig");
  void *(*load)(void *, void *, const char *, const char *const *, int, void *, void *, void *) =
      find("TF_LoadSessionFromSavedModel");
  void *(*by_name)(void *, const char *) = find("TF_GraphOperationByName");
  void *(*new_tensor)(int, const int64_t *, int, void *, size_t, void (*)(void *, size_t, void *), void *) =
      find("TF_NewTensor");
  void (*delete_tensor)(void *) = find("TF_DeleteTensor");
  void (*run)(void *, void *, const output *, void *const *, int, const output *, void **, int, void *const *, int,
              void *, void *) = find("TF_SessionRun");

  void *st = new_status(), *graph = new_graph();
  const char *const tags[] = {"serve"};
  // ConfigProto{intra_op_parallelism_threads: 1, inter_op_parallelism_threads:
  // -1}: everything in the calling thread.
  static const char config[] = "\x10\x01\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  void *options = new_options();
  set_config(options, config, sizeof config - 1, st);
  if (code(st)) fail(message(st));
  void *session = load(options, NULL, argv[2], tags, 1, graph, NULL, st);
  if (code(st)) fail(message(st));
  enum { MOST = 16 };
  output in = parse(by_name, graph, argv[3]), out[MOST];
  int nout = 0;
  for (char *text = strtok(argv[4], ","); text && nout < MOST; text = strtok(NULL, ",")) {
    out[nout++] = parse(by_name, graph, text);
  }
  long warm = atol(argv[5]), calls = atol(argv[6]), values = atol(argv[7]);
  int64_t dims[8];
  int rank = argc - 8;
  if (rank > 8 || calls < 1) fail("odd arguments");
  for (int i = 0; i < rank; i++) dims[i] = atol(argv[8 + i]);
  size_t bytes = (size_t)values * sizeof(float);
  float *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
  int64_t *times = malloc((size_t)calls * sizeof *times);
  if (!data || !times) fail("no memory");
  memset(data, 0, bytes);
  enum { FLOAT = 1 };
  void *x = new_tensor(FLOAT, dims, rank, data, bytes, leave, NULL);
  for (long i = 0; i < warm + calls; i++) {
    void *y[MOST];
    int64_t begin = now();
    run(session, NULL, &in, &x, 1, out, y, nout, NULL, 0, NULL, st);
    if (code(st)) fail(message(st));
    for (int j = 0; j < nout; j++) delete_tensor(y[j]);
    if (i >= warm) times[i - warm] = now() - begin;
  }
  qsort(times, (size_t)calls, sizeof *times, compare);
  printf("{\"p50_s\": %.9f}\n", (double)times[calls / 2] / 1e9);
  fflush(stdout);
  _Exit(0);  // TensorFlow's threads are still there
}
