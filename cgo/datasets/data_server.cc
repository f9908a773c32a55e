// TensorFlow's servers of tf.data: a dispatcher, and workers.
//
// Their C++ functions are in libtensorflow_cc, which this library is not linked
// with: Python loads it in a way that would not find them. So they are looked
// up when they are called. The classes stay incomplete, because TensorFlow's
// wheel has no header of them.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/protobuf/service_config.pb.h"

namespace tensorflow {
namespace data {
class DispatchGrpcDataServer;
class WorkerGrpcDataServer;
}  // namespace data
}  // namespace tensorflow

namespace millrace {
namespace {

using tensorflow::data::experimental::DispatcherConfig;
using tensorflow::data::experimental::WorkerConfig;

constexpr char kLibrary[] = "libtensorflow_cc.so.2";
constexpr char kStart[] = "_ZN10tensorflow4data18GrpcDataServerBase5StartEv";
constexpr char kStop[] = "_ZN10tensorflow4data18GrpcDataServerBase4StopEv";
constexpr char kPort[] = "_ZN10tensorflow4data18GrpcDataServerBase9BoundPortEv";
constexpr char kNewDispatcher[] =
    "_ZN10tensorflow4data17NewDispatchServerERKNS0_12experimental16"
    "DispatcherConfigERSt10unique_ptrINS0_22DispatchGrpcDataServerESt14default_"
    "deleteIS6_EE";
constexpr char kNewWorker[] =
    "_ZN10tensorflow4data15NewWorkerServerERKNS0_12experimental12WorkerConfig"
    "ERSt10unique_ptrINS0_20WorkerGrpcDataServerESt14default_deleteIS6_EE";
constexpr char kWorkers[] =
    "_ZN10tensorflow4data22DispatchGrpcDataServer10NumWorkersEPi";
constexpr char kIterations[] =
    "_ZN10tensorflow4data22DispatchGrpcDataServer19NumActiveIterationsEv";
constexpr char kTasks[] =
    "_ZN10tensorflow4data20WorkerGrpcDataServer8NumTasksEPi";

// Find sets a function by its name.
template <typename F>
absl::Status Find(const char* name, F* function) {
  void* const library = dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  if (library != nullptr) dlclose(library);
  if (found == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("TensorFlow's library has no function ", name));
  }
  *function = reinterpret_cast<F>(found);
  return absl::OkStatus();
}

// New makes a server of a serialized config. Nobody deletes a server: its class
// is incomplete here, and it lives as long as the process.
template <typename Config, typename Server>
absl::Status New(const char* name, const void* config, size_t size,
                 void** server) {
  absl::Status (*make)(const Config&, std::unique_ptr<Server>&) = nullptr;
  TF_RETURN_IF_ERROR(Find(name, &make));
  Config c;
  if (!c.ParseFromArray(config, static_cast<int>(size))) {
    return absl::InvalidArgumentError("the server's config is damaged");
  }
  static_assert(sizeof(std::unique_ptr<Server>) == sizeof(void*), "");
  return make(c, *reinterpret_cast<std::unique_ptr<Server>*>(server));
}

absl::Status Start(bool worker, const void* config, size_t size, void** server,
                   int* port) {
  absl::Status (*start)(void*) = nullptr;
  int (*bound)(void*) = nullptr;
  TF_RETURN_IF_ERROR(Find(kStart, &start));
  TF_RETURN_IF_ERROR(Find(kPort, &bound));
  *server = nullptr;
  if (worker) {
    TF_RETURN_IF_ERROR(
        (New<WorkerConfig, tensorflow::data::WorkerGrpcDataServer>(
            kNewWorker, config, size, server)));
  } else {
    TF_RETURN_IF_ERROR(
        (New<DispatcherConfig, tensorflow::data::DispatchGrpcDataServer>(
            kNewDispatcher, config, size, server)));
  }
  TF_RETURN_IF_ERROR(start(*server));
  *port = bound(*server);
  return absl::OkStatus();
}

absl::Status Count(bool worker, void* server, int64_t* first, int64_t* second) {
  absl::Status (*count)(void*, int*) = nullptr;
  TF_RETURN_IF_ERROR(Find(worker ? kTasks : kWorkers, &count));
  int n = 0;
  TF_RETURN_IF_ERROR(count(server, &n));
  *first = n;
  *second = 0;
  if (worker) return absl::OkStatus();
  size_t (*iterations)(void*) = nullptr;
  TF_RETURN_IF_ERROR(Find(kIterations, &iterations));
  *second = static_cast<int64_t>(iterations(server));
  return absl::OkStatus();
}

// Return converts a status: the code, and a copy of the message that the caller
// frees.
int Return(const absl::Status& s, char** message) {
  *message = s.ok() ? nullptr : strdup(std::string(s.message()).c_str());
  return static_cast<int>(s.code());
}

}  // namespace
}  // namespace millrace

extern "C" {

#define MILLRACE_EXPORT __attribute__((visibility("default")))

// MillraceStartDataServer starts a dispatcher or a worker, and returns the code
// of its status. The config is a serialized DispatcherConfig or WorkerConfig.
MILLRACE_EXPORT int MillraceStartDataServer(int worker, const void* config,
                                            size_t size, void** server,
                                            int* port, char** message) {
  return millrace::Return(
      millrace::Start(worker != 0, config, size, server, port), message);
}

// MillraceStopDataServer stops a server. Call it once.
MILLRACE_EXPORT int MillraceStopDataServer(void* server, char** message) {
  void (*stop)(void*) = nullptr;
  const absl::Status s = millrace::Find(millrace::kStop, &stop);
  if (s.ok()) stop(server);
  return millrace::Return(s, message);
}

// MillraceCountDataServer counts the tasks of a worker, or the workers and the
// active iterations of a dispatcher.
MILLRACE_EXPORT int MillraceCountDataServer(int worker, void* server,
                                            int64_t* first, int64_t* second,
                                            char** message) {
  return millrace::Return(millrace::Count(worker != 0, server, first, second),
                          message);
}
}
