// Checks of images and sounds before TensorFlow decodes them.
#ifndef MILLRACE_CGO_DATASETS_MEDIA_CHECK_H_
#define MILLRACE_CGO_DATASETS_MEDIA_CHECK_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "fault.h"

namespace millrace {

// MediaSpec describes what decodes an image or a sound.
//
// A few bytes may claim an image that takes all memory, and one kind of BMP
// ends the process in TensorFlow's decoder. So the header is read before. The
// rules come from package internal/base/bytecheck in Go, which checks the same
// bytes for runs in Go: a test compares both.
struct MediaSpec {
  bool sound = false;      // a WAV, not an image
  int64_t value_size = 1;  // bytes of a value of the decoded tensor
  int64_t channels = 0;    // requested for an image (0: as in the file) or a
                           // sound (-1)
  bool first = false;      // only the first frame becomes part of the tensor
  int64_t limit = 0;       // bytes that an image or a sound may take

  // Returns the inflated size of a zlib stream without its header, or any
  // number above a limit.
  std::function<int64_t(std::string_view deflated, int64_t limit)> inflated;
};

// CheckMedia returns false for bytes that must not be decoded. Bytes that it
// cannot read are refused by TensorFlow, or take no memory.
bool CheckMedia(const MediaSpec& spec, std::string_view bytes, Fault* fault);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_MEDIA_CHECK_H_
