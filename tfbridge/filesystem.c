#include "filesystem.h"

#include <stdbool.h>
#include <string.h>

#include "_cgo_export.h"

// The structures of tensorflow/c/experimental/filesystem/filesystem_interface.h, whose
// interface has version 0. A pointer that is NULL stands for a function that the file
// system lacks. The types of functions that this file never sets do not matter.

enum { OK = 0, UNIMPLEMENTED = 12 };

typedef struct TF_Filesystem TF_Filesystem;

typedef struct TF_RandomAccessFile {
  void *plugin_file;  // the number of a Go file
} TF_RandomAccessFile;

typedef struct TF_FileStatistics {
  int64_t length;
  int64_t mtime_nsec;
  bool is_directory;
} TF_FileStatistics;

typedef struct TF_RandomAccessFileOps {
  void (*cleanup)(TF_RandomAccessFile *file);
  int64_t (*read)(const TF_RandomAccessFile *file, uint64_t offset, size_t n, char *buffer, TF_Status *st);
} TF_RandomAccessFileOps;

typedef struct TF_FilesystemOps {
  void (*init)(TF_Filesystem *fs, TF_Status *st);
  void (*cleanup)(TF_Filesystem *fs);
  void (*new_random_access_file)(const TF_Filesystem *fs, const char *path, TF_RandomAccessFile *file, TF_Status *st);
  void *writing[10];  // new_writable_file to copy_file
  void (*path_exists)(const TF_Filesystem *fs, const char *path, TF_Status *st);
  void *paths_exist;
  void (*stat)(const TF_Filesystem *fs, const char *path, TF_FileStatistics *stats, TF_Status *st);
  bool (*is_directory)(const TF_Filesystem *fs, const char *path, TF_Status *st);
  int64_t (*get_file_size)(const TF_Filesystem *fs, const char *path, TF_Status *st);
  char *(*translate_name)(const TF_Filesystem *fs, const char *uri);
  int (*get_children)(const TF_Filesystem *fs, const char *path, char ***entries, TF_Status *st);
  void *rest[13];  // get_matching_paths to get_filesystem_configuration_keys
} TF_FilesystemOps;

typedef struct versions {
  int abi, api;
  size_t size;
} versions;

typedef struct TF_FilesystemPluginOps {
  char *scheme;
  versions filesystem;
  TF_FilesystemOps *filesystem_ops;
  versions random_access_file;
  TF_RandomAccessFileOps *random_access_file_ops;
  versions writable_file;
  void *writable_file_ops;
  versions read_only_memory_region;
  void *read_only_memory_region_ops;
} TF_FilesystemPluginOps;

typedef struct TF_FilesystemPluginInfo {
  size_t num_schemes;
  TF_FilesystemPluginOps *ops;
  void *(*plugin_memory_allocate)(size_t size);
  void (*plugin_memory_free)(void *ptr);
} TF_FilesystemPluginInfo;

void mr_set_status(TF_Status *st, int code, const char *message) { TF_SetStatus(st, code, message); }

static void file_cleanup(TF_RandomAccessFile *file) { mrFileClose((uintptr_t)file->plugin_file); }

static int64_t file_read(const TF_RandomAccessFile *file, uint64_t offset, size_t n, char *buffer, TF_Status *st) {
  return mrFileRead((uintptr_t)file->plugin_file, offset, n, buffer, st);
}

static void fs_init(TF_Filesystem *fs, TF_Status *st) {
  (void)fs;
  TF_SetStatus(st, OK, "");
}

static void fs_cleanup(TF_Filesystem *fs) { (void)fs; }

static void fs_open(const TF_Filesystem *fs, const char *path, TF_RandomAccessFile *file, TF_Status *st) {
  (void)fs;
  file->plugin_file = (void *)mrFileOpen((char *)path, st);
}

static bool look(const char *path, mr_stat *s, TF_Status *st) {
  memset(s, 0, sizeof *s);
  mrFileStat((char *)path, s, st);
  return TF_GetCode(st) == OK;
}

static void fs_exists(const TF_Filesystem *fs, const char *path, TF_Status *st) {
  (void)fs;
  mr_stat s;
  look(path, &s, st);
}

static void fs_stat(const TF_Filesystem *fs, const char *path, TF_FileStatistics *stats, TF_Status *st) {
  (void)fs;
  mr_stat s;
  if (!look(path, &s, st)) return;
  stats->length = s.size;
  stats->mtime_nsec = s.mtime_nsec;
  stats->is_directory = s.is_directory;
}

static bool fs_is_directory(const TF_Filesystem *fs, const char *path, TF_Status *st) {
  (void)fs;
  mr_stat s;
  return look(path, &s, st) && s.is_directory;
}

static int64_t fs_size(const TF_Filesystem *fs, const char *path, TF_Status *st) {
  (void)fs;
  mr_stat s;
  return look(path, &s, st) ? s.size : 0;
}

// Without this function TensorFlow would cut off the scheme and the host.
static char *fs_name(const TF_Filesystem *fs, const char *uri) {
  (void)fs;
  return strdup(uri);
}

static void *allocate(size_t size) { return calloc(1, size); }

static TF_FilesystemPluginOps *new_ops(const char *scheme) {
  TF_FilesystemPluginOps *o = allocate(sizeof *o);
  if (!o) return NULL;
  o->scheme = strdup(scheme);
  o->filesystem.size = sizeof(TF_FilesystemOps);
  o->filesystem_ops = allocate(sizeof(TF_FilesystemOps));
  o->random_access_file.size = sizeof(TF_RandomAccessFileOps);
  o->random_access_file_ops = allocate(sizeof(TF_RandomAccessFileOps));
  if (!o->scheme || !o->filesystem_ops || !o->random_access_file_ops) abort();
  *o->random_access_file_ops = (TF_RandomAccessFileOps){file_cleanup, file_read};
  TF_FilesystemOps *f = o->filesystem_ops;
  f->init = fs_init;
  f->cleanup = fs_cleanup;
  f->new_random_access_file = fs_open;
  f->path_exists = fs_exists;
  f->stat = fs_stat;
  f->is_directory = fs_is_directory;
  f->get_file_size = fs_size;
  f->translate_name = fs_name;
  return o;
}

// scheme_here is the scheme that TF_InitPlugin describes.
static const char *scheme_here;

// TF_InitPlugin is what TensorFlow looks for in a plug-in: it has no other way to
// register a file system from C. The plug-in is this program itself. Go exports the
// function (filesystem.go), because the linker keeps exported Go functions visible in
// every program.
void mr_init_plugin(void *plugin_info) {
  TF_FilesystemPluginInfo *info = plugin_info;
  info->plugin_memory_allocate = allocate;
  info->plugin_memory_free = free;
  info->ops = scheme_here ? new_ops(scheme_here) : NULL;
  info->num_schemes = info->ops ? 1 : 0;
}

void mr_register_filesystem(const char *scheme, TF_Status *st) {
  scheme_here = scheme;
  TF_RegisterFilesystemPlugin("", st);  // the empty name names this program
  scheme_here = NULL;
}
