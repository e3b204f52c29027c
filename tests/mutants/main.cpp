// Distributed under the Boost Software License, Version 1.0.
// doctest's main for a build with mutants: the environment says which one is on, and where to write which test reached which.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace headroom_mutants {

static int chosen() {
  const char* number = std::getenv("HEADROOM_MUTANT");
  return number ? std::atoi(number) : 0;
}

int active;
unsigned char reached[HEADROOM_MUTANTS + 1];

/// Before any other variable of the program, some of which the library makes.
static struct first_of_all {
  first_of_all() { active = chosen(); }
} now __attribute__((init_priority(101)));

/// One line for each test case: its seconds, its name, and the mutants that it reached. The first line is for what ran before main().
struct witness : doctest::IReporter {
  std::FILE* file = nullptr;
  const char* name = "";
  std::chrono::steady_clock::time_point start{};

  explicit witness(const doctest::ContextOptions&) {
    if (const char* path = std::getenv("HEADROOM_MUTANTS_REACHED")) file = std::fopen(path, "w");
    write(0);
  }
  ~witness() override {
    if (file) std::fclose(file);
  }
  void write(double seconds) {
    if (!file) return;
    std::fprintf(file, "%.6f\t%s\t", seconds, name);
    for (int k = 1; k <= HEADROOM_MUTANTS; ++k) {
      if (reached[k]) std::fprintf(file, "%d ", k);
    }
    std::fprintf(file, "\n");
    std::memset(reached, 0, sizeof reached);
  }
  void test_case_start(const doctest::TestCaseData& test) override {
    name = test.m_name;
    start = std::chrono::steady_clock::now();
  }
  void test_case_end(const doctest::CurrentTestCaseStats&) override { write(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()); }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("witness", 1, witness);

}  // namespace headroom_mutants

int main(int argc, char** argv) { return doctest::Context(argc, argv).run(); }
