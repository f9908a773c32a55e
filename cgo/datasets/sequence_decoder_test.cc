#include "sequence_decoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "records_test.h"

namespace millrace {
namespace {

FeatureSpec Spec(const std::string& key, Kind kind, int64_t values,
                 bool is_list) {
  FeatureSpec f;
  f.key = key;
  f.kind = kind;
  f.values = values;
  f.is_list = is_list;
  return f;
}

// The features of the tests: in the context "i" (an int64) and "r" (eight raw
// bytes, to swap by four), as lists "f" (two floats each), "s" (a string), "u"
// (an int64) and "w" (four raw bytes).
enum Feature { kI, kR, kF, kS, kU, kW };

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

// Record is a SequenceExample whose lists have n elements.
std::string Record(int id, int n) {
  std::vector<std::string> f, s, u, w;
  for (int i = 0; i < n; ++i) {
    f.push_back(Floats({id + 0.5f, static_cast<float>(i)}));
    s.push_back(Texts({std::string(i % 5, 'a')}));
    u.push_back(UnpackedInts({i}));
    w.push_back(Texts({"wxyz"}));
  }
  return Features(Entry("i", Ints({id})) + Entry("r", Texts({"abcdefgh"}))) +
         FeatureLists(Entry("f", List(f)) + Entry("s", List(s)) +
                      Entry("u", List(u)) + Entry("w", List(w)));
}

// Batch decodes batches of two records. The context's memory is no larger than
// it must be.
struct Batch {
  std::vector<int64_t> i = std::vector<int64_t>(2);
  std::vector<char> r = std::vector<char>(16);
  SequenceDecoder decoder{Specs()};
  Fault fault;

  Batch() { decoder.Clear(); }

  bool Decode(const std::string& record, int64_t row) {
    fault = Fault();
    const Exact exact(record);
    const Destination to[] = {{i.data()}, {r.data()}, {}, {}, {}, {}};
    return decoder.Decode(exact.view(), to, row, &fault);
  }

  template <typename T>
  std::vector<T> list(Feature feature) const {
    const Joined& list = decoder.list(feature);
    std::vector<T> v(list.size() / sizeof(T));
    if (!v.empty()) std::memcpy(v.data(), list.data(), list.size());
    return v;
  }

  std::vector<std::string> texts(Feature feature) const {
    const Joined& list = decoder.list(feature);
    std::vector<std::string> v;
    size_t begin = 0;
    for (const size_t end : list.texts()) {
      v.emplace_back(list.data() + begin, end - begin);
      begin = end;
    }
    return v;
  }
};

using Splits = std::vector<int64_t>;

TEST(Joined, GrowsAndKeepsWhatItHas) {
  Joined list;
  std::string want;
  for (int n = 0; n < 200; ++n) {
    const std::string part(n, 'a' + n % 26);
    char* const at = list.Add(part.size());
    ASSERT_NE(at, nullptr);
    std::memcpy(at, part.data(), part.size());
    want += part;
  }
  EXPECT_EQ(std::string(list.data(), list.size()), want);
  list.Clear();
  EXPECT_EQ(list.size(), 0u);
  EXPECT_EQ(list.splits(), Splits{0});
}

TEST(Joined, RefusesMoreThanThereIsMemory) {
  Joined list;
  ASSERT_TRUE(list.AddText("abc"));
  EXPECT_EQ(list.Add(size_t{1} << 62), nullptr);
  EXPECT_EQ(std::string(list.data(), list.size()), "abc");
}

TEST(SequenceDecoder, JoinsTheListsOfABatch) {
  Batch b;
  for (int round = 0; round < 2; ++round) {  // no state remains
    b.decoder.Clear();
    ASSERT_TRUE(b.Decode(Record(7, 3), 0)) << b.fault.text;
    ASSERT_TRUE(b.Decode(Record(9, 0), 1)) << b.fault.text;
    EXPECT_EQ(b.i, (std::vector<int64_t>{7, 9}));
    EXPECT_EQ(std::string(b.r.data(), 16), "dcbahgfedcbahgfe");
    for (const Feature f : {kF, kS, kU, kW}) {
      EXPECT_EQ(b.decoder.list(f).splits(), (Splits{0, 3, 3}));
    }
    EXPECT_EQ(b.list<float>(kF),
              (std::vector<float>{7.5f, 0, 7.5f, 1, 7.5f, 2}));
    EXPECT_EQ(b.texts(kS), (std::vector<std::string>{"", "a", "aa"}));
    EXPECT_EQ(b.list<int64_t>(kU), (std::vector<int64_t>{0, 1, 2}));
    EXPECT_EQ(b.list<char>(kW).size(), 12u);
  }
}

// Copied returns the elements of a list from Joined::Copy.
std::vector<float> Copied(const Joined& list, size_t values) {
  std::vector<float> all;
  for (size_t i = 0; i + 1 < list.splits().size(); ++i) {
    const auto n = static_cast<size_t>(list.splits()[i + 1] - list.splits()[i]);
    std::vector<float> record(n * values);
    list.Copy(i, values * sizeof(float),
              reinterpret_cast<char*>(record.data()));
    all.insert(all.end(), record.begin(), record.end());
  }
  return all;
}

// Elements of the usual form are not copied from the records, until a record of
// another form arrives.
TEST(SequenceDecoder, RefersToRecordsThatStay) {
  for (const int values : {1, 2, 29, 40, 5000}) {
    std::vector<std::string> lists;
    std::vector<float> want;
    for (int i = 0; i < 5; ++i) {
      std::vector<std::string> steps;
      for (int step = 0; step < 3 * (i % 3); ++step) {
        std::vector<float> step_values;
        for (int v = 0; v < values; ++v) {
          step_values.push_back(100.0f * i + step + 0.25f * v);
        }
        want.insert(want.end(), step_values.begin(), step_values.end());
        steps.push_back(i == 4 && step == 1 ? UnpackedFloats(step_values)
                                            : Floats(step_values));
      }
      lists.push_back(FeatureLists(Entry("f", List(steps))));
    }
    std::vector<std::unique_ptr<Exact>> records;
    SequenceDecoder decoder({Spec("f", Kind::kFloat, values, true)});
    decoder.KeepRecords();
    const Destination none;
    for (int round = 0; round < 2; ++round) {
      decoder.Clear();
      for (const std::string& list : lists) {
        records.push_back(std::make_unique<Exact>(list));
        Fault fault;
        ASSERT_TRUE(decoder.Decode(records.back()->view(), &none, 0, &fault))
            << fault.text;
      }
      EXPECT_EQ(decoder.list(0).splits(), (Splits{0, 0, 3, 9, 9, 12}));
      EXPECT_EQ(Copied(decoder.list(0), values), want);
    }
    decoder.Cut(3);
    EXPECT_EQ(decoder.list(0).splits(), (Splits{0, 0, 3, 9}));
    want.resize(9 * values);
    EXPECT_EQ(Copied(decoder.list(0), values), want);
  }
}

// A list has the usual form if each element has it, to the last byte of its
// head.
TEST(UsualElement, CountsOnlyWhatIsAsUsual) {
  for (const int values : {1, 2, 29, 40, 5000}) {
    const UsualElement usual(Spec("f", Kind::kFloat, values, true));
    const std::string element =
        List({Floats(std::vector<float>(values, 1.5f))});
    const Exact three(element + element + element);
    EXPECT_EQ(usual.Count(three.view()), 3);
    EXPECT_EQ(usual.size(), element.size());
    EXPECT_EQ(usual.Count(""), 0);
    for (size_t i = 0; i < usual.head(); ++i) {
      std::string changed = element + element;
      changed[element.size() + i] ^= 1;
      const Exact exact(changed);
      EXPECT_EQ(usual.Count(exact.view()), -1) << values << " " << i;
    }
    const Exact cut(element.substr(1));
    EXPECT_EQ(usual.Count(cut.view()), -1);
  }
  EXPECT_EQ(UsualElement(Spec("u", Kind::kInt64, 2, true)).Count("abcdefgh"),
            -1);
}

TEST(SequenceDecoder, DecodesPackedAndUnpackedElements) {
  SequenceDecoder decoder({Spec("f", Kind::kFloat, 2, true)});
  decoder.Clear();
  const std::string record =
      FeatureLists(Entry("f", List({Floats({1, 2}), UnpackedFloats({3, 4})})));
  Fault fault;
  const Destination none;
  ASSERT_TRUE(decoder.Decode(record, &none, 0, &fault)) << fault.text;
  const float want[] = {1, 2, 3, 4};
  ASSERT_EQ(decoder.list(0).size(), sizeof(want));
  EXPECT_EQ(std::memcmp(decoder.list(0).data(), want, sizeof(want)), 0);
}

// Odd records that TensorFlow accepts are accepted with the same values.
TEST(SequenceDecoder, TakesWhatTensorFlowTakes) {
  const std::string record = Record(8, 2);
  const struct {
    const char* name;
    std::string record;
  } tests[] = {
      {"the last of two records, joined", Record(7, 3) + record},
      {"lists before the context", FeatureLists(Entry("f", "")) + record},
      {"unknown fields", "\x18\x05" + record +
                             "\x2d"
                             "abcd"},
      {"an unknown field that overshoots the end", record + "\x1a\x7f"
                                                            "ab"},
      {"other features", Features(Entry("a", "\x01\x02")) + record +
                             FeatureLists(Entry("i", "\x01\x02"))},
      {"bytes behind the list of a context feature",
       record + Features(Entry("i", Ints({8}) + "rest"))},
      {"bytes behind the list of an element, which are the next element",
       record +
           FeatureLists(Entry("u", List({Ints({0}) + List({Ints({1})})})))},
  };
  for (const auto& test : tests) {
    Batch b;
    ASSERT_TRUE(b.Decode(test.record, 0)) << test.name << ": " << b.fault.text;
    EXPECT_EQ(b.i[0], 8) << test.name;
    EXPECT_EQ(b.list<int64_t>(kU), (std::vector<int64_t>{0, 1})) << test.name;
    EXPECT_EQ(b.decoder.list(kF).splits(), (Splits{0, 2})) << test.name;
  }
}

TEST(SequenceDecoder, SaysWhatIsWrong) {
  const std::string good = Record(1, 2);
  const struct {
    std::string record, text;
  } tests[] = {
      {"", "feature \"i\": the record has no such feature"},
      {good.substr(0, 20), "not a SequenceExample (at byte 0)"},
      {good + "\x1b",
       "not a SequenceExample (at byte " + std::to_string(good.size()) + ")"},
      {good + Features(Field(10, Field(18, "v") + Field(10, "k"))),
       "not a SequenceExample (at byte " + std::to_string(good.size()) + ")"},
      {good + Features(Entry("i", "")),
       "feature \"i\": 0 values stored, want 1"},
      {good + Features(Entry("i", Ints({1, 2}))),
       "feature \"i\": 2 values stored, want 1"},
      {good + Features(Entry("i", Texts({"a"}))),
       "feature \"i\": no int64 list that can be read"},
      {good + Features(Entry("r", Texts({"abc"}))),
       "feature \"r\": 3 raw bytes, want 8"},
      {good + Features(Entry(
                  "r", Field(kBytesList, "\x0a" + Varint(0x80000000) + "ab"))),
       "feature \"r\": no bytes list that can be read"},
      {good + FeatureLists(Entry("u", List({Ints({1}), ""}))),
       "feature \"u\": element 1: 0 values stored, want 1"},
      {good + FeatureLists(Entry("f", List({Floats({1, 2, 3})}))),
       "feature \"f\": element 0: 3 values stored, want 2"},
      {good + FeatureLists(Entry("f", List({Texts({"abcdefgh"})}))),
       "feature \"f\": element 0: no float list that can be read"},
      {good + FeatureLists(Entry("s", List({Texts({"a"}), Texts({"b", "c"})}))),
       "feature \"s\": element 1: 2 values stored, want 1"},
      {good + FeatureLists(Entry("w", List({Texts({"abcde"})}))),
       "feature \"w\": 5 raw bytes, want 4"},
      {good + FeatureLists(Entry("w", "x")),
       "feature \"w\": element 0 cannot be read"},
      {Features(Entry("i", Ints({1})) + Entry("r", Texts({"abcdefgh"}))),
       "feature \"f\": the record has no such feature list"},
  };
  for (const auto& test : tests) {
    Batch b;
    EXPECT_FALSE(b.Decode(test.record, 0)) << test.text;
    EXPECT_EQ(b.fault.cause, Cause::kInvalidArgument);
    EXPECT_EQ(b.fault.text, test.text);
  }
}

// A list of few bytes takes little memory, whatever is requested.
TEST(SequenceDecoder, TakesNoMemoryForValuesThatCannotBeThere) {
  for (const Kind kind : {Kind::kFloat, Kind::kInt64}) {
    SequenceDecoder decoder({Spec("f", kind, int64_t{1} << 50, true)});
    decoder.Clear();
    Fault fault;
    const std::string feature = kind == Kind::kFloat ? Floats({1}) : Ints({1});
    EXPECT_FALSE(decoder.Decode(FeatureLists(Entry("f", List({feature}))),
                                nullptr, 0, &fault));
    EXPECT_EQ(fault.cause, Cause::kInvalidArgument) << fault.text;
  }
}

// A context feature and a list may have the same name.
TEST(SequenceDecoder, TellsContextAndListsApart) {
  SequenceDecoder decoder(
      {Spec("x", Kind::kInt64, 1, false), Spec("x", Kind::kInt64, 1, true)});
  decoder.Clear();
  std::vector<int64_t> x(1);
  const Destination to[] = {{x.data()}, {}};
  Fault fault;
  ASSERT_TRUE(
      decoder.Decode(Features(Entry("x", Ints({5}))) +
                         FeatureLists(Entry("x", List({Ints({6}), Ints({7})}))),
                     to, 0, &fault));
  EXPECT_EQ(x[0], 5);
  EXPECT_EQ(decoder.list(1).splits(), (Splits{0, 2}));
}

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
      default:
        record->resize(at);
    }
  }
}

// Whatever a record contains, the decoded values are consistent; the address
// sanitizer checks the rest. The fuzz driver of cgo/fuzz compares with
// TensorFlow.
TEST(SequenceDecoder, SurvivesChangedRecords) {
  std::mt19937 random(5);
  Batch b;
  int accepted = 0;
  for (int i = 0; i < 100000; ++i) {
    std::string record = Record(i % 128, random() % 4);
    if (i % 3 == 0) record += Record(i % 128, random() % 3);
    Change(&random, &record);
    b.decoder.Clear();
    if (!b.Decode(record, i % 2)) {
      ASSERT_NE(b.fault.cause, Cause::kNone);
      continue;
    }
    ++accepted;
    const auto n = static_cast<size_t>(b.decoder.list(kF).splits().back());
    ASSERT_EQ(b.decoder.list(kF).size(), n * 8);
    const Joined& texts = b.decoder.list(kS);
    ASSERT_EQ(texts.texts().size(), static_cast<size_t>(texts.splits().back()));
    ASSERT_EQ(texts.texts().empty() ? 0 : texts.texts().back(), texts.size());
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace millrace
