// Distributed under the Boost Software License, Version 1.0.
// Calls of sed over one text: each leaves what GNU sed 4.9 left of the file when it was run for this table, or is not read. What is read is counted, so that no row becomes unread unseen.
#include <headroom/io/syntax/shell.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_sed_calls {

using namespace headroom;

namespace {

struct call {
  const char *script, *left;
};
const call calls[] = {
    {"sed -i 's/AB/C/' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's/AB/C/g' a.json", "x C C\nC \"q\"/1\n"},
    {"sed -i -e 's/AB/C/' -e 's/x/y/' a.json", "y C AB\nC \"q\"/1\n"},
    {"sed -i --expression 's/AB/C/' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i --expression='s/AB/C/' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed --in-place 's/AB/C/' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed --in-place=.b 's/AB/C/' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i.bak 's/AB/C/' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's,AB,C,' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's|AB|C|;s#x#y#' a.json", "y C AB\nC \"q\"/1\n"},
    {"sed -i 's:AB:C:g;s@x@y@' a.json", "y C C\nC \"q\"/1\n"},
    {"sed -i 's!AB!C!' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's_AB_C_' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's~AB~C~' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's%AB%C%' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's+AB+C+' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 'sXABXCX' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's/AB/C/ ; s/x/y/' a.json", "y C AB\nC \"q\"/1\n"},
    {"sed -i 's/AB/C/;' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i ';s/AB/C/' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's/AB//' a.json", "x  AB\n \"q\"/1\n"},
    {"sed -i 's/AB/a\\/b/' a.json", "x a/b AB\na/b \"q\"/1\n"},
    {"sed -i 's/AB/&&/' a.json", "x ABAB AB\nABAB \"q\"/1\n"},
    {"sed -i 's/AB/\\&/' a.json", "x & AB\n& \"q\"/1\n"},
    {"sed -i 's/A./C/' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's/A\\./C/' a.json", "x AB AB\nAB \"q\"/1\n"},
    {"sed -i 's/A*/C/' a.json", "Cx AB AB\nCB \"q\"/1\n"},
    {"sed -i 's/^x/C/' a.json", "C AB AB\nAB \"q\"/1\n"},
    {"sed -i 's/AB$/C/' a.json", "x AB C\nAB \"q\"/1\n"},
    {"sed -i 's/[AB]/C/' a.json", "x CB AB\nCB \"q\"/1\n"},
    {"sed -i 's/AB/C/2' a.json", "x AB C\nAB \"q\"/1\n"},
    {"sed -i 's/ab/C/I' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's/AB/C/gI' a.json", "x C C\nC \"q\"/1\n"},
    {"sed -i '1s/AB/C/' a.json", "x C AB\nAB \"q\"/1\n"},
    {"sed -i '/x/s/AB/C/' a.json", "x C AB\nAB \"q\"/1\n"},
    {"sed -i 'y/AB/CD/' a.json", "x CD CD\nCD \"q\"/1\n"},
    {"sed -i '1d' a.json", "AB \"q\"/1\n"},
    {"sed -i 's/\"q\"/r/' a.json", "x AB AB\nAB r/1\n"},
    {"sed -i \"s/\\\"q\\\"/r/\" a.json", "x AB AB\nAB r/1\n"},
    {"sed -i 's/q/\"/g' a.json", "x AB AB\nAB \"\"\"/1\n"},
    {"sed -i 's/AB/C/' a.json; sed -i 's/C/D/g' a.json", "x D AB\nD \"q\"/1\n"},
    {"sed -n -i 's/AB/C/p' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i -E 's/AB/C/' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i -r 's/A+/C/' a.json", "x CB AB\nCB \"q\"/1\n"},
    {"sed -i -s 's/AB/C/' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed 's/AB/C/' a.json > b.json; mv b.json a.json", "x C AB\nC \"q\"/1\n"},
    {"cp a.json b.json; sed -i 's/AB/C/' b.json; cp b.json a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's/x AB/C/' a.json", "C AB\nAB \"q\"/1\n"},
    {"sed -i 's/ /_/g' a.json", "x_AB_AB\nAB_\"q\"/1\n"},
    {"sed -i 's/AB/C D/' a.json", "x C D AB\nC D \"q\"/1\n"},
    {"sed -i s/AB/C/ a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i -es/AB/C/ a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's/NONE/C/' a.json", "x AB AB\nAB \"q\"/1\n"},
    {"sed -i 's/AB/C/;s/C/AB/' a.json", "x AB AB\nAB \"q\"/1\n"},
    {"sed -ie 's/AB/C/' a.json", "x C AB\nC \"q\"/1\n"},
    {"sed -i 's/AB/x\\ny/' a.json", "x x\ny AB\nx\ny \"q\"/1\n"},
    {"sed -i 's/1/2/' ./a.json", "x AB AB\nAB \"q\"/2\n"}};

}  // namespace

TEST_CASE("a call of sed leaves what GNU sed leaves, or is not read") {
  int read = 0;
  for (const auto& c : calls) {
    const std::string script{c.script};
    CAPTURE(script);
    const auto files = io::read_shell("cat > a.json <<'EOF'\nx AB AB\nAB \"q\"/1\nEOF\n" + script + "\n", "s.sh").files;
    const io::shell_file* last = nullptr;
    for (const auto& f : files)
      if (f.path.ends_with("a.json")) last = &f;
    REQUIRE(last != nullptr);
    if (!last->plain || !last->sure) continue;
    ++read;
    CHECK(last->text == std::string{c.left});
  }
  CHECK(read >= 34);
}

}  // namespace test_sed_calls
