// Fuzz_decoder compares our decoders with TensorFlow's parsers, in one process.
//
//   fuzz_decoder [-n MUTANTS] [-seed S] [-first I] [-out DIR]
//
// Each mutant follows from the seed and its number: a sound record of a random
// schema, spoiled by the grammar of protobuf or by bytes. Our decoder parses it
// first. TensorFlow gets the records that our decoder accepts, and rejected
// ones unless they might end the process. Both must accept the same records,
// with the same values.
//
//   schema ── sound record ── mutations ──┬── ours ─┬─ accepted ──┬── same
//                                         │         └─ rejected ──┤   values?
//                                         └── TensorFlow ─────────┘
//
// The first mutant on which they differ is made small and written to a file
// with the seed; the exit status is then 1. The number of the mutant at work is
// in the mapped file died-PID.txt of DIR, which is removed at the end: a file
// that remains names the mutant that ended its process.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "mutations.h"
#include "round.h"
#include "shrink.h"

namespace millrace {
namespace fuzz {
namespace {

constexpr uint64_t kEnough = 10000;  // mutants that have each mutation

struct Options {
  uint64_t n = 10000000;
  uint64_t seed = 1;
  uint64_t first = 0;  // rounded down to the beginning of a round
  std::string out = ".";
};

bool ParseOptions(int argc, char** argv, Options* o) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    char* end = nullptr;
    const uint64_t value = std::strtoull(argv[i + 1], &end, 10);
    const bool number = end != argv[i + 1] && *end == '\0';
    if (name == "-out") {
      o->out = argv[i + 1];
    } else if (name == "-n" && number) {
      o->n = value;
    } else if (name == "-seed" && number) {
      o->seed = value;
    } else if (name == "-first" && number) {
      o->first = value;
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

std::string Hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<uint8_t>(c) >> 4];
    out += kDigits[c & 15];
  }
  return out;
}

// Report describes a batch so that it can be parsed again.
std::string Report(const Options& o, uint64_t mutant, const Schema& schema,
                   const std::vector<std::string>& batch,
                   const std::string& difference) {
  std::string out = "seed " + std::to_string(o.seed) + ", mutant " +
                    std::to_string(mutant) + "\n" + Describe(schema) + "\n";
  out += difference + "\n";
  for (const std::string& record : batch) out += "record " + Hex(record) + "\n";
  return out;
}

// Current is the file that holds the number of the mutant at work. A write to
// it costs no call into the system, and it outlives a process that crashes.
class Current {
 public:
  explicit Current(const std::string& dir)
      : path_(dir + "/died-" + std::to_string(getpid()) + ".txt") {
    const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, kSize) != 0) {
      std::perror(path_.c_str());
      std::exit(2);
    }
    text_ = static_cast<char*>(
        mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
    if (text_ == MAP_FAILED) std::exit(2);
  }
  ~Current() { unlink(path_.c_str()); }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

  void Set(uint64_t seed, uint64_t mutant) {
    std::snprintf(text_, kSize, "-seed %llu -first %llu\n",
                  static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(mutant));
  }

 private:
  static constexpr size_t kSize = 128;
  const std::string path_;
  char* text_;
};

// Tally counts verdicts, in all and for each mutation.
class Tally {
 public:
  void Count(const Mutant& mutant, Verdict verdict) {
    const auto v = static_cast<size_t>(verdict);
    ++all_[v];
    if (mutant.mutations.empty()) ++sound_[v];
    for (const size_t m : mutant.mutations) ++by_mutation_[m][v];
  }

  // Idle returns the name of a mutation that did not occur in any record
  // compared by both parsers, or nullptr. A run without comparisons must not
  // count as a success.
  const char* Idle() const {
    const auto compared = [](const Counts& c) { return c.of[0] + c.of[1] > 0; };
    if (!compared(sound_)) return "none";
    for (size_t m = 0; m < by_mutation_.size(); ++m) {
      if (!compared(by_mutation_[m])) return Name(m);
    }
    return nullptr;
  }

  void Print() const {
    std::printf("%-20s %12s %12s %12s %12s\n", "mutation", "mutants",
                "accepted", "rejected", "withheld");
    PrintRow("none", sound_);
    for (size_t m = 0; m < by_mutation_.size(); ++m) {
      const size_t trees = TreeMutations().size();
      PrintRow(
          m < trees ? TreeMutations()[m].name : ByteMutations()[m - trees].name,
          by_mutation_[m]);
    }
    PrintRow("all", all_);
  }

 private:
  struct Counts {
    uint64_t of[4] = {};
    uint64_t& operator[](size_t i) { return of[i]; }
  };

  static const char* Name(size_t m) {
    const size_t trees = TreeMutations().size();
    return m < trees ? TreeMutations()[m].name
                     : ByteMutations()[m - trees].name;
  }

  static void PrintRow(const char* name, const Counts& counts) {
    const auto& c = counts.of;
    const auto number = [](uint64_t v) {
      return static_cast<unsigned long long>(v);
    };
    std::printf("%-20s %12llu %12llu %12llu %12llu\n", name,
                number(c[0] + c[1] + c[2] + c[3]), number(c[0]), number(c[1]),
                number(c[2]));
  }

  Counts all_, sound_;
  std::vector<Counts> by_mutation_{TreeMutations().size() +
                                   ByteMutations().size()};
};

// Fail makes the batch small and writes the report. Each try uses new decoders;
// if the failure depends on their memory of earlier records, the batch is not
// reduced and the report says so.
void Fail(const Options& o, uint64_t mutant,
          const std::vector<std::string>& batch,
          const std::string& difference) {
  const uint64_t number = mutant / kRoundSize;
  std::string small_difference =
      "not without the records before: run with -seed " +
      std::to_string(o.seed) + " -first " +
      std::to_string(number * kRoundSize) + "\n" + difference;
  const auto fails = [&](const std::vector<std::string>& candidate) {
    std::string text;
    Round fresh(o.seed, number);
    if (fresh.Compare(candidate, &text) != Verdict::kDiffers) return false;
    small_difference = text;
    return true;
  };
  const std::vector<std::string> small =
      fails(batch) ? Shrink(batch, 20000, fails) : batch;
  const Schema schema = Round(o.seed, number).schema();
  const std::string path = o.out + "/difference-" + std::to_string(o.seed) +
                           "-" + std::to_string(mutant) + ".txt";
  std::string report = Report(o, mutant, schema, small, small_difference);
  if (small != batch) {
    report += "\nbefore it was made small:\n" +
              Report(o, mutant, schema, batch, difference);
  }
  std::ofstream(path) << report;
  std::printf("%swritten to %s\n", report.c_str(), path.c_str());
}

int Run(const Options& o) {
  const auto start = std::chrono::steady_clock::now();
  Current current(o.out);
  Tally tally;
  const uint64_t begin = o.first / kRoundSize * kRoundSize;
  for (uint64_t at = begin; at < begin + o.n;) {
    Round round(o.seed, at / kRoundSize);
    for (uint64_t i = 0; i < kRoundSize && at < begin + o.n; ++i, ++at) {
      current.Set(o.seed, at);
      const Mutant mutant = round.Draw(i);
      std::string difference;
      const Verdict verdict = round.Compare(mutant.batch, &difference);
      tally.Count(mutant, verdict);
      if (verdict == Verdict::kDiffers) {
        Fail(o, at, mutant.batch, difference);
        return 1;
      }
    }
  }
  tally.Print();
  if (o.n >= kEnough && tally.Idle() != nullptr) {
    std::printf("no mutant with mutation \"%s\" was compared\n", tally.Idle());
    return 1;
  }
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  std::printf("seed %llu, no difference, %.0f s\n",
              static_cast<unsigned long long>(o.seed), took.count());
  return 0;
}

}  // namespace
}  // namespace fuzz
}  // namespace millrace

int main(int argc, char** argv) {
  // TensorFlow warns of each repeated key; it reads the level when it starts.
  constexpr char kLevel[] = "TF_CPP_MIN_LOG_LEVEL";
  if (getenv(kLevel) == nullptr) {
    setenv(kLevel, "3", 1);
    setenv("TF_ENABLE_ONEDNN_OPTS", "0", 0);  // or it logs them
    execv("/proc/self/exe", argv);
  }
  millrace::fuzz::Options options;
  if (!millrace::fuzz::ParseOptions(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: fuzz_decoder [-n MUTANTS] [-seed S] [-first I] "
                 "[-out DIR]\n");
    return 2;
  }
  return millrace::fuzz::Run(options);
}
