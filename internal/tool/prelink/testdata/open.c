// Opens two libraries and prints what all their pointers lead to.
#define _GNU_SOURCE  // dladdr
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *symbol(void *library, const char *name) {
  void *p = dlsym(library, name);
  if (!p) {
    puts(dlerror());
    exit(1);
  }
  return p;
}

static void *open_library(const char *path) {
  void *library = dlopen(path, RTLD_GLOBAL | RTLD_LAZY);
  if (!library) {
    puts(dlerror());
    exit(1);
  }
  return library;
}

// print_place prints the symbol at an address, and in which library it is.
static void print_place(const char *what, void *address) {
  Dl_info info;
  if (address && dladdr(address, &info) && info.dli_sname) {
    const char *slash = strrchr(info.dli_fname, '/');
    printf("%s: %s in %s\n", what, info.dli_sname, slash ? slash + 1 : info.dli_fname);
  } else {
    printf("%s: %s\n", what, address ? "unknown" : "nothing");
  }
}

int main(int argc, char **argv) {
  (void)argc;
  void *first = open_library(argv[1]), *second = open_library(argv[2]);
  void **calls = symbol(second, "calls"), **places = symbol(second, "places");
  for (int i = 0; i < 3; i++) print_place("call", calls[i]);
  for (int i = 0; i < 5; i++) print_place("place", places[i]);
  printf("distance: %d\n", (int)((int *)places[3] - (int *)places[2]));
  print_place("standard", *(void **)symbol(first, "first_standard"));
  print_place("allocate", *(void **)symbol(second, "allocate"));
  for (int again = 0; again < 2; again++) {
    printf("%d ", ((int (*)(void))symbol(first, "first_calls"))());
    printf("%d ", ((int (*)(void))symbol(second, "second_calls"))());
    printf("%d\n", ((int (*)(void))symbol(second, "second_reads"))());
  }
  return 0;
}
