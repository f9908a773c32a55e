#include "record_run.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "crc32c.h"
#include "record_frame.h"

namespace millrace {
namespace {

// The part of a run that a thread reads at a time. It stays in the second-level
// cache until its checksums are computed.
constexpr size_t kSliceBytes = 128 << 10;
constexpr size_t kSlice = 8;  // records

// Matches reports whether a record, given by its header, its values and the
// bytes after them, has a layout and correct checksums.
bool Matches(const Layout& layout, const char* header, const char* values,
             const char* after) {
  const char* const before = header + kHeader;
  if (LoadLittle<uint64_t>(header) != layout.size() ||
      MaskCrc(Crc32c(header, 8)) != LoadLittle<uint32_t>(header + 8) ||
      std::memcmp(before, layout.before.data(), layout.before.size()) != 0 ||
      std::memcmp(after, layout.after.data(), layout.after.size()) != 0) {
    return false;
  }
  uint32_t crc = Crc32c(before, layout.before.size());
  crc = ExtendCrc32c(crc, values, layout.values);
  crc = ExtendCrc32c(crc, after, layout.after.size());
  return MaskCrc(crc) == LoadLittle<uint32_t>(after + layout.after.size());
}

// ReadSlice reads n records at an offset and returns how many are whole and of
// a layout before the first that is not. Several threads may call it.
size_t ReadSlice(const FileSource& file, const Layout& layout, int64_t offset,
                 size_t n, char* to) {
  const size_t lead = kHeader + layout.before.size();
  const size_t past = layout.after.size() + kFooter;
  struct iovec parts[2 * kSlice + 1];
  std::unique_ptr<char[]> around(new (std::nothrow) char[n * (lead + past)]);
  if (around == nullptr) return 0;
  for (size_t i = 0; i < n; ++i) {
    // The bytes between the values of one record and the values of the next are
    // one part.
    char* const gap = around.get() + i * (lead + past);
    parts[2 * i] = i == 0 ? iovec{gap, lead} : iovec{gap - past, past + lead};
    parts[2 * i + 1] = {to + i * layout.values, layout.values};
  }
  parts[2 * n] = {around.get() + n * (lead + past) - past, past};
  if (!file.ReadParts(parts, 2 * n + 1, offset)) return 0;
  for (size_t i = 0; i < n; ++i) {
    const char* const header = around.get() + i * (lead + past);
    const char* const after = header + lead;
    if (!Matches(layout, header, to + i * layout.values, after)) return i;
  }
  return n;
}

// PerSlice returns how many records of a layout a slice has.
size_t PerSlice(const Layout& layout) {
  const auto whole = static_cast<size_t>(RunBytes(layout));
  return std::clamp<size_t>(kSliceBytes / whole, 1, kSlice);
}

}  // namespace

int64_t ReadAlike(const FileSource& file, const Layout& layout, int64_t offset,
                  int64_t n, char* to) {
  const auto per = static_cast<int64_t>(PerSlice(layout));
  const auto values = static_cast<int64_t>(layout.values);
  for (int64_t i = 0; i < n; i += per) {
    const int64_t want = std::min(per, n - i);
    const auto good = static_cast<int64_t>(
        ReadSlice(file, layout, offset + i * RunBytes(layout),
                  static_cast<size_t>(want), to + i * values));
    if (good < want) return i + good;
  }
  return n;
}

int64_t ReadRun(const FileSource& file, const Layout& layout, int64_t offset,
                int64_t n, char* to, WorkerPool* workers) {
  const auto whole = static_cast<size_t>(RunBytes(layout));
  const size_t per = PerSlice(layout);
  const size_t slices = (static_cast<size_t>(n) + per - 1) / per;
  std::vector<size_t> good(slices);
  const auto count = [&](size_t i) {
    return std::min(per, static_cast<size_t>(n) - i * per);
  };
  workers->Run(slices, [&](size_t i) {
    good[i] =
        ReadSlice(file, layout, offset + static_cast<int64_t>(i * per * whole),
                  count(i), to + i * per * layout.values);
  });
  int64_t run = 0;
  for (size_t i = 0; i < slices; ++i) {
    run += static_cast<int64_t>(good[i]);
    if (good[i] < count(i)) break;
  }
  return run;
}

}  // namespace millrace
