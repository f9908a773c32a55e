// MillraceRecordsDataset: the records of files, plain and compressed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../datasets/placed_record.h"
#include "../datasets/records_test.h"
#include "pipeline.h"

namespace millrace {
namespace optest {
namespace {

std::string Bytes(uint64_t v, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += static_cast<char>(v >> (8 * i));
  return out;
}

// Crc32 is the checksum of gzip.
uint32_t Crc32(const std::string& data) {
  uint32_t crc = ~uint32_t{0};
  for (const char c : data) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
  }
  return ~crc;
}

// Gzip is a gzip member that stores the data without compression.
std::string Gzip(const std::string& data) {
  const std::string header("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  return header + '\x01' + Bytes(data.size(), 2) + Bytes(~data.size(), 2) +
         data + Bytes(Crc32(data), 4) + Bytes(data.size(), 4);
}

// Options are the inputs and attributes of the op.
struct Options {
  std::vector<std::string> files;
  std::vector<int64_t> counts;
  std::string compression = {};
  int64_t first_file = 0;
  bool placed = false;
};

Result Start(Pipeline* p, const Options& o) {
  Attrs attrs;
  attrs.text["compression"] = o.compression;
  attrs.flag["placed"] = o.placed;
  const TF_Output dataset =
      p->Add("MillraceRecordsDataset",
             {p->Constant(Strings(o.files)), p->Constant(Ints(o.counts)),
              p->Constant(Int(o.first_file)), p->Constant(Int(0))},
             attrs);
  return p->Iterate(dataset, {TF_STRING}, {{}});
}

std::vector<std::string> All(const Options& o, Result* last) {
  Pipeline p;
  *last = Start(&p, o);
  std::vector<std::string> all;
  while (last->code == TF_OK) {
    *last = p.Next();
    if (last->code == TF_OK) all.push_back(last->values[0].strings[0]);
  }
  return all;
}

using Records = std::vector<std::string>;

TEST(RecordsDataset, ReadsPlainFiles) {
  const TempFile one(Frame("a") + Frame("")), two(Frame("b"));
  Result last;
  EXPECT_EQ(All({{one.path(), two.path()}, {2, -1}}, &last),
            (Records{"a", "", "b"}));
  EXPECT_EQ(last.code, TF_OUT_OF_RANGE) << last.message;
}

TEST(RecordsDataset, InflatesGzipMembers) {
  const std::string bytes = Frame("first") + Frame("second") + Frame("third");
  // A member may end within a record, and may be empty.
  const TempFile file(Gzip(bytes.substr(0, 30)) + Gzip("") +
                      Gzip(bytes.substr(30)));
  Result last;
  EXPECT_EQ(All({{file.path()}, {3}, "GZIP"}, &last),
            (Records{"first", "second", "third"}));
  EXPECT_EQ(last.code, TF_OUT_OF_RANGE) << last.message;
}

TEST(RecordsDataset, FindsEachCutOfAGzipFile) {
  const std::string whole = Gzip(Frame("first") + Frame("second"));
  for (size_t cut = 1; cut < whole.size(); cut += 3) {
    const TempFile file(whole.substr(0, cut));
    Result last;
    All({{file.path()}, {-1}, "GZIP"}, &last);
    EXPECT_EQ(last.code, TF_DATA_LOSS) << "cut " << cut << last.message;
  }
}

TEST(RecordsDataset, FindsDamage) {
  std::string zipped = Gzip(Frame("first"));
  zipped[zipped.size() - 5] ^= 1;  // changes gzip's checksum
  std::string plain = Frame("first");
  plain[12] ^= 1;
  for (const bool gzip : {false, true}) {
    const TempFile file(gzip ? zipped : plain);
    Result last;
    All({{file.path()}, {-1}, gzip ? "GZIP" : ""}, &last);
    EXPECT_EQ(last.code, TF_DATA_LOSS) << last.message;
    EXPECT_NE(last.message.find(file.path()), std::string::npos)
        << last.message;
  }
}

TEST(RecordsDataset, TakesFileUrlsForLocalFiles) {
  const TempFile file(Frame("a"));
  Result last;
  EXPECT_EQ(All({{"file://" + file.path()}, {1}}, &last), Records{"a"});
  // A header that claims 2^62 bytes is refused before memory is taken.
  const TempFile bomb(Header(uint64_t{1} << 62));
  EXPECT_EQ(All({{"file://" + bomb.path()}, {-1}}, &last), Records{});
  EXPECT_NE(last.message.find("cap 256 MiB"), std::string::npos)
      << last.message;
}

TEST(RecordsDataset, GivesEachRecordItsPlace) {
  const TempFile one(Frame("a") + Frame("b")), two(Frame("c"));
  Options o{{one.path(), two.path()}, {2, 1}};
  o.placed = true;
  o.first_file = 5;
  Result last;
  const Records records = All(o, &last);
  ASSERT_EQ(records.size(), 3u);
  const RecordOrigin origin(true, {});
  const RecordPlace want[] = {{5, 0, 0}, {5, 1, 17}, {6, 0, 0}};
  for (size_t i = 0; i < records.size(); ++i) {
    std::string_view data = records[i];
    RecordPlace place;
    Fault fault;
    ASSERT_TRUE(origin.Split(&data, &place, &fault));
    EXPECT_EQ(data, std::string(1, static_cast<char>('a' + i)));
    EXPECT_EQ(place.file, want[i].file);
    EXPECT_EQ(place.record, want[i].record);
    EXPECT_EQ(place.offset, want[i].offset);
  }
}

}  // namespace
}  // namespace optest
}  // namespace millrace
