#include "example_decoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "records_test.h"

namespace millrace {
namespace {

FeatureSpec Spec(const std::string& key, Kind kind, int64_t values) {
  FeatureSpec f;
  f.key = key;
  f.kind = kind;
  f.values = values;
  return f;
}

FeatureSpec RawSpec(const std::string& key, int64_t values, int64_t bytes,
                    int swap = 1) {
  FeatureSpec f = Spec(key, Kind::kRaw, values);
  f.raw_bytes = bytes;
  f.swap_bytes = swap;
  return f;
}

// One decodes records of one feature, into memory of exactly the needed size.
class One {
 public:
  explicit One(const FeatureSpec& f) : spec_(f), decoder_({f}) {
    const int64_t size = f.kind == Kind::kInt64   ? 8
                         : f.kind == Kind::kFloat ? 4
                         : f.kind == Kind::kRaw   ? f.raw_bytes
                                                  : 0;
    bytes_.resize(static_cast<size_t>(f.values * size));
    if (f.kind == Kind::kBytes) texts_.resize(static_cast<size_t>(f.values));
  }

  bool Decode(const std::string& record) {
    fault = Fault();
    const Exact exact(record);
    Destination to;
    to.base = bytes_.data();
    if (spec_.kind == Kind::kBytes) {
      to.base = &texts_;
      to.set = [](void* base, int64_t i, const char* data, size_t n) {
        static_cast<std::vector<std::string>*>(base)->at(i).assign(data, n);
      };
    }
    return decoder_.Decode(exact.view(), &to, 0, &fault);
  }

  template <typename T>
  std::vector<T> values() const {
    std::vector<T> v(bytes_.size() / sizeof(T));
    if (!v.empty()) std::memcpy(v.data(), bytes_.data(), bytes_.size());
    return v;
  }
  std::string bytes() const { return {bytes_.data(), bytes_.size()}; }
  const std::vector<std::string>& texts() const { return texts_; }

  Fault fault;

 private:
  const FeatureSpec spec_;
  ExampleDecoder decoder_;
  std::vector<char> bytes_;
  std::vector<std::string> texts_;
};

std::string X(const std::string& feature) {
  return Features(Entry("x", feature));
}

TEST(ExampleDecoder, DecodesPackedAndUnpackedLists) {
  One ints(Spec("x", Kind::kInt64, 3));
  for (const auto& write : {Ints, UnpackedInts}) {
    ASSERT_TRUE(ints.Decode(X(write({1, -2, INT64_MIN})))) << ints.fault.text;
    EXPECT_EQ(ints.values<int64_t>(), (std::vector<int64_t>{1, -2, INT64_MIN}));
  }
  One floats(Spec("x", Kind::kFloat, 2));
  for (const auto& write : {Floats, UnpackedFloats}) {
    ASSERT_TRUE(floats.Decode(X(write({1.5f, -0.25f})))) << floats.fault.text;
    EXPECT_EQ(floats.values<float>(), (std::vector<float>{1.5f, -0.25f}));
  }
}

TEST(ExampleDecoder, DecodesByteStrings) {
  One one(Spec("x", Kind::kBytes, 3));
  const std::string zeros("\0\0", 2);
  ASSERT_TRUE(one.Decode(X(Texts({"", zeros, std::string(300, 'z')}))));
  EXPECT_EQ(one.texts(),
            (std::vector<std::string>{"", zeros, std::string(300, 'z')}));
}

TEST(ExampleDecoder, DecodesRawNumbers) {
  One plain(RawSpec("x", 2, 4));
  ASSERT_TRUE(plain.Decode(X(Texts({"abcd", "efgh"}))));
  EXPECT_EQ(plain.bytes(), "abcdefgh");
  One swapped(RawSpec("x", 2, 4, 2));
  ASSERT_TRUE(swapped.Decode(X(Texts({"abcd", "efgh"}))));
  EXPECT_EQ(swapped.bytes(), "badcfehg");
}

TEST(ExampleDecoder, WritesEachRowToItsPlace) {
  ExampleDecoder decoder(
      {Spec("x", Kind::kFloat, 2), Spec("y", Kind::kInt64, 1)});
  std::vector<float> x(6);
  std::vector<int64_t> y(3);
  const Destination to[] = {{x.data()}, {y.data()}};
  Fault fault;
  for (const int64_t row : {2, 0, 1}) {
    const auto v = static_cast<float>(row);
    const std::string record =
        Features(Entry("y", Ints({row})) + Entry("x", Floats({v, -v})));
    ASSERT_TRUE(decoder.Decode(record, to, row, &fault)) << fault.text;
  }
  EXPECT_EQ(x, (std::vector<float>{0, 0, 1, -1, 2, -2}));
  EXPECT_EQ(y, (std::vector<int64_t>{0, 1, 2}));
}

// Odd records that TensorFlow accepts are accepted with the same values.
TEST(ExampleDecoder, TakesWhatTensorFlowTakes) {
  const std::string seven = Ints({7});
  const struct {
    const char* name;
    std::string record;
  } tests[] = {
      {"the last of two entries of a key",
       Features(Entry("x", Ints({6})) + Entry("x", seven))},
      {"the last of two Examples, joined", X(Ints({6})) + X(seven)},
      {"an entry without a value after the one with it",
       Features(Entry("x", seven) + Entry("x", ""))},
      {"a value before its key",
       Features(Field(10, Field(18, seven) + Field(10, "x")))},
      {"other features", Features(Entry("a", Texts({"b"})) + Entry("x", seven) +
                                  Entry("c", "\x7f"))},
      {"an unknown field before", "\x18\x05" + X(seven)},
      {"an unknown field that overshoots the end", X(seven) + "\x1a\x7f"
                                                              "ab"},
      {"bytes behind the list",
       X(Field(kInt64List, Field(kPacked, "\x07")) + "rest")},
      {"a list that claims more than there is",
       X("\x1a\x7f" + Field(kPacked, "\x07"))},
      {"a packed list that claims more than there is",
       X(Field(kInt64List, "\x0a\x7f\x07"))},
      {"features that claim more than there is",
       "\x0a\x7f" + Entry("x", seven)},
      {"lengths of more bytes than needed",
       X(std::string("\x1a\x83\x80\x00", 4) + Field(kPacked, "\x07"))},
  };
  for (const auto& test : tests) {
    One one(Spec("x", Kind::kInt64, 1));
    EXPECT_TRUE(one.Decode(test.record)) << test.name << ": " << one.fault.text;
    EXPECT_EQ(one.values<int64_t>()[0], 7) << test.name;
  }
}

TEST(ExampleDecoder, SaysWhatIsWrong) {
  const struct {
    FeatureSpec spec;
    std::string record, text;
  } tests[] = {
      {Spec("x", Kind::kInt64, 1), "",
       "feature \"x\": the record has no such feature"},
      {Spec("x", Kind::kInt64, 1), Features(Entry("y", Ints({1}))),
       "feature \"x\": the record has no such feature"},
      {Spec("x", Kind::kInt64, 1), X(""),
       "feature \"x\": the record has no such feature"},
      {Spec("x", Kind::kInt64, 1), X(Floats({1})),
       "feature \"x\": stored as a float list, int64 is asked for"},
      {Spec("x", Kind::kInt64, 1), X("\x22\x01z"),
       "feature \"x\": no list of bytes, floats or int64s"},
      {Spec("x", Kind::kInt64, 2), X(Ints({1, 2, 3})),
       "feature \"x\": 3 values stored, want 2"},
      {Spec("x", Kind::kInt64, 2), X(UnpackedInts({1})),
       "feature \"x\": 1 values stored, want 2"},
      {Spec("x", Kind::kFloat, 1), X(UnpackedFloats({1, 2})),
       "feature \"x\": 2 values stored, want 1"},
      {Spec("x", Kind::kBytes, 1), X(Texts({"a", "b"})),
       "feature \"x\": 2 values stored, want 1"},
      {RawSpec("x", 1, 4), X(Texts({"abc"})),
       "feature \"x\": 3 raw bytes, want 4"},
      {Spec("x", Kind::kInt64, 1), X(Field(kInt64List, "\x0a\x01\x80")),
       "feature \"x\": its list cannot be read"},
      {Spec("x", Kind::kBytes, 1),
       X(Field(kBytesList, "\x0a" + Varint(0x80000000) + "ab")),
       "feature \"x\": its list cannot be read"},
      {Spec("x", Kind::kInt64, 1), "\x0b", "not an Example (byte 0)"},
      {Spec("x", Kind::kInt64, 1), Features("\x12\x01z"),
       "not an Example (byte 2)"},
      {Spec(std::string("x\n"), Kind::kInt64, 1), "",
       "feature \"x\\x0a\": the record has no such feature"},
  };
  for (const auto& test : tests) {
    One one(test.spec);
    EXPECT_FALSE(one.Decode(test.record)) << test.text;
    EXPECT_EQ(one.fault.cause, Cause::kInvalidArgument);
    EXPECT_EQ(one.fault.text, test.text);
  }
}

// The values of a list beyond the requested number are counted, but not
// written. Such records end the process in TensorFlow.
TEST(ExampleDecoder, WritesNothingBeyondTheValuesWanted) {
  const std::vector<float> many(10000, 1.0f);
  One floats(Spec("x", Kind::kFloat, 1));
  EXPECT_FALSE(floats.Decode(X(UnpackedFloats(many))));
  EXPECT_FALSE(floats.Decode(X(Floats(many))));
  One ints(Spec("x", Kind::kInt64, 1));
  EXPECT_FALSE(ints.Decode(X(Ints(std::vector<int64_t>(10000, 1)))));
  One texts(Spec("x", Kind::kBytes, 1));
  EXPECT_FALSE(texts.Decode(X(Texts(std::vector<std::string>(1000, "t")))));
  One raw(RawSpec("x", 1, 2));
  EXPECT_FALSE(raw.Decode(X(Texts(std::vector<std::string>(1000, "rr")))));
}

TEST(ExampleDecoder, GoesOnAfterAFault) {
  One one(Spec("x", Kind::kInt64, 1));
  EXPECT_FALSE(one.Decode("\x0b"));
  EXPECT_TRUE(one.Decode(X(Ints({4}))));
  EXPECT_EQ(one.values<int64_t>()[0], 4);
  EXPECT_FALSE(one.Decode(Features("")));  // no state is left
}

TEST(ExampleDecoder, FindsTheValuesOfOneFeatureInTheRecord) {
  const std::string other = Entry("other", Ints({1}));
  const struct {
    const char* name;
    FeatureSpec spec;
    std::string record, values;
  } tests[] = {
      {"packed floats", Spec("x", Kind::kFloat, 2),
       Features(other + Entry("x", Floats({1, 2}))), Bits(1) + Bits(2)},
      {"one raw string", RawSpec("x", 1, 4), X(Texts({"abcd"})), "abcd"},
      {"unpacked floats", Spec("x", Kind::kFloat, 1), X(UnpackedFloats({1})),
       ""},
      {"two raw strings", RawSpec("x", 2, 1), X(Texts({"a", "b"})), ""},
      {"raw numbers to swap", RawSpec("x", 1, 4, 4), X(Texts({"abcd"})), ""},
      {"ints", Spec("x", Kind::kInt64, 1), X(Ints({1})), ""},
  };
  for (const auto& test : tests) {
    ExampleDecoder decoder({test.spec});
    std::vector<char> bytes(100);
    const Destination to{bytes.data()};
    Fault fault;
    ASSERT_TRUE(decoder.Decode(test.record, &to, 0, &fault)) << fault.text;
    size_t at = 0, n = 0;
    const bool found = decoder.Values(test.record, &at, &n);
    EXPECT_EQ(found, !test.values.empty()) << test.name;
    if (found) {
      EXPECT_EQ(test.record.substr(at, n), test.values) << test.name;
    }
  }
}

FeatureSpec ListSpec(const std::string& key, Kind kind, int64_t values) {
  FeatureSpec f = Spec(key, kind, values);
  f.is_list = true;
  return f;
}

using Splits = std::vector<int64_t>;

// Numbers returns the values of a list of numbers.
template <typename T>
std::vector<T> Numbers(const Joined& list) {
  std::vector<T> v(list.size() / sizeof(T));
  if (!v.empty()) std::memcpy(v.data(), list.data(), list.size());
  return v;
}

TEST(ExampleDecoder, JoinsListsOfAnyLength) {
  ExampleDecoder decoder({ListSpec("i", Kind::kInt64, 1),
                          ListSpec("f", Kind::kFloat, 2),
                          ListSpec("s", Kind::kBytes, 1)});
  const Destination to[3];
  Fault fault;
  for (int batch = 0; batch < 2; ++batch) {  // the second in the first's memory
    decoder.Clear();
    const std::string records[] = {
        Features(Entry("i", Ints({1, -2, INT64_MIN})) +
                 Entry("f", UnpackedFloats({1, 2})) +
                 Entry("s", Texts({"a", ""}))),
        Features(Entry("s", Texts({})) + Entry("i", Ints({})) +
                 Entry("f", Floats({}))),
        Features(Entry("i", UnpackedInts({3, INT64_MAX})) +
                 Entry("f", Floats({3, 4, 5, 6})) + Entry("s", Texts({"bc"}))),
    };
    for (const std::string& record : records) {
      const Exact exact(record);
      ASSERT_TRUE(decoder.Decode(exact.view(), to, 0, &fault)) << fault.text;
    }
    EXPECT_EQ(Numbers<int64_t>(decoder.list(0)),
              (std::vector<int64_t>{1, -2, INT64_MIN, 3, INT64_MAX}));
    EXPECT_EQ(decoder.list(0).splits(), (Splits{0, 3, 3, 5}));
    EXPECT_EQ(Numbers<float>(decoder.list(1)),
              (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(decoder.list(1).splits(), (Splits{0, 1, 1, 3}));
    EXPECT_EQ(std::string(decoder.list(2).data(), decoder.list(2).size()),
              "abc");
    EXPECT_EQ(decoder.list(2).texts(), (std::vector<size_t>{1, 1, 3}));
    EXPECT_EQ(decoder.list(2).splits(), (Splits{0, 2, 2, 3}));

    decoder.Cut(1);
    EXPECT_EQ(Numbers<int64_t>(decoder.list(0)),
              (std::vector<int64_t>{1, -2, INT64_MIN}));
    EXPECT_EQ(decoder.list(0).splits(), (Splits{0, 3}));
    EXPECT_EQ(Numbers<float>(decoder.list(1)), (std::vector<float>{1, 2}));
    EXPECT_EQ(decoder.list(2).texts(), (std::vector<size_t>{1, 1}));
  }
}

// Packed floats are not copied if a batch is one record; all other values are.
TEST(ExampleDecoder, LeavesFloatsInPlace) {
  ExampleDecoder decoder(
      {ListSpec("f", Kind::kFloat, 2), ListSpec("i", Kind::kInt64, 1)});
  decoder.LeaveInPlace();
  const Destination to[2];
  Fault fault;
  const std::string i = Entry("i", Ints({7}));
  const struct {
    std::string list;
    bool in_place;
    std::vector<float> want;
  } tests[] = {
      {Floats({1, 2, 3, 4}), true, {1, 2, 3, 4}},
      {UnpackedFloats({5, 6}), false, {5, 6}},
      {Floats({7, 8}), true, {7, 8}},
      {Floats({}), true, {}},
      {Field(kFloatList, ""), false, {}},
  };
  for (const auto& test : tests) {
    const Exact exact(Features(i + Entry("f", test.list)));
    const std::string_view record = exact.view();
    decoder.Clear();
    ASSERT_TRUE(decoder.Decode(record, to, 0, &fault)) << fault.text;
    const Joined& list = decoder.list(0);
    EXPECT_EQ(Numbers<float>(list), test.want);
    EXPECT_EQ(list.splits(),
              (Splits{0, static_cast<int64_t>(test.want.size()) / 2}));
    EXPECT_EQ(list.data() > record.data() &&
                  list.data() <= record.data() + record.size(),
              test.in_place);
    EXPECT_EQ(Numbers<int64_t>(decoder.list(1)), (std::vector<int64_t>{7}));
  }
  decoder.Clear();
  const Exact cut(X(Field(kFloatList, kPacked + Varint(400) + Bits(1))));
  EXPECT_FALSE(
      decoder.Decode(Features(Entry("f", Floats({1})) + i), to, 0, &fault));
  EXPECT_FALSE(decoder.Decode(cut.view(), to, 0, &fault));
}

// Packed floats of records that stay in place are copied only once, as
// elements.
TEST(ExampleDecoder, RefersToRecordsThatStay) {
  const std::string lists[] = {Floats({1, 2, 3, 4}), Floats({}), Floats({5, 6}),
                               UnpackedFloats({7, 8}), Floats({9, 10})};
  for (const size_t n : {3u, 5u}) {
    ExampleDecoder decoder({ListSpec("f", Kind::kFloat, 2)});
    decoder.KeepRecords();
    decoder.Clear();
    const Destination to[1];
    std::vector<std::unique_ptr<Exact>> records;
    for (size_t i = 0; i < n; ++i) {
      records.push_back(
          std::make_unique<Exact>(Features(Entry("f", lists[i]))));
      Fault fault;
      ASSERT_TRUE(decoder.Decode(records.back()->view(), to, 0, &fault));
    }
    const Joined& list = decoder.list(0);
    std::vector<float> got(2 * list.splits().back()), want;
    for (size_t i = 0; i < n; ++i) {
      list.Copy(i, 8,
                reinterpret_cast<char*>(got.data() + 2 * list.splits()[i]));
    }
    for (size_t v = 0; v < got.size(); ++v) want.push_back(v + 1);
    EXPECT_EQ(got, want);
    EXPECT_EQ(list.splits().back(), n == 3 ? 3 : 5);
  }
}

TEST(ExampleDecoder, TakesOptionalListsForEmpty) {
  FeatureSpec f = ListSpec("x", Kind::kInt64, 3);
  f.is_optional = true;
  ExampleDecoder decoder({f});
  const Destination to;
  Fault fault;
  for (const std::string& record :
       {Features(""), X(""), X(Ints({1, 2, 3})), std::string()}) {
    ASSERT_TRUE(decoder.Decode(record, &to, 0, &fault)) << fault.text;
  }
  EXPECT_EQ(decoder.list(0).splits(), (Splits{0, 0, 0, 1, 1}));
  EXPECT_FALSE(decoder.Decode(X(Ints({1, 2})), &to, 0, &fault));
  EXPECT_EQ(fault.text, "feature \"x\": 2 values stored, want a multiple of 3");
}

// A list takes memory for the values in its bytes, not for the claimed number.
TEST(ExampleDecoder, TakesNoMemoryForValuesThatAreNotThere) {
  const std::string claim = Varint(0x7ffffffc);
  const struct {
    Kind kind;
    std::string feature;
  } tests[] = {
      {Kind::kFloat, Field(kFloatList, kPacked + claim + Bits(1))},
      {Kind::kFloat, kFloatList + claim + kPacked + claim + Bits(1)},
      {Kind::kInt64, Field(kInt64List, kPacked + claim + "\x01\x80")},
      {Kind::kBytes, Field(kBytesList, kPacked + claim + "a")},
  };
  for (const auto& test : tests) {
    ExampleDecoder decoder({ListSpec("x", test.kind, 1)});
    const Destination to;
    Fault fault;
    const Exact exact(X(test.feature));
    EXPECT_FALSE(decoder.Decode(exact.view(), &to, 0, &fault));
    EXPECT_EQ(fault.text, "feature \"x\": its list cannot be read");
    EXPECT_LE(decoder.list(0).size(), 8u);
  }
}

// Whatever a record contains, the decoder does not read outside of it or write
// outside of the destinations; the address sanitizer checks that. The fuzz
// driver of cgo/fuzz compares with TensorFlow.
TEST(ExampleDecoder, SurvivesChangedRecords) {
  ExampleDecoder decoder(
      {Spec("x", Kind::kFloat, 3), Spec("y", Kind::kInt64, 1),
       RawSpec("r", 1, 4), ListSpec("i", Kind::kInt64, 1),
       ListSpec("f", Kind::kFloat, 2), ListSpec("s", Kind::kBytes, 1)});
  const std::string good =
      Features(Entry("x", Floats({1, 2, 3})) + Entry("y", UnpackedInts({4})) +
               Entry("r", Texts({"abcd"})) + Entry("i", Ints({5, 600})) +
               Entry("f", Floats({1, 2})) + Entry("s", Texts({"t", "uv"})));
  std::mt19937 random(2);
  int accepted = 0;
  for (int i = 0; i < 100000; ++i) {
    std::string record = good;
    for (int k = random() % 3; k >= 0 && !record.empty(); --k) {
      const size_t at = random() % record.size();
      switch (random() % 4) {
        case 0:
          record[at] = static_cast<char>(random());
          break;
        case 1:
          record.erase(at, 1 + random() % 4);
          break;
        case 2:
          record.insert(at, 1, static_cast<char>(random()));
          break;
        default:
          record.resize(at);
      }
    }
    std::vector<float> x(3);
    std::vector<int64_t> y(1);
    std::vector<char> r(4);
    const Destination to[6] = {{x.data()}, {y.data()}, {r.data()}};
    const Exact exact(record);
    Fault fault;
    decoder.Clear();
    const bool ok = decoder.Decode(exact.view(), to, 0, &fault);
    ASSERT_EQ(ok, fault.cause == Cause::kNone);
    accepted += ok;
    if (!ok) continue;
    for (const size_t list : {3, 4}) {
      const auto n = static_cast<size_t>(decoder.list(list).splits().back());
      ASSERT_EQ(decoder.list(list).size(), n * 8);
    }
    const Joined& texts = decoder.list(5);
    ASSERT_EQ(texts.texts().size(), static_cast<size_t>(texts.splits().back()));
  }
  EXPECT_GT(accepted, 1000);
}

// A decoder that has seen similar records decodes each record like a new
// decoder, whichever byte differs.
TEST(ExampleDecoder, RemembersLayoutsExactly) {
  const std::vector<FeatureSpec> features = {Spec("x", Kind::kFloat, 3),
                                             Spec("y", Kind::kInt64, 1)};
  const auto record = [](const std::string& y, float x) {
    return Field(kFeatures, Entry("x", Floats({x, 2, 3})) + Entry("z", y) +
                                Entry("y", Ints({7})));
  };
  std::vector<std::string> base = {
      record(Ints({1}), 1), record(Ints({300}), 1), record(Floats({}), 1),
      Field(kFeatures, Entry("y", Ints({1})) + Entry("x", Floats({4, 5, 6}))),
      Field(kFeatures, Entry("y", Ints({1})) + Entry("x", Floats({4, 5, 6})) +
                           Entry("x", Floats({7, 8, 9})))};
  struct Result {
    bool ok;
    std::string values, fault;
    bool operator==(const Result& r) const {
      return ok == r.ok && fault == r.fault && (!ok || values == r.values);
    }
  };
  const auto decode = [&](ExampleDecoder* decoder, const std::string& text) {
    std::string x(12, '-'), y(8, '-');
    Destination to[2];
    to[0].base = x.data();
    to[1].base = y.data();
    Fault fault;
    const Exact exact(text);
    const bool ok = decoder->Decode(exact.view(), to, 0, &fault);
    return Result{ok, x + y, fault.text};
  };
  ExampleDecoder seen(features);
  for (const std::string& text : base) {
    for (size_t at = 0; at < text.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        ASSERT_TRUE(decode(&seen, text).ok);
        EXPECT_FALSE(decode(&seen, "").ok);
        std::string changed = text;
        changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
        ExampleDecoder fresh(features);
        EXPECT_EQ(decode(&seen, changed), decode(&fresh, changed))
            << "byte " << at << " bit " << bit;
      }
    }
  }
}

}  // namespace
}  // namespace millrace
