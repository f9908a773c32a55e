#include "media_check.h"

#include <algorithm>
#include <cinttypes>
#include <initializer_list>
#include <string>

namespace millrace {
namespace {

using Bytes = std::string_view;

// Product multiplies numbers. It returns the largest number on overflow, and 0
// if a number is not positive.
int64_t Product(std::initializer_list<int64_t> numbers) {
  int64_t all = 1;
  bool over = false;
  for (const int64_t n : numbers) {
    if (n <= 0) return 0;
    over = over || __builtin_mul_overflow(all, n, &all);
  }
  return over ? INT64_MAX : all;
}

// Sum adds numbers that are not negative, up to the largest number.
int64_t Sum(int64_t a, int64_t b) {
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

uint8_t At(Bytes b, size_t i) { return static_cast<uint8_t>(b[i]); }

int64_t Little(Bytes b, size_t at, int n) {
  int64_t v = 0;
  for (int i = n - 1; i >= 0; --i) v = v << 8 | At(b, at + i);
  return v;
}

int64_t Big(Bytes b, size_t at, int n) {
  int64_t v = 0;
  for (int i = 0; i < n; ++i) v = v << 8 | At(b, at + i);
  return v;
}

bool StartsWith(Bytes b, Bytes with) {
  return b.substr(0, with.size()) == with;
}

// Skip returns b without its first n bytes.
Bytes Skip(Bytes b, int64_t n) {
  return b.substr(std::min<uint64_t>(static_cast<uint64_t>(n), b.size()));
}

// AfterZero returns the bytes after the first zero byte, none without one.
Bytes AfterZero(Bytes b, bool* found = nullptr) {
  const size_t at = b.find('\0');
  if (found != nullptr) *found = at != Bytes::npos;
  return at == Bytes::npos ? Bytes() : b.substr(at + 1);
}

// Picture has the values that an image's header claims.
struct Picture {
  const char* format = "";
  int64_t width = 0, height = 0;
  int64_t channels = 0;
  int64_t frames = 0;
  int64_t work = 0;  // bytes of memory in addition to the tensor
};

// NextMarker returns the next marker of a JPEG, and moves to the bytes after
// it.
bool NextMarker(Bytes* b, uint8_t* marker) {
  for (;;) {
    const size_t at = b->find('\xff');
    if (at == Bytes::npos) return false;
    b->remove_prefix(at);
    while (!b->empty() && At(*b, 0) == 0xff) b->remove_prefix(1);
    if (b->empty()) return false;
    *marker = At(*b, 0);
    if (*marker == 0) continue;
    b->remove_prefix(1);
    return true;
  }
}

// ReadJpeg reads the segments of a JPEG up to its first scan. If the
// coefficients of an image are spread over several scans, all of them are kept
// in memory, two bytes each.
void ReadJpeg(const MediaSpec&, Bytes b, Picture* p) {
  constexpr uint8_t kFrame = 0xc0, kTables = 0xc4, kExtension = 0xc8,
                    kConditions = 0xcc, kRestart = 0xd0, kImage = 0xd8,
                    kScan = 0xda, kTemporary = 0x01;
  p->format = "JPEG";
  bool progressive = false;
  int64_t components = 0;
  b.remove_prefix(2);
  uint8_t marker;
  while (NextMarker(&b, &marker)) {
    if (marker == kTemporary || (marker >= kRestart && marker <= kImage)) {
      continue;  // it has no length
    }
    if (b.size() < 2) return;
    const auto n = static_cast<size_t>(Big(b, 0, 2));
    if (n < 2 || n > b.size()) return;
    const Bytes segment = b.substr(2, n - 2);
    b.remove_prefix(n);
    const auto up = [](int64_t size) { return (size + 31) / 32 * 32; };
    if (marker == kScan && !segment.empty()) {
      if (progressive || At(segment, 0) < components) {
        p->work = Product({2, components, up(p->width), up(p->height)});
      }
      return;
    }
    if (marker >= kFrame && marker <= kFrame + 15 && marker != kTables &&
        marker != kExtension && marker != kConditions && segment.size() >= 6) {
      progressive = (marker & 3) == 2;
      components = At(segment, 5);
      p->height = Big(segment, 1, 2);
      p->width = Big(segment, 3, 2);
      p->channels = std::min<int64_t>(components, 3);
      p->frames = 1;
    }
  }
}

// PngInflated returns the inflated size of a compressed text or color profile.
// A keyword and a zero byte precede it.
int64_t PngInflated(const MediaSpec& spec, Bytes kind, Bytes data) {
  constexpr uint8_t kDictionary = 0x20;
  bool found;
  Bytes after = AfterZero(data, &found);
  if (!found || after.empty()) return 0;
  if (kind != "iTXt") {
    after.remove_prefix(1);
  } else {
    if (At(after, 0) == 0 || after.size() < 2) return 0;  // not compressed
    after = AfterZero(AfterZero(after.substr(2)));  // language and keyword
  }
  if (after.size() < 2 || (At(after, 1) & kDictionary) != 0) return 0;
  return spec.inflated(after.substr(2), spec.limit);
}

// ReadPng reads the chunks of a PNG. libpng inflates texts and color profiles,
// and keeps them.
void ReadPng(const MediaSpec& spec, Bytes b, Picture* p) {
  constexpr int64_t kChannels[] = {1, 0, 3, 4,
                                   2, 0, 4};  // indexed by the color type
  p->format = "PNG";
  b.remove_prefix(8);
  while (b.size() >= 12) {
    const int64_t n = Big(b, 0, 4);
    const Bytes kind = b.substr(4, 4), rest = b.substr(8);
    const Bytes data = rest.substr(0, static_cast<size_t>(n));
    if (kind == "IHDR" && p->frames == 0 && data.size() >= 10) {
      p->width = Big(data, 0, 4);
      p->height = Big(data, 4, 4);
      const uint8_t color = At(data, 9);
      p->channels = color < std::size(kChannels) ? kChannels[color] : 0;
      p->frames = 1;
    } else if (kind == "zTXt" || kind == "iCCP" || kind == "iTXt") {
      if (p->work <= spec.limit) {
        p->work = Sum(p->work, PngInflated(spec, kind, data));
      }
    }
    if (n + 4 > static_cast<int64_t>(rest.size())) return;
    b = rest.substr(static_cast<size_t>(n) + 4);
  }
}

// ColorTable returns the size of the color table of a GIF that the flags at a
// position announce.
int64_t ColorTable(Bytes b, size_t flags) {
  if (b.size() <= flags || (At(b, flags) & 0x80) == 0) return 0;
  return 3 << ((At(b, flags) & 7) + 1);
}

// SubBlocks returns the bytes after a sequence of length-prefixed blocks.
Bytes SubBlocks(Bytes b) {
  while (!b.empty() && At(b, 0) != 0) b = Skip(b, 1 + At(b, 0));
  return Skip(b, 1);
}

// ReadGif reads the blocks of a GIF. The indices of all frames are in memory at
// the same time, one byte per pixel; all frames of the tensor have the size of
// the largest.
void ReadGif(const MediaSpec&, Bytes b, Picture* p) {
  constexpr uint8_t kExtension = 0x21, kImage = 0x2c;
  constexpr size_t kDescriptor = 9;
  p->format = "GIF";
  p->channels = 3;
  b = Skip(b, 13 + ColorTable(b, 10));
  while (!b.empty()) {
    const uint8_t kind = At(b, 0);
    b.remove_prefix(1);
    if (kind == kExtension && !b.empty()) {
      b = SubBlocks(b.substr(1));
    } else if (kind == kImage && b.size() >= kDescriptor) {
      const int64_t width = Little(b, 4, 2), height = Little(b, 6, 2);
      p->width = std::max(p->width, width);
      p->height = std::max(p->height, height);
      p->work = Sum(p->work, width * height);
      ++p->frames;
      // One more byte: the width of codes.
      b = SubBlocks(Skip(b, kDescriptor + ColorTable(b, 8) + 1));
    } else {
      return;
    }
  }
}

// ReadBmp reads the header of a BMP. TensorFlow compares its size with the
// bytes.
void ReadBmp(const MediaSpec&, Bytes b, Picture* p) {
  if (b.size() < 30) return;
  const int64_t width = static_cast<int32_t>(Little(b, 18, 4));
  const int64_t signed_height = static_cast<int32_t>(Little(b, 22, 4));
  const int64_t height = std::max(signed_height, -signed_height);
  if (width <= 0 || width * height > static_cast<int64_t>(b.size())) return;
  *p = {"BMP", width, height, At(b, 28) / 8, 1, 0};
}

// ReadWebP reads the chunks of a WebP. TensorFlow takes the size of the first
// of three kinds of chunks. An animation is drawn on canvases of four channels.
void ReadWebP(const MediaSpec&, Bytes b, Picture* p) {
  constexpr uint8_t kAnimation = 2;
  if (b.size() < 12 || b.substr(8, 4) != "WEBP") return;
  p->format = "WebP";
  p->channels = 4;
  b.remove_prefix(12);
  while (b.size() >= 8) {
    const Bytes kind = b.substr(0, 4), data = b.substr(8);
    const int64_t n = Little(b, 4, 4);
    if (kind == "ANMF") {
      ++p->frames;
    } else if (p->width > 0) {
    } else if (kind == "VP8X" && data.size() >= 10) {
      p->width = 1 + Little(data, 4, 3);
      p->height = 1 + Little(data, 7, 3);
      if ((At(data, 0) & kAnimation) == 0) p->frames = 1;
      p->work = Product({2, 4, p->width, p->height});
    } else if (kind == "VP8 " && data.size() >= 10) {
      p->width = Little(data, 6, 2) & 0x3fff;
      p->height = Little(data, 8, 2) & 0x3fff;
      p->frames = 1;
    } else if (kind == "VP8L" && data.size() >= 5) {
      const int64_t size = Little(data, 1, 4);
      p->width = 1 + (size & 0x3fff);
      p->height = 1 + (size >> 14 & 0x3fff);
      p->frames = 1;
      p->work = Product({4, p->width, p->height});
    }
    if (n > static_cast<int64_t>(data.size())) return;
    b = Skip(data, n + n % 2);
  }
}

// A JPEG XL is a codestream, or a container of boxes with a codestream, whole
// or in parts.
constexpr Bytes kJxlStream = "\xff\x0a";
constexpr Bytes kJxlContainer("\x00\x00\x00\x0cJXL \r\n\x87\n", 12);
constexpr size_t kJxlHeader = 256;  // bytes; a header is shorter

// JxlParts returns the beginning of the codestream in a container.
std::string JxlParts(Bytes b) {
  std::string stream;
  while (b.size() >= 8 && stream.size() < kJxlHeader) {
    auto size = static_cast<uint64_t>(Big(b, 0, 4));
    const Bytes kind = b.substr(4, 4);
    Bytes data = b.substr(8);
    if (size == 1 && data.size() >= 8) {
      size = static_cast<uint64_t>(Big(data, 0, 8)) - 16;
      data.remove_prefix(8);
    } else if (size == 0) {
      size = data.size();
    } else {
      size -= 8;
    }
    const Bytes box = data.substr(0, size);
    if (kind == "jxlc") stream += box.substr(0, kJxlHeader);
    // A number stands before each part.
    if (kind == "jxlp") stream += Skip(box, 4).substr(0, kJxlHeader);
    b = data.substr(box.size());
  }
  return stream;
}

// BitReader reads numbers from the lowest bit on. Zeros follow the last byte.
class BitReader {
 public:
  explicit BitReader(Bytes b) : rest_(b) {}

  int64_t Bits(int n) {
    int64_t v = 0;
    for (int i = 0; i < n && !rest_.empty(); ++i) {
      v |= static_cast<int64_t>(At(rest_, 0) >> used_ & 1) << i;
      if (++used_ == 8) {
        rest_.remove_prefix(1);
        used_ = 0;
      }
    }
    return v;
  }
  bool Bit() { return Bits(1) == 1; }

  // Choice is one encoding of a number: some bits, added to a first value.
  struct Choice {
    int64_t first;
    int bits;
  };

  // Number reads a number whose encoding two bits select.
  int64_t Number(const Choice (&choices)[4]) {
    const Choice& c = choices[Bits(2)];
    return c.first + Bits(c.bits);
  }

 private:
  Bytes rest_;
  int used_ = 0;  // bits of the first byte
};

void JxlSize(BitReader* r, int64_t* height, int64_t* width) {
  constexpr int64_t kRatios[8][2] = {{0, 0}, {1, 1},  {12, 10}, {4, 3},
                                     {3, 2}, {16, 9}, {5, 4},   {2, 1}};
  const bool small = r->Bit();
  const auto side = [&] {
    if (small) return 8 * (1 + r->Bits(5));
    return r->Number({{1, 9}, {1, 13}, {1, 18}, {1, 30}});
  };
  *height = side();
  const auto& ratio = kRatios[r->Bits(3)];
  *width = ratio[0] > 0 ? *height * ratio[0] / ratio[1] : side();
}

void JxlPreview(BitReader* r) {
  const auto size = [r](bool coarse) {
    if (coarse) return r->Number({{16, 0}, {32, 0}, {1, 5}, {33, 9}});
    return r->Number({{1, 6}, {65, 8}, {321, 10}, {1345, 12}});
  };
  const bool coarse = r->Bit();
  size(coarse);
  if (r->Bits(3) == 0) size(coarse);
}

// JxlOptional reads orientation, intrinsic size, preview and animation.
void JxlOptional(BitReader* r) {
  r->Bits(3);
  int64_t ignored;
  if (r->Bit()) JxlSize(r, &ignored, &ignored);
  if (r->Bit()) JxlPreview(r);
  if (r->Bit()) {
    r->Number({{100, 0}, {1000, 0}, {1, 10}, {1, 30}});
    r->Number({{1, 0}, {1001, 0}, {1, 8}, {1, 10}});
    r->Number({{0, 0}, {0, 3}, {0, 16}, {0, 32}});
    r->Bits(1);
  }
}

// JxlExtraChannels reads the metadata up to the number of channels in addition
// to the colors.
int64_t JxlExtraChannels(BitReader* r) {
  if (r->Bit()) return 0;  // all values are the defaults
  if (r->Bit()) JxlOptional(r);
  if (r->Bit()) {  // samples are floats
    r->Number({{32, 0}, {16, 0}, {24, 0}, {1, 6}});
    r->Bits(4);
  } else {
    r->Number({{8, 0}, {10, 0}, {12, 0}, {1, 6}});
  }
  r->Bits(1);  // buffers of 16 bits suffice
  return r->Number({{0, 0}, {1, 0}, {2, 4}, {1, 12}});
}

// ReadJxl reads the header of a JPEG XL. A header that it cannot read counts as
// size 0, and TensorFlow refuses it. Decoding is done in floats.
void ReadJxl(const MediaSpec&, Bytes b, Picture* p) {
  p->format = "JPEG XL";
  std::string parts;
  if (StartsWith(b, kJxlContainer)) b = parts = JxlParts(b);
  if (!StartsWith(b, kJxlStream)) return;
  BitReader r(b.substr(kJxlStream.size()));
  JxlSize(&r, &p->height, &p->width);
  p->channels = 3 + JxlExtraChannels(&r);
  p->frames = 1;
  p->work = Product({p->width, p->height, p->channels, 4});
}

struct ImageFormat {
  Bytes magic;
  void (*read)(const MediaSpec&, Bytes, Picture*);
};

// The formats that TensorFlow's decoders accept, by the first bytes of an
// image. Every decoder accepts more than one of them. Each reader stops where
// the bytes end or do not match the format: TensorFlow stops there too.
constexpr ImageFormat kFormats[] = {
    {"\xff\xd8\xff", ReadJpeg}, {"\x89PNG\r\n\x1a\n", ReadPng},
    {"GIF8", ReadGif},          {"BM", ReadBmp},
    {"RIFF", ReadWebP},         {kJxlStream, ReadJxl},
    {kJxlContainer, ReadJxl},
};

// CheckTopDown refuses a BMP whose top row comes first. The decoder for other
// values than bytes allocates a buffer of a BMP's height times its width,
// without a check of the sign. A negative size ends the process.
bool CheckTopDown(const MediaSpec& spec, Bytes b, Fault* fault) {
  if (spec.value_size == 1 || !StartsWith(b, "BM") || b.size() < 26) {
    return true;
  }
  const auto height = static_cast<int32_t>(Little(b, 22, 4));
  if (height >= 0) return true;
  return fault->Set(Cause::kInvalidArgument,
                    "a BMP of height %" PRId32
                    ", top row first: TensorFlow decodes it to uint8 alone",
                    height);
}

// CheckPicture compares the memory that an image takes with the limit.
bool CheckPicture(const MediaSpec& spec, const Picture& p, Bytes b,
                  Fault* fault) {
  // Other values are decoded as bytes first, and converted.
  const int64_t each = spec.value_size == 1 ? 1 : spec.value_size + 1;
  const int64_t channels = spec.channels > 0 ? spec.channels : p.channels;
  const int64_t frames = spec.first ? std::min<int64_t>(p.frames, 1) : p.frames;
  const int64_t made = Product({p.width, p.height, channels, frames, each});
  if (made <= spec.limit && p.work <= spec.limit - made) return true;
  return fault->Set(Cause::kInvalidArgument,
                    "a %s of %zu bytes: %" PRId64 " x %" PRId64
                    " pixels, %" PRId64 " channels, %" PRId64
                    " frames take %" PRId64 " bytes, more than %" PRId64,
                    p.format, b.size(), p.width, p.height, channels, p.frames,
                    Sum(made, p.work), spec.limit);
}

// WavChannels returns the channels that a WAV claims, 0 if TensorFlow refuses
// it. Other chunks may precede the format.
int64_t WavChannels(Bytes b) {
  constexpr size_t kHeader = 12, kChunk = 8;
  b = Skip(b, kHeader);
  while (b.size() >= kChunk + 4) {
    if (StartsWith(b, "fmt ")) return Little(b, kChunk + 2, 2);
    const int64_t n = Little(b, 4, 4);
    if (n > static_cast<int64_t>(b.size() - kChunk)) return 0;
    b.remove_prefix(kChunk + static_cast<size_t>(n));
  }
  return 0;
}

// CheckSound compares the memory that a WAV takes with the limit, and with the
// largest growth of sound bytes.
bool CheckSound(const MediaSpec& spec, Bytes b, Fault* fault) {
  constexpr int64_t kGrowth = 8;
  const int64_t has = WavChannels(b), size = static_cast<int64_t>(b.size());
  const int64_t channels = spec.channels >= 0 ? spec.channels : has;
  const int64_t samples = size / std::max<int64_t>(2 * has, 1);
  const int64_t made = Product({channels, samples, 4});
  if (has == 0 || made <= spec.limit || made <= kGrowth * size) return true;
  return fault->Set(Cause::kInvalidArgument,
                    "a WAV of %zu bytes: %" PRId64 " samples of %" PRId64
                    " channels take %" PRId64 " bytes, more than %" PRId64,
                    b.size(), samples, channels, made, spec.limit);
}

}  // namespace

bool CheckMedia(const MediaSpec& spec, Bytes bytes, Fault* fault) {
  if (spec.sound) return CheckSound(spec, bytes, fault);
  if (!CheckTopDown(spec, bytes, fault)) return false;
  for (const ImageFormat& format : kFormats) {
    if (!StartsWith(bytes, format.magic)) continue;
    Picture p;
    format.read(spec, bytes, &p);
    return CheckPicture(spec, p, bytes, fault);
  }
  return true;
}

}  // namespace millrace
