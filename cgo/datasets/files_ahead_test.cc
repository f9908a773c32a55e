#include "files_ahead.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace millrace {
namespace {

// Empty is a file without bytes.
class Empty : public ByteSource {
 public:
  explicit Empty(bool* ahead) : ahead_(ahead) {}
  bool Read(char*, size_t, size_t* got, Fault*) override {
    *got = 0;
    return true;
  }
  bool Skip(int64_t, Fault*) override { return true; }
  int64_t left() const override { return 0; }
  bool CheckEnd(Fault*) override { return true; }
  void ReadAhead(size_t bytes) override { *ahead_ = bytes > 0; }

 private:
  bool* const ahead_;
};

// FilesAheadReader opens the files a, b and c, and records which were opened.
class FilesAheadReader : public ::testing::Test {
 protected:
  std::unique_ptr<ByteSource> OpenOne(const std::string& name, Fault* fault) {
    opened_ += name;
    if (name == missing_) {
      fault->Set(Cause::kNotFound, "there is no such file");
      return nullptr;
    }
    return std::make_unique<Empty>(&ahead_);
  }

  FilesAhead Files(int64_t files) {
    return FilesAhead(
        names_,
        [this](const std::string& name, Fault* f) { return OpenOne(name, f); },
        files);
  }

  // Opened returns the files that were opened by opening one.
  std::string Opened(FilesAhead* files, int64_t file, bool more = false) {
    opened_.clear();
    EXPECT_NE(files->Open(file, more, &fault_), nullptr);
    return opened_;
  }

  bool SeveralProcessors() const {
    return std::thread::hardware_concurrency() > 1;
  }

  const std::vector<std::string> names_ = {"a", "b", "c"};
  std::string opened_, missing_;
  bool ahead_ = false;
  Fault fault_;
};

TEST_F(FilesAheadReader, OpensOneAtATime) {
  FilesAhead files = Files(1);
  EXPECT_EQ(Opened(&files, 0), "a");
  EXPECT_EQ(Opened(&files, 1, true), "b");
  EXPECT_EQ(Opened(&files, 2), "c");
  EXPECT_FALSE(ahead_);
}

TEST_F(FilesAheadReader, OpensTheNextFile) {
  if (!SeveralProcessors()) GTEST_SKIP() << "there is one processor";
  FilesAhead files = Files(2);
  EXPECT_EQ(Opened(&files, 0, true), "ab");
  EXPECT_TRUE(ahead_);
  EXPECT_EQ(Opened(&files, 1, true), "c");
  EXPECT_EQ(Opened(&files, 2, true), "a");  // the file of the next epoch
  EXPECT_EQ(Opened(&files, 0), "b");
  EXPECT_EQ(Opened(&files, 1), "c");
  EXPECT_EQ(Opened(&files, 2), "");  // there is no further file
}

TEST_F(FilesAheadReader, GoesOnAnywhere) {
  if (!SeveralProcessors()) GTEST_SKIP() << "there is one processor";
  FilesAhead files = Files(2);
  EXPECT_EQ(Opened(&files, 0), "ab");
  EXPECT_EQ(Opened(&files, 2, true), "ca");
  files.Clear();
  EXPECT_EQ(Opened(&files, 0), "ab");
}

// A fault of a file is reported when it is that file's turn.
TEST_F(FilesAheadReader, FailsAtTheFile) {
  FilesAhead files = Files(2);
  missing_ = "b";
  Opened(&files, 0);
  EXPECT_EQ(fault_.cause, Cause::kNone);
  EXPECT_EQ(files.Open(1, false, &fault_), nullptr);
  EXPECT_EQ(fault_.cause, Cause::kNotFound);
  EXPECT_EQ(Opened(&files, 2), "c");
}

}  // namespace
}  // namespace millrace
