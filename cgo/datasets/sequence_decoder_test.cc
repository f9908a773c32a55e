// Tests of the decoder of SequenceExamples; core_test.cc runs them.
#include "sequence_decoder.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "records_test.h"

namespace millrace {
namespace {

std::string Text(const std::string& s) { return Field(10, Field(10, s)); }

// Record is a SequenceExample of a feature of every kind: in the context an
// int64 "i" and raw bytes "r", as lists of n elements two floats "f", strings
// "s", unpacked int64s "u" and raw bytes "w".
std::string Record(int id, int n) {
  std::string f, s, u, w;
  for (int i = 0; i < n; ++i) {
    f += Field(10, Floats({id + 0.5f, static_cast<float>(i)}));
    s += Field(10, Text(std::string(i % 5, 'a')));
    u += Field(10, Field(26, {8, static_cast<char>(i)}));
    w += Field(10, Text("wxyz"));
  }
  return Field(10, Entry("i", Int(id)) + Entry("r", Text("abcdefgh"))) +
         Field(18,
               Entry("f", f) + Entry("s", s) + Entry("u", u) + Entry("w", w));
}

FeatureSpec Spec(const char* key, Kind kind, int64_t values, bool is_list) {
  FeatureSpec f;
  f.key = key;
  f.kind = kind;
  f.values = values;
  f.is_list = is_list;
  return f;
}

std::vector<FeatureSpec> Specs() {
  FeatureSpec r = Spec("r", Kind::kRaw, 1, false);
  r.raw_bytes = 8;
  r.swap_bytes = 4;
  FeatureSpec w = Spec("w", Kind::kRaw, 1, true);
  w.raw_bytes = 4;
  return {Spec("i", Kind::kInt64, 1, false), r,
          Spec("f", Kind::kFloat, 2, true),  Spec("s", Kind::kBytes, 1, true),
          Spec("u", Kind::kInt64, 1, true),  w};
}

// Decoded decodes batches into memory that is exactly as large as it must be.
struct Decoded {
  std::vector<int64_t> i = std::vector<int64_t>(2);
  std::vector<char> r = std::vector<char>(16);
  SequenceDecoder decoder{Specs()};
  Fault fault;

  bool Decode(const std::string& record, int64_t row) {
    fault = Fault();
    const std::vector<char> exact(record.begin(), record.end());
    const Destination to[] = {{i.data()}, {r.data()}, {}, {}, {}, {}};
    return decoder.Decode({exact.data(), exact.size()}, to, row, &fault);
  }
};

// Ints returns the numbers of a list of int64s.
std::vector<int64_t> Ints(const Joined& list) {
  std::vector<int64_t> v(list.size() / 8);
  if (!v.empty()) std::memcpy(v.data(), list.data(), list.size());
  return v;
}

void TestValues() {
  Decoded d;
  for (int round = 0; round < 2; ++round) {
    d.decoder.Clear();
    CHECK(d.Decode(Record(7, 3), 0) && d.Decode(Record(9, 0), 1));
    CHECK(d.i[0] == 7 && d.i[1] == 9);
    CHECK(std::string(d.r.data(), 8) == "dcbahgfe");
    CHECK((d.decoder.list(2).splits() == std::vector<int64_t>{0, 3, 3}));
    CHECK(d.decoder.list(2).size() == 3 * 8);
    CHECK((d.decoder.list(3).texts() == std::vector<size_t>{0, 1, 3}));
    CHECK((Ints(d.decoder.list(4)) == std::vector<int64_t>{0, 1, 2}));
    CHECK(std::string(d.decoder.list(5).data(), 12) == "wxyzwxyzwxyz");
  }
  d.decoder.Clear();
  CHECK(d.Decode(Record(7, 3) + Record(8, 2), 0));  // the last wins
  CHECK(d.i[0] == 8);
  CHECK((Ints(d.decoder.list(4)) == std::vector<int64_t>{0, 1}));
}

void TestFaults() {
  const std::string good = Record(1, 2);
  const struct {
    std::string record, text;
  } cases[] = {
      {"", "feature \"i\": the record has no such feature"},
      {Record(1, 2).substr(0, 20), "not a SequenceExample (at byte 0)"},
      {good + Field(10, Entry("i", "")),
       "feature \"i\": 0 values stored, want 1"},
      {good + Field(10, Entry("i", Text("a"))),
       "feature \"i\": no int64 list that can be read"},
      {good + Field(10, Entry("r", Text("abc"))),
       "feature \"r\": 3 raw bytes, want 8"},
      {good + Field(18, Entry("u", Field(10, Int(1)) + Field(10, ""))),
       "feature \"u\": element 1: 0 values stored, want 1"},
      {good + Field(18, Entry("f", Field(10, Floats({1, 2, 3})))),
       "feature \"f\": element 0: 3 values stored, want 2"},
      {good + Field(18, Entry("f", Field(10, Text("abcdefgh")))),
       "feature \"f\": element 0: no float list that can be read"},
      {good + Field(18, Entry("w", "x")),
       "feature \"w\": element 0 cannot be read"},
      {Field(10, Entry("i", Int(1)) + Entry("r", Text("abcdefgh"))),
       "feature \"f\": the record has no such feature list"},
  };
  for (const auto& c : cases) {
    Decoded d;
    d.decoder.Clear();
    CHECK(!d.Decode(c.record, 0));
    CHECK(d.fault.text == c.text);
  }
  // A list of few bytes takes little memory, whatever is asked for.
  SequenceDecoder large({Spec("f", Kind::kFloat, int64_t{1} << 50, true)});
  Fault fault;
  large.Clear();
  CHECK(!large.Decode(good, nullptr, 0, &fault));
  CHECK(fault.cause == Cause::kInvalidArgument);
}

// Change changes a record in a place or a few.
void Change(std::mt19937* random, std::string* record) {
  for (int k = (*random)() % 3; k >= 0 && !record->empty(); --k) {
    const size_t at = (*random)() % record->size();
    switch ((*random)() % 4) {
      case 0:
        (*record)[at] = static_cast<char>((*random)());
        break;
      case 1:
        record->erase(at, 1 + (*random)() % 4);
        break;
      case 2:
        record->insert(at, 1, static_cast<char>((*random)()));
        break;
      case 3:
        record->resize(at);
    }
  }
}

void TestChanged() {
  std::mt19937 random(5);
  Decoded d;
  int accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string record = Record(i % 128, random() % 4);
    if (i % 3 == 0) record += Record(i % 128, random() % 3);
    Change(&random, &record);
    d.decoder.Clear();
    if (!d.Decode(record, i % 2)) continue;
    ++accepted;
    const int64_t n = d.decoder.list(2).splits().back();
    CHECK(d.decoder.list(2).size() == static_cast<size_t>(n) * 8);
    const Joined& texts = d.decoder.list(3);
    CHECK(texts.texts().empty() || texts.texts().back() == texts.size());
  }
  CHECK(accepted > 2000);
}

}  // namespace

void TestSequences() {
  TestValues();
  TestFaults();
  TestChanged();
}

}  // namespace millrace
