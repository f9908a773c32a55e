#include "key_map.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace millrace {
namespace {

TEST(KeyMap, FindsKeysInAnyOrder) {
  KeyMap keys;
  keys.Add("a", 0);
  keys.Add("b", 1);
  const std::vector<std::vector<std::string>> records = {
      {"a", "b"}, {"a", "b"}, {"b", "a"}, {"x", "b", "y", "a", "z"},
      {"x", "b"}, {},         {"b", "b"}, {"x", "b", "y", "a", "z"},
  };
  for (const auto& record : records) {
    keys.Restart();
    for (const std::string& key : record) {
      EXPECT_EQ(keys.Find(key), key == "a" ? 0 : key == "b" ? 1 : -1) << key;
    }
  }
}

TEST(KeyMap, FindsTheEmptyKey) {
  KeyMap keys;
  keys.Restart();
  EXPECT_EQ(keys.Find(""), -1);
  keys.Add("", 3);
  KeyMap other;
  other.Add("", 3);
  other.Restart();
  EXPECT_EQ(other.Find(""), 3);
}

// Long keys must not be mistaken for their prefixes.
TEST(KeyMap, TellsLongKeysApart) {
  const std::string beginning(kMaxKey, 'k');
  const std::string longer = beginning + "!";
  for (const bool know_longer : {false, true}) {
    KeyMap keys;
    keys.Add(know_longer ? longer : beginning, 0);
    for (int record = 0; record < 3; ++record) {
      keys.Restart();
      EXPECT_EQ(keys.Find(longer), know_longer ? 0 : -1);
      keys.Restart();
      EXPECT_EQ(keys.Find(beginning), know_longer ? -1 : 0);
    }
  }
}

TEST(KeyMap, FindsKeysOfRecordsWithManyFeatures) {
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i)
    names.push_back("feature " + std::to_string(i));
  KeyMap keys;
  for (int i = 0; i < 3000; i += 2) keys.Add(names[i], i);
  std::mt19937 random(1);
  for (int record = 0; record < 5; ++record) {
    keys.Restart();
    for (int n = 0; n < 3000; ++n) {
      const int i = record < 2 ? n : static_cast<int>(random() % 3000);
      ASSERT_EQ(keys.Find(names[i]), i % 2 == 0 ? i : -1) << names[i];
    }
  }
}

}  // namespace
}  // namespace millrace
