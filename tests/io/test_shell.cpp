// Distributed under the Boost Software License, Version 1.0.
// What a shell script starts, by the values that the script itself gives. Each expectation is what bash prints when it runs the script with
// `run` as a function that echoes its arguments; where bash would need a command's output, the word is open.
#include <headroom/io/syntax/shell.hpp>

#include <doctest/doctest.h>

#include <tuple>

namespace test_shell {

using namespace headroom;

/// Its commands named "run", a line each: "run a b"; a word that is open in brackets.
std::string runs(const std::string& script, const io::shell_values& environment = {}) {
  std::string r;
  for (const auto& c : io::read_shell(script, "s.sh", environment).commands) {
    if (c.words[0].text != "run") continue;
    for (std::size_t i = 1; i < c.words.size(); ++i) r += (i > 1 ? " " : "") + (c.words[i].known() ? c.words[i].text : "[" + c.words[i].shown() + "]");
    r += "\n";
  }
  return r;
}
std::string refusal(const std::string& script) {
  try {
    io::read_shell(script, "s.sh");
  } catch (const headroom::error& e) {
    return e.what();
  }
  return {};
}

// QwenLM/Qwen3-Coder finetuning/sft/scripts/sft_qwencoder.sh: GPUS_PER_NODE=$(python -c "import torch; print(torch.cuda.device_count());").
TEST_CASE("a value that is given stands for one that the script takes from a command, and for no other") {
  const std::string counted = "GPUS=$(python -c \"import torch; print(torch.cuda.device_count());\")\nALL=$(($GPUS*2))\nrun $GPUS $ALL\n";
  CHECK(runs(counted, {{"GPUS", "8"}}) == "8 16\n");
  CHECK(runs(counted).front() == '[');
  CHECK(runs("GPUS=4\nrun $GPUS\n", {{"GPUS", "8"}}) == "4\n");
  CHECK(runs("GPUS=$(nvidia-smi -L | wc -l)\nGPUS=2\nrun $GPUS\n", {{"GPUS", "8"}}) == "2\n");
}

TEST_CASE("what stands in a default's commands and variables has quotes of its own") {
  CHECK(runs("N=${N:-$(python -c \"import torch; print(1)\")}\nrun $N a\n") == "[$(python -c \"import torch; print(1)\")] a\n");
  CHECK(runs("D=${D:-\"$(dirname \"$0\")/x\"}\nrun \"$D\"\n") == "[$(dirname \"$0\")/x]\n");
  CHECK(runs("D=${D:-${E:-\"x\"}}\nrun $D\n") == "x\n");
  CHECK(runs("D=${D:-\"${E:-\"x\"}y\"}\nrun $D\n") == "xy\n");
  CHECK(runs("D=${D:-a`f \"b\"`}\nrun c\n") == "c\n");
}

TEST_CASE("a branch whose test the script decides is the one that is read") {
  const std::string choose = "if [ \"$MODE\" = full ]; then A=1\nelif [[ $MODE == lo* && -n $MODE ]]; then A=2; else A=3; fi\nrun $A\n";
  CHECK(runs("MODE=full\n" + choose) == "1\n");
  CHECK(runs("MODE=lora\n" + choose) == "2\n");
  CHECK(runs("MODE=x\n" + choose) == "3\n");
  CHECK(runs(choose) == "3\n");  // nobody sets MODE
  CHECK(io::read_shell(choose, "s.sh").unset == std::set<std::string>{"MODE"});
  CHECK(runs(choose, {{"MODE", "lora"}}) == "2\n");
  CHECK(runs("N=4; if [ $N -ge 4 ] && [ $N -lt 5 ]; then run a; else run b; fi") == "a\n");
  CHECK(runs("N=5; if [ $N -ge 4 -a $N -lt 5 ]; then run a; else run b; fi") == "b\n");
  for (const auto& [sign, less, equal, more] : {std::tuple{"-eq", "b", "a", "b"}, {"-ne", "a", "b", "a"}, {"-lt", "a", "b", "b"}, {"-le", "a", "a", "b"}, {"-gt", "b", "b", "a"}, {"-ge", "b", "a", "a"}})
    for (const auto& [n, said] : {std::pair{"3", less}, {"4", equal}, {"10", more}}) {
      const std::string test = std::string{" $N "} + sign + " 4 ";
      CHECK(runs("N=" + std::string{n} + "; if [" + test + "]; then run a; else run b; fi") == std::string{said} + "\n");
      CHECK(runs("N=" + std::string{n} + "; if [[" + test + "]]; then run a; else run b; fi") == std::string{said} + "\n");
    }
  CHECK(runs("N=5; if ! [ $N -ne 5 ] || false; then run a; fi") == "a\n");
  CHECK(runs("run a \\\n  b") == "a b\n");
  CHECK(runs("run a \\\r\n  b") == "a b\n");  // a file with both signs at a line's end
  for (const auto* cut : {"run a\nrun a \\ \t\n  --b 1", "run a\nrun a \\ ", "\nX=(a \\\t\nb)"}) {  // the shell ends the command there
    CAPTURE(cut);
    CHECK(refusal(cut) == "headroom: s.sh:2: blanks stand between the last \\ and the line's end, where the shell ends the command, and takes the next line for another one: take the blanks out");
  }
  CHECK(runs("run a\\ b") == "a b\n");
  CHECK(runs("run \"a \\ \nb\"") == "a \\ \nb\n");
  CHECK(runs("run $((\t4\t*\n2 ))") == "8\n");  // blanks of every kind
  CHECK(runs("N=5; if (( N > 4 )); then run a; else run b; fi; (( M = N * 2 )); run $M") == "a\n10\n");
  CHECK(runs("if [ -z \"$1\" ]; then M=default; else M=$1; fi; run $M") == "default\n");
  CHECK(runs("if [ -z \"$1\" ]; then M=default; else M=$1; fi; run $M $#", {{"1", "given"}}) == "given 1\n");
}

TEST_CASE("what a sum changes and is not worked out is open from there on") {
  CHECK(runs("D=3; E=3; run $((D++)) $D $E; run $D") == "[$((D++))] [$D] 3\n[$D]\n");
  CHECK(runs("D=3; E=4; M=$((D -= E)); run $M $D $E") == "[$((D -= E))] [$D] 4\n");
  CHECK(runs("D=3; run $((--D)); D=5; run $D") == "[$((--D))]\n5\n");
  CHECK(runs("K=(a b); i=0; run ${K[i++]}; run ${K[$i]}") == "[${K[i++]}]\n[${K[$i]}]\n");
  CHECK(runs("D=3; E=4; (( M = D++ )); run $D $M $E") == "[$D] [$M] 4\n");
  CHECK(runs("D=3; E=4; (( M = 2, E <<= 1 )); run $D $E") == "3 [$E]\n");
  CHECK(runs("D=3; if false; then run $((D++)); fi; run $D") == "3\n");
  CHECK(runs("D=3; E=4; run $((D <= E)) $((D == E)) $((D != E)) $((D - -E)) $D $E") == "1 0 1 7 3 4\n");
}

TEST_CASE("a default whose quotes keep some of its blanks stays open") {
  CHECK(runs("X=1; run ${X:+--x \"a b\"} ${Y:-a'b c'}") == "[${X:+--x \"a b\"}] [${Y:-a'b c'}]\n");
}

TEST_CASE("what the shell makes several words of stays open, and braces that are a value do not") {
  CHECK(runs("run a{b,c} {1..8} '{a,b}' \"{a,b}\" {} {a} a=[1,2]") == "[a{b,c}] [{1..8}] {a,b} {a,b} {} {a} a=[1,2]\n");
  CHECK(runs("for i in {1..3}; do run $i; done") == "[$i]\n");
  CHECK(runs("{ run a,b; }") == "a,b\n");
}

TEST_CASE("[ is a command, whose words are what is left of them; in [[ quotes make a pattern plain") {
  // What bash 5.2 prints of each, with U unset: 2 or 3.
  static constexpr std::pair<std::string_view, char> all[] = {
      {"[ -n $U ]", '2'},                  {"[ -n \"$U\" ]", '3'},        {"[ -z $U ]", '2'},               {"[ $U = a ]", '3'},
      {"[ $U != a ]", '3'},                {"[ \"$U\" != a ]", '2'},      {"[ $U ]", '3'},                  {"[ ! $U ]", '2'},
      {"[ $U = a -o $V = b ]", '3'},       {"[ -n $U -a -n $V ]", '2'},   {"[ -n $U -a -n $V -a -n $W ]", '3'}, {"[[ -n $U ]]", '3'},
      {"[[ $U == a ]]", '3'},              {"test -n \"$B\"", '3'},       {"test -n $B", '2'},              {"test -z \"$B\"", '2'},
      {"test", '3'},                       {"test !", '2'},               {"test 4 -o -z a -o $U", '3'},    {"[ $A -eq 4 ]", '3'},
      {"[ x -o $A -eq 4 ]", '3'},          {"! [ $A -eq 4 ]", '2'},           {"[ $D -le \"\" ]", '3'},
      {"[[ $C == \"$G\" ]]", '3'},         {"[[ $C == $G ]]", '2'},       {"[[ $C == 'lo*' ]]", '3'},       {"[[ $C == lo* ]]", '2'},
      {"[[ $C == \"lo\"* ]]", '2'},       {"[[ $C == *\"or\"* ]]", '2'},      {"[[ $C == *\"-x\" ]]", '3'},
      {"[[ $C == ?ora ]]", '2'},     {"[[ $C == l*a ]]", '2'},         {"[[ $C == l*b ]]", '3'},
      {"[[ \"$G\" == \"lo?a\" ]]", '2'},   {"[[ ! ( $C == x || $A == full ) ]]", '3'}, {"[ ! \"$A\" -o a ]", '3'},  {"[ ! \"$B\" -a a ]", '2'},
      {"[ \\( a = a \\) -a b ]", '2'},   {"[ ! a = b ]", '2'},          {"[ a -a \"\" ]", '3'}};
  for (const auto& one : all) {
    const std::string test{one.first};
    CAPTURE(test);
    CHECK(runs("A=full; B=; C=lora; D=4; G='lo?a'\nif " + test + "; then run 2; else run 3; fi") == std::string(1, one.second) + "\n");
  }
  // Of these the script alone does not say.
  for (const auto* test : {"[[ $C == \"l*\"* ]]", "[[ $C == lo\\* ]]", "[[ $A -eq 0 ]]", "[ $U -eq 0 ]", "[ $U -gt 0 ]", "[ \"$U\" -lt 4 ]", "[ $A -a $U -eq 0 ]", "[[ $C == [lf]* ]]", "[ -f $A ]", "[[ $C =~ l.* ]]", "[ $A \\< $C ]", "[ $(x) = $(y) ]"}) {
    CAPTURE(std::string(test));
    CHECK(runs("A=full; C=lora\nif " + std::string(test) + "; then run 2; else run 3; fi") == "2\n3\n");
  }
}

TEST_CASE("a name that only a branch sets which does not run is empty") {
  CHECK(runs("SP=true; TP=1; if [ $SP = true ] && [ $TP -gt 1 ]; then S=--sp; elif [ $SP = false ]; then S=' '; fi\nrun a $S b\n") == "a b\n");
  CHECK(io::read_shell("A=1; if [ $A = 2 ]; then B=x; fi; run $B", "s.sh").unset == std::set<std::string>{"B"});
  CHECK(runs("A=1; if [ $A = 2 ]; then B=(x y); export C=z; fi; run a \"${B}\"$C") == "a \n");
  CHECK(runs("A=1; if [ $A = 2 ]; then B=x; fi; run $B", {{"B", "given"}}) == "given\n");
  CHECK(runs("A=1; if [ $A = 2 ]; then B=x; fi; source other.sh; run $B") == "[$B]\n");  // the other script may set it
  CHECK(runs("A=1; if [ $A = 2 ]; then B=x run b; fi; run $B") == "[$B]\n");            // a command's own
  CHECK(runs("if [ $1 = 2 ]; then B=x; fi; run $B", {{"1", "$2"}}) == "\n");
  CHECK(runs("f() { B=x; }; run $B; f; run $B") == "[$B]\nx\n");
}

TEST_CASE("comparisons and choices of a sum") {
  CHECK(runs("TP=4; N=$(( ($TP > 1) ? 1 : 0 )); run $N $((TP<4)) $((TP<=4)) $((TP>=5)) $((TP==4)) $((TP!=4))") == "1 0 1 0 1 0\n");
  CHECK(runs("A=2; run $((A > 1 && A < 3)) $((A > 2 || A == 2)) $((!A)) $((!(A - 2))) $((A ? A == 2 ? 7 : 8 : 9))") == "1 1 0 1 7\n");
  CHECK(runs("A=2; if (( A >= 2 && A != 3 )); then run a; else run b; fi; if (( A > 2 || A < 2 )); then run a; else run b; fi") == "a\nb\n");
  CHECK(runs("A=2; (( A == 3 )); run $A; (( A += 1 )); run $A") == "2\n[$A]\n");  // what is compared stays
  CHECK(runs("run $((1 << 2)) $((1 ? 2)) $((U > 1))") == "[$((1 << 2))] [$((1 ? 2))] [$((U > 1))]\n");
}

TEST_CASE("a value in double brackets is one word, empty or not, and * makes one word of a list") {
  CHECK(runs("E=; if [[ -n $E ]]; then run a; else run b; fi") == "b\n");
  CHECK(runs("E=; if ! [[ -n $E ]]; then run a; else run b; fi") == "a\n");
  CHECK(runs("E=; [[ -z $E ]] && run a") == "a\n");
  CHECK(runs("E=x; [[ -n $E ]] && run a; run \"[[\" $E") == "a\n[[ x\n");
  CHECK(runs("E=; if [[ $E == full ]]; then run a; elif [[ full != $E ]]; then run b; fi") == "b\n");
  CHECK(runs("E='a b'; if [[ $E == 'a b' ]]; then run a; else run b; fi") == "a\n");
  CHECK(runs("E=; F=x; if [[ -n $E || $F == x ]]; then run a; else run b; fi") == "a\n");
  const std::string list = "L=(p q 'r s'); n() { run $#; }; ";
  CHECK(runs(list + "n \"${L[*]}\"; n \"${L[@]}\"; n ${L[*]}") == "1\n3\n4\n");
  CHECK(runs(list + "M=(\"${L[*]}\" x); run ${#M[@]} \"${M[0]}\"") == "2 p q r s\n");
  CHECK(runs("f() { run \"-$*-\"; }; f a b") == "-a b-\n");
  CHECK(runs("L=(a b); sh -c \"run x ${L[*]} y\"") == "x a b y\n");
}

TEST_CASE("what a branch sets of which nobody knows whether it runs is open behind it") {
  CHECK(runs("if [ -f x ]; then A=1; else A=2; fi; run $A") == "[$A]\n");
  CHECK(runs("if [ -f x ]; then A=1; else A=1; fi; run $A") == "1\n");
  CHECK(runs("A=1; if [ -f x ]; then A=1; fi; run $A") == "1\n");
  CHECK(runs("A=1; if [ -f x ]; then A=2; run $A; fi; run $A") == "2\n[$A]\n");
  CHECK(runs("if nvidia-smi; then if true; then A=1; fi; fi; run $A") == "[$A]\n");
  CHECK(runs("if nvidia-smi; then :; elif true; then A=1; else A=2; fi; run $A") == "[$A]\n");
  CHECK(runs("[ -f x ] && A=1; run $A; true && B=1; run $B; false || C=1; run $C; false && D=1; run $D") == "[$A]\n1\n1\n[$D]\n");
  CHECK(runs("if [ -f x ]; then A=(1 2); fi; run ${A[@]}") == "[$A]\n");
  CHECK(runs("A=9; if [ -f x ]; then A=1; else A=2; fi; run $A", {{"A", "2"}}) == "9\n");  // who gives A means the line before
  CHECK(runs("source env.sh; if [ -z \"$A\" ]; then B=1; fi; run $B") == "[$B]\n");           // env.sh may set A
  CHECK(runs("#SBATCH --nodes=2\nif [ -z \"$SLURM_PROCID\" ]; then B=1; fi; run $B $SLURM_NNODES") == "[$B] 2\n");
  CHECK(runs("read A; if [ $A = 1 ]; then B=1; fi; run $A $B") == "[$A] [$B]\n");
}

TEST_CASE("case takes the first pattern that matches") {
  const std::string choose = "case \"$M\" in\n a|b*) X=1;;\n c) X=2\n ;;\n *) X=3;;\nesac\nrun $X\n";
  CHECK(runs("M=a\n" + choose) == "1\n");
  CHECK(runs("M=bcd\n" + choose) == "1\n");
  CHECK(runs("M=c\n" + choose) == "2\n");
  CHECK(runs("M=d\n" + choose) == "3\n");
  CHECK(runs("M=$(uname)\n" + choose) == "[$X]\n");
  CHECK(runs("case $(uname) in a) X=1;; *) X=1;; esac; run $X") == "1\n");
  CHECK(runs("case $(uname) in a) X=1;; b) X=1;; esac; run $X") == "[$X]\n");
  // Options of the script itself, of which there are none.
  const std::string options = "N=2\nwhile [[ $# -gt 0 ]]; do\n  case $1 in\n    -n|--nodes) N=$2; shift 2;;\n    *) exit 1;;\n  esac\ndone\nrun $N\n";
  CHECK(runs(options) == "2\n");
  CHECK(runs(options, {{"1", "--nodes"}, {"2", "8"}}) == "[$N]\n");
}

TEST_CASE("loops over words start a command for each; functions start theirs where they are called") {
  CHECK(runs("for lr in 1 2; do for s in a b; do run $lr $s; done; done") == "1 a\n1 b\n2 a\n2 b\n");
  CHECK(runs("for lr in 1 2\ndo\n  run $lr\ndone\nrun $lr") == "1\n2\n2\n");
  CHECK(runs("for lr in 1 2; do run $lr; done", {{"lr", "2"}}) == "2\n");
  CHECK(runs("for f in *.json; do run $f; done") == "[$f]\n");
  CHECK(runs("for ((i=0; i<3; i++)); do run x; A=1; done; run $A") == "x\n[$A]\n");
  CHECK(runs("while true; do run x; sleep 5; done") == "x\n");
  CHECK(runs("until true; do run x; done") == "");
  CHECK(runs("for i in a b c; do if [ $i = b ]; then continue; fi; run $i; done; run $i") == "a\nc\nc\n");
  CHECK(runs("for i in a b c; do if [ $i = b ]; then break; fi; run $i; done; run $i") == "a\nb\n");
  CHECK(runs("for i in a b; do for j in 1 2 3; do if [ $j = 2 ]; then break; fi; run $i$j; done; run $i; done") == "a1\na\nb1\nb\n");
  CHECK(runs("for i in a b; do case $i in a) continue ;; esac; run $i; done") == "b\n");
  const auto looped = io::read_shell("for lr in 1 2; do for s in a; do run $lr; done; done", "s.sh");
  REQUIRE(looped.commands.size() == 2);
  CHECK(looped.commands[1].loops == "lr=2");
  CHECK(runs("go() {\n  local m=$1\n  run $m $# \"$@\"\n}\ngo a b\ngo c") == "a 2 a b\nc 1 c\n");
  CHECK(runs("function go { run $1; }\nfunction on () { go $1$1; }\non x") == "xx\n");
  CHECK(runs("go() { run never; }") == "");
  CHECK(runs("go() { A=2; }\nA=1; go; run $A") == "2\n");
  CHECK(runs("go() { local A=2; run $A; }\nA=1; go; run $A") == "2\n1\n");
  CHECK(runs("go() { local A; A=2; }\nA=1; go; run $A") == "1\n");
  CHECK(runs("go() { declare -g A=2; }\nA=1; go; run $A") == "2\n");
  CHECK(runs("in() { local A=3; run $A; }\ngo() { typeset A=2; in; run $A; }\nA=1; go; run $A") == "3\n2\n1\n");
  CHECK(refusal("go() { go; }\ngo") == "headroom: s.sh:1: commands within commands are nested deeper than 16 levels");
}

TEST_CASE("what a script's expansions give") {
  CHECK(runs("A=(x \"y z\" w); run ${#A[@]} ${A[1]} \"${A[@]}\"; N=${#A[@]}; run $((N * 2)) ${B:-d} ${B:+e} ${N:+f} ${N+g}") == "3 y z x y z w\n6 d f g\n");
  CHECK(runs("(cd x; A=1); run ${A:-none}; { B=1; }; run $B") == "none\n1\n");
  CHECK(runs("A=1; sh -c 'A=2; run $A'; run $A; eval 'A=3'; run $A") == "2\n1\n3\n");
  CHECK(runs("A=(x \"y z\" w); B=(${N:-\"${A[@]}\"}); run ${#B[@]} \"${B[1]}\"") == "3 y z\n");  // a list in a default's quotes keeps its words
  CHECK(runs("run a &> log; run b 2>&1 | tee -a log; run c > out 2>err; run d &") == "a\nb\nc\nd\n");
  CHECK(runs("run a; exit 0\nrun b") == "a\n");
  CHECK(runs("f() { run a; exit 0; run b; }\nf\nrun c") == "a\n");
  CHECK(runs("eval 'run a; exit 0'; run b") == "a\n");
  CHECK(runs("if [ -z \"$A\" ]; then echo usage; exit 1; fi; run b") == "b\n");  // a value that is missing is asked for where it is used
  CHECK(runs("case x in\n esac\nrun a\nfi\ndone\n}\n)\nrun b") == "a\nb\n");
}

TEST_CASE("a default that is given once stays") {
  CHECK(runs(": \"${N:=36}\"\n: ${H:=4096}\nrun $N $H") == "36 4096\n");
  CHECK(runs("N=2; : ${N:=36}; run $N; E=; : ${E=5} ${E:=6}; run $E") == "2\n6\n");
  CHECK(runs(": ${N:=36}; run $N", {{"N", "4"}}) == "4\n");
  CHECK(runs(": ${A:=1} ${B:=$A$A}; run $B; run ${C:=3} $C") == "11\n3 3\n");
  CHECK(runs("B=${A:=7}; run $A $B") == "7 7\n");
  CHECK(runs("if false; then : ${A:=1}; fi; run ${A:-none}") == "none\n");
  CHECK(runs("if [ -f x ]; then : ${A:=1}; else : ${A:=2}; fi; run $A") == "[$A]\n");
  CHECK(runs("false && : ${A:=1}; run ${A:-none}") == "none\n");
  CHECK(runs("if [ \"${A:=1}\" = 1 ]; then run $A; fi") == "1\n");
  CHECK(runs("(: ${A:=1}); run ${A:-none}") == "none\n");
  CHECK(runs(": ${A:=$(nproc)}; run $A") == "[$(nproc)]\n");
}

TEST_CASE("a script's own files") {
  const auto files = [](const std::string& script) { return io::read_shell(script, "s.sh").files; };
  const auto one = files("Z=3\ncat > ds_$Z.json <<EOF\n{\"stage\": $Z, \"a\": $((Z+1)), \"b\": \"\\$Z\"}\nEOF\nrun x");
  REQUIRE(one.size() == 1);
  CHECK(one[0].path == "ds_3.json");
  CHECK(one[0].text == "{\"stage\": 3, \"a\": 4, \"b\": \"$Z\"}\n");
  CHECK(one[0].line == 3);
  CHECK(one[0].sure);
  CHECK(files("cat <<'EOF' > a.json\n$Z \"q\"\nEOF\n")[0].text == "$Z \"q\"\n");
  CHECK(files("cat <<EOF | tee a.json\nx\nEOF\n")[0].path == "a.json");
  CHECK(files("tee a.json <<EOF > /dev/null\nx\nEOF\n")[0].path == "a.json");
  CHECK(files("echo '{\"a\": 1}' > a.json\necho more >> a.json")[0].text == "{\"a\": 1}\nmore");
  CHECK_FALSE(files("if [ -f x ]; then echo 1 > a.json; fi")[0].sure);
  CHECK(files("if false; then echo 1 > a.json; fi").empty());
  CHECK(runs("sbatch <<EOF\n#!/bin/bash\nrun inside\nEOF\nrun outside") == "inside\noutside\n");
}

TEST_CASE("scripts that are made to grow are refused, or read in steps that grow as they do") {
  const auto times = [](const std::string& piece, int n) {
    std::string r;
    for (int i = 0; i < n; ++i) r += piece;
    return r;
  };
  const auto stops = [](const std::string& script) { return refusal(script).find("expand to more than 4 MiB") != std::string::npos; };
  CHECK(stops("A=(" + times("x ", 50'000) + ")\n" + times("run ${A[@]}\n", 1'000)));
  CHECK(stops(times("for i in 1 2 3 4 5 6 7 8; do ", 20) + "run x; " + times("done; ", 20)));
  std::string many;
  for (int i = 0; i < 40'000; ++i) many += "V" + std::to_string(i) + "=1\n";
  CHECK(refusal(many + times("eval run\n", 5'000)).empty());  // forty thousand variables are not copied five thousand times
  CHECK(refusal(many + times("run ${X:-$V1}\n", 20'000)).empty());
  CHECK(refusal(times("if true; then ", 100)).find("nested deeper than 64 levels") != std::string::npos);
}

}  // namespace test_shell
