// MillraceServiceReport says what the process is that runs it, and which files
// it sees.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

// LibraryName returns the file name of this library, which has its digest.
std::string LibraryName() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&LibraryName), &info) == 0 ||
      info.dli_fname == nullptr) {
    return "";
  }
  const std::string path = info.dli_fname;
  return path.substr(path.find_last_of('/') + 1);
}

class ServiceReportOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* ctx) override {
    const Tensor& names = ctx->input(0);
    const Tensor& sizes = ctx->input(1);
    OP_REQUIRES(ctx, names.dims() == 1 && sizes.shape() == names.shape(),
                absl::InvalidArgumentError("want a size for each file"));
    std::string wrong;
    for (int64_t i = 0; i < names.NumElements() && wrong.empty(); ++i) {
      wrong = Look(names.vec<tstring>()(i), sizes.vec<int64_t>()(i));
    }
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    Tensor* report = nullptr;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, TensorShape({3}), &report));
    auto text = report->vec<tstring>();
    text(0) = absl::StrCat(host, ", process ", getpid());
    text(1) = LibraryName();
    text(2) = wrong;
  }

 private:
  // Look returns what is wrong with a file, "" for nothing.
  static std::string Look(const std::string& path, int64_t size) {
    struct stat info;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &info) != 0) {
      const int cause = errno;
      if (file >= 0) close(file);
      return absl::StrCat(path, ": ", strerror(cause));
    }
    close(file);
    if (info.st_size != size) {
      return absl::StrCat(path, ": ", info.st_size, " bytes, and ", size,
                          " where the plan was made");
    }
    return "";
  }
};

REGISTER_KERNEL_BUILDER(Name("MillraceServiceReport").Device(DEVICE_CPU),
                        ServiceReportOp);

}  // namespace
}  // namespace millrace
