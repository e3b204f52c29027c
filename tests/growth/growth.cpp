// Distributed under the Boost Software License, Version 1.0.
// What a hostile text costs to read grows as the text does: each shape is read at three sizes, each twice the one before, in steps that are
// counted, not timed: the basic blocks that run (-fsanitize-coverage=trace-pc), and the bytes that are allocated, copied, compared and
// searched (counted.c).
// A shape that reaches a limit costs what the limit allows, and then no more.
#include <headroom/diagnose/message.hpp>
#include <headroom/estimate.hpp>
#include <headroom/io/import.hpp>
#include <headroom/io/measured.hpp>
#if HEADROOM_HAS_YAML
#include <headroom/io/yaml.hpp>
#endif
#if HEADROOM_HAS_TOML
#include <headroom/io/toml.hpp>
#endif

#include <cstdio>
#include <cstdlib>
#include <new>

extern "C" std::size_t steps;  // counted.c

void* operator new(std::size_t size) {
  steps += 8 + size / 8;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc{};
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

using namespace headroom;
using std::to_string;

std::string times(std::size_t n, std::string_view piece) {
  std::string r;
  for (std::size_t i = 0; i < n; ++i) r += piece;
  return r;
}
/// The piece with every # replaced by a number of its own.
std::string numbered(std::size_t n, std::string_view piece) {
  std::string r;
  for (std::size_t i = 0; i < n; ++i)
    for (const char c : piece) c == '#' ? r += to_string(i) : r += c;
  return r;
}

/// So many files, each with what it inherits from, and a last one that says something.
std::string inherited(std::size_t n, std::string (*from)(std::size_t)) {
  std::string r;
  for (std::size_t i = 0; i < n; ++i) r += "a" + to_string(i) + ".yaml\ndefaults: " + from(i) + "\n";
  for (const auto last : {n, n + 1}) r += "a" + to_string(last) + ".yaml\npolicy: {model_name: x}\n";
  return r;
}

struct shape {
  const char* name;
  const char* file;  ///< what its end says it is; "log" is for read_oom(), "record" for read_measured(), "job" for estimate(); "files": several, each behind its name in a line
  std::string (*text)(std::size_t n);
};

const shape shapes[] = {
    {"an array that is used as a whole", "a.sh", [](std::size_t n) { return "A=(" + times(n, "x ") + ")\n" + times(n, "run ${A[@]}\n"); }},
    {"an array whose items are used", "a.sh", [](std::size_t n) { return "A=(" + times(n, "x ") + ")\n" + times(n, "run ${A[7]}\n"); }},
    {"an array that is counted", "a.sh", [](std::size_t n) { return "A=(" + times(n, "x ") + ")\n" + times(n, "run ${#A[@]}\n"); }},
    {"an array that grows", "a.sh", [](std::size_t n) { return times(n, "A+=(x)\n"); }},
    {"an array that branches set", "a.sh", [](std::size_t n) { return "A=(" + times(n, "x ") + ")\n" + times(n, "if $U; then B=1; A+=(y); fi\n"); }},
    {"a word that grows", "a.sh", [](std::size_t n) { return times(n, "A+=x\n"); }},
    {"arguments that are handed on", "a.sh", [](std::size_t n) { return "g() { true; }\nf() {\n" + times(n / 8, "g \"$@\"\n") + "}\nf " + times(n, "x ") + "\n"; }},
    {"defaults over many variables", "a.sh", [](std::size_t n) { return numbered(n, "V#=1\n") + times(n, "run ${X:-$V1}\n"); }},
    {"evals over many variables", "a.sh", [](std::size_t n) { return numbered(n, "V#=1\n") + times(n, "eval run\n"); }},
    {"settings before a string of commands", "a.sh", [](std::size_t n) { return times(n, "A=1 ") + "sh -c '" + times(n, "run;") + "'\n"; }},
    {"a starter of a string of commands", "a.sh", [](std::size_t n) { return "srun " + times(n, "-x ") + "sh -c '" + times(n, "run;") + "'\n"; }},
    {"branches of a choice", "a.sh", [](std::size_t n) { return "case $U in\n" + numbered(n, "a#) V#=1;;\n") + "esac\n"; }},
    {"patterns", "a.sh", [](std::size_t n) { return "case " + times(n, "a") + " in *" + times(n / 2, "a") + "b) run;; esac\n"; }},
    {"sums of a long number", "a.sh", [](std::size_t n) { return "A=" + times(n, "0") + "1\nB=$((" + times(n, "A+") + "1))\n"; }},
    {"files that are written", "a.sh", [](std::size_t n) { return numbered(n, "echo x > f#\n"); }},
    {"a file that grows", "a.sh", [](std::size_t n) { return times(n, "echo xxxxxxxx >> f\n"); }},
    {"loops", "a.sh", [](std::size_t n) { return "for i in " + times(200, "x ") + "; do\n" + times(n, "run\n") + "done\n"; }},
    {"functions that are called", "a.sh", [](std::size_t n) { return "f() {\n" + times(n, "A=1\n") + "}\n" + times(n, "f\n"); }},
    {"quotes that are not closed", "a.sh", [](std::size_t n) { return times(n, "\"'"); }},
    {"documents", "a.sh", [](std::size_t n) { return times(n, "cat <<END > f\nx\nEND\n"); }},
    {"documents that do not end", "a.sh", [](std::size_t n) { return "cat " + times(n, "<<END "); }},
    {"brackets of sums", "a.sh", [](std::size_t n) { return times(n, "$(( "); }},
    {"commands that start nothing", "a.sh", [](std::size_t n) { return times(n, "deepspeed\n"); }},
    {"trainings", "a.sh", [](std::size_t n) { return numbered(n, "deepspeed train.py --lr #\n"); }},
    {"arguments of a training", "a.sh", [](std::size_t n) { return "torchrun pretrain_gpt.py " + numbered(n, "--a# 1 "); }},
    {"the same argument", "a.sh", [](std::size_t n) { return "deepspeed train.py " + times(n, "--bf16 true "); }},
    {"overrides", "a.sh", [](std::size_t n) { return "tune run full_finetune_single_device --config x " + numbered(n, "a#=1 "); }},
    {"keys that a command of verl's takes out", "a.sh", [](std::size_t n) { return "python3 -m verl.trainer.main_ppo " + numbered(n, "~a.k# ") + "\n"; }},
    {"keys that a command of verl's adds", "a.sh", [](std::size_t n) { return "python3 -m verl.trainer.main_ppo " + numbered(n, "+a.k#=[1,2] ") + "\n"; }},
    {"sections within sections of a command", "a.sh", [](std::size_t n) { return "tune run full_finetune_single_device --config x " + times(n, "a.") + "a=1\n"; }},
    {"sections within sections of NeMo-RL's", "a.sh", [](std::size_t n) { return "uv run examples/run_sft.py " + times(n, "a.") + "a=1\n"; }},
    {"braces", "a.sh", [](std::size_t n) { return "run a=" + times(n, "{") + "\n"; }},
    {"braces that end at once", "a.sh", [](std::size_t n) { return "run a=" + times(n, "{") + "}\n"; }},
    {"braces of several words", "a.sh", [](std::size_t n) { return "run " + times(n, "{a,b}") + "\n"; }},
    {"directives", "a.sh", [](std::size_t n) { return times(n, "#SBATCH --nodes=2\n") + "deepspeed train.py\n"; }},
    {"words of a directive", "a.sh", [](std::size_t n) { return "#SBATCH " + times(n, "--nodes 2 ") + "\ndeepspeed train.py\n"; }},
    {"settings", ".env", [](std::size_t n) { return numbered(n, "V#=1\n"); }},
    {"settings that are read", ".env", [](std::size_t n) { return times(n, "CUDA_VISIBLE_DEVICES=0,1\n"); }},
    {"devices", ".env", [](std::size_t n) { return "CUDA_VISIBLE_DEVICES=" + numbered(n, "#,"); }},
#if HEADROOM_HAS_YAML
    {"aliases of a list", "a.yaml", [](std::size_t n) { return "a: &a [" + times(n, "x, ") + "]\nb:\n" + times(n, "- *a\n"); }},
    {"aliases of aliases", "a.yaml", [](std::size_t n) { return "a: &a0 [x]\nb:\n" + [&] { std::string r; for (std::size_t i = 1; i < n / 8; ++i) r += "- &a" + to_string(i) + " [*a" + to_string(i - 1) + ", *a" + to_string(i - 1) + "]\n"; return r; }(); }},
    {"anchors within anchors", "a.yaml", [](std::size_t n) { return numbered(60, "- &a# [") + times(n, "x, ") + times(60, "]"); }},
    {"flow brackets", "a.yaml", [](std::size_t n) { return times(n, "["); }},
    {"flow braces", "a.yaml", [](std::size_t n) { return times(n, "{a: "); }},
    {"a flow list", "a.yaml", [](std::size_t n) { return "a: [" + times(n, "x, ") + "]\n"; }},
    {"a flow list of lines", "a.yaml", [](std::size_t n) { return "a: [\n" + times(n, " x,\n") + "]\n"; }},
    {"lists in lines", "a.yaml", [](std::size_t n) { return times(n, "- "); }},
    {"keys in lines", "a.yaml", [](std::size_t n) { return times(n, "? "); }},
    {"deep long keys", "a.yaml", [](std::size_t n) { return times(60, "{" + times(200, "k") + ": ") + "{" + numbered(n, "a#: 1, ") + times(61, "}"); }},
    {"the same key", "a.yaml", [](std::size_t n) { return times(n, "a: 1\n"); }},
    {"keys of a trainer", "a.yaml", [](std::size_t n) { return "per_device_train_batch_size: 1\n" + numbered(n, "a#: 1\n"); }},
    {"configurations that inherit, one from the next", "files", [](std::size_t n) { return inherited(n / 4, [](std::size_t i) { return "a" + to_string(i + 1) + ".yaml"; }); }},
    {"configurations that inherit from two", "files", [](std::size_t n) { return inherited(n / 4, [](std::size_t i) { return "[a" + to_string(i + 1) + ".yaml, a" + to_string(i + 2) + ".yaml]"; }); }},
    {"a configuration that inherits from many", "files", [](std::size_t n) { return numbered(n / 4, "a#.yaml\npolicy: {model_name: x}\n") + "run.yaml\ndefaults: [" + numbered(n / 4, "a#.yaml, ") + "]\n"; }},
    {"a configuration that inherits from one many times", "files", [](std::size_t n) { return "a.yaml\npolicy: {model_name: x}\nrun.yaml\ndefaults: [" + times(n, "a.yaml, ") + "]\n"; }},
    {"values that stand in values", "a.yaml", [](std::size_t n) { return "policy:\n  model_name: x\n  train_global_batch_size: ${policy.v0}\n" + [&] { std::string r; for (std::size_t i = 0; i < n; ++i) r += "  v" + to_string(i) + ": ${policy.v" + to_string(i + 1) + "}\n"; return r; }(); }},
    {"a long scalar", "a.yaml", [](std::size_t n) { return "a: " + times(n, "x ") + "\n"; }},
    {"a scalar of many lines", "a.yaml", [](std::size_t n) { return "a: x\n" + times(n, "  x\n"); }},
    {"a literal of empty lines", "a.yaml", [](std::size_t n) { return "a: |\n" + times(n, "\n") + "  x\n"; }},
    {"tags", "a.yaml", [](std::size_t n) { return "a: " + times(n, "!"); }},
    {"anchors without a value", "a.yaml", [](std::size_t n) { return times(n, "&a "); }},
    {"comments", "a.yaml", [](std::size_t n) { return times(n, "#\n"); }},
    {"spaces", "a.yaml", [](std::size_t n) { return "a:" + times(n, " \n"); }},
    {"quotes", "a.yaml", [](std::size_t n) { return "a: \"" + times(n, "\\n\\\n") + "\"\n"; }},
#endif
#if HEADROOM_HAS_TOML
    {"dotted keys", "a.toml", [](std::size_t n) { return times(n, "a.") + "a = 1\n"; }},
    {"tables", "a.toml", [](std::size_t n) { return numbered(n, "[a#]\nb = 1\n"); }},
    {"lists of tables", "a.toml", [](std::size_t n) { return times(n, "[[a]]\nb = 1\n"); }},
    {"brackets", "a.toml", [](std::size_t n) { return "a = " + times(n, "["); }},
    {"a list", "a.toml", [](std::size_t n) { return "a = [" + times(n, "1, ") + "]\n"; }},
    {"keys", "a.toml", [](std::size_t n) { return "[training]\n" + numbered(n, "a# = 1\n"); }},
#endif
    {"brackets", "a.json", [](std::size_t n) { return times(n, "["); }},
    {"objects", "a.json", [](std::size_t n) { return times(n, "{\"a\":"); }},
    {"a list", "a.json", [](std::size_t n) { return "[" + times(n, "1,") + "1]"; }},
    {"keys", "a.json", [](std::size_t n) { return "{\"zero_optimization\": 1" + numbered(n, ",\"a#\":1") + "}"; }},
    {"deep long keys", "a.json", [](std::size_t n) { return times(60, "{\"" + times(200, "k") + "\":") + "{\"b\": 1" + numbered(n, ",\"a#\":1") + times(61, "}"); }},
    {"weights", "a.json", [](std::size_t n) { return "{\"weight_map\": {\"b\": \"x\"" + numbered(n, ",\"a.#\":\"x\"") + "}}"; }},
    {"a string", "a.json", [](std::size_t n) { return "{\"model_type\": \"" + times(n, "\\u0041") + "\"}"; }},
    {"no JSON", "a.json", [](std::size_t n) { return "{\"a\": " + times(n, "x"); }},
    {"experts in a layer that never comes", "job", [](std::size_t n) { return R"({"model": {"base": "qwen3-next-80b-a3b", "experts": {"every": )" + to_string(n * 500'000'000) + R"(}}, "framework": "deepspeed", "sharding": {"kind": "zero", "stage": 3}, "batch": {"sequence": 4096}})"; }},
    {"layers of a pattern", "job", [](std::size_t n) { return R"({"model": {"hidden": 64, "heads": 4, "ffn": 64, "vocab": 100, "layers": )" + to_string(n) + R"(, "pattern": ["mamba2", "attention"], "ssm": {"heads": 4, "head_dim": 16, "state": 16, "groups": 1, "conv": 4, "chunk": 16}}, "framework": "hf-trainer", "batch": {"sequence": 128}})"; }},
    {"messages", "log", [](std::size_t n) { return times(n, "Tried to allocate "); }},
    {"a traceback", "log", [](std::size_t n) { return times(n, "Traceback (most recent call last)\n") + times(n, "in in in \n") + "Tried to allocate 2.00 GiB (GPU 0; 1 GiB total capacity; "; }},
    {"numbers", "log", [](std::size_t n) { return "DefaultCPUAllocator: can't allocate memory: you tried to allocate " + times(n, "9"); }},
    {"nothing known", "log", [](std::size_t n) { return times(n, "exit Tried Default CUDA "); }},
    {"values of a record", "record", [](std::size_t n) { return "{\"id\": \"x\"" + numbered(n, ",\"a#\":1") + "}"; }},
};

/// The files that stand in a text one after the other, each behind a line with its name.
std::vector<io::import_input> files_in(const std::string& text, const io::import_settings& with) {
  std::vector<io::import_input> all;
  std::string name, body;
  const auto end = [&] {
    if (!name.empty()) all.push_back(io::input_of(body, name, io::file_kind::unknown, with));
    body.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    if (line.ends_with(".yaml") && line.find(' ') == std::string::npos) {
      end();
      name = line;
    } else {
      body += line + "\n";
    }
  }
  end();
  return all;
}

/// The steps that a text takes; what comes of it is another test's.
std::size_t cost(const shape& s, std::size_t n) {
  const auto text = s.text(n);
  io::import_settings with{.base = "/nonexistent/folder"};
#if HEADROOM_HAS_YAML
  with.yaml = io::parse_yaml;
#endif
#if HEADROOM_HAS_TOML
  with.toml = io::parse_toml;
#endif
  const auto before = steps;
  try {
    const std::string_view file = s.file;
    if (file == "log") {
      (void)read_oom(text);
    } else if (file == "record") {
      (void)io::read_measured(text, "record");
    } else if (file == "job") {
      (void)estimate(io::read_job(io::parse_json(text, "job"), io::no_files));
    } else if (file == "files") {
      io::draft d;
      io::import_files(d, files_in(text, with), with);
    } else {
      io::draft d;
      io::import_files(d, {io::input_of(text, s.file, io::file_kind::unknown, with)}, with);
    }
  } catch (const headroom::error&) {
  }
  return steps - before;
}

}  // namespace

int main() {
  int failed = 0;
  for (const auto& s : shapes) {
    std::size_t most = 0, last = cost(s, 2'000);
    for (const std::size_t n : {4'000U, 8'000U}) {
      const auto now = cost(s, n);
      most = std::max(most, 100 * now / last);
      last = now;
    }
    const bool grows = most >= 250;
    failed += grows;
    std::printf("%s %s, %s: %.1f million steps at the last, %.2f times those of half of it\n", grows ? "FAILED" : "ok    ", s.file, s.name, static_cast<double>(last) / 1e6, static_cast<double>(most) / 100);
  }
  return failed == 0 ? 0 : 1;
}
