// Distributed under the Boost Software License, Version 1.0.
// A command of a shell script as it stands, the commands in a string, and the files that a script writes from its own text.
#pragma once

#include <headroom/io/syntax/shell_edits.hpp>
#include <headroom/io/syntax/shell_flow.hpp>
#include <headroom/io/syntax/shell_words.hpp>

namespace headroom::io::detail {

/// A command as it stands: its words, the file that its output goes to, what stands between << and its end.
struct shell_line {
  std::vector<shell_word> words{};
  struct array {
    std::string named;  ///< with its = or +=
    std::vector<shell_word> items;
  };
  std::vector<array> arrays{};  ///< NAME=(…)
  std::optional<shell_word> target{};
  bool appends{};
  std::optional<std::string> document{};
  int document_line{};
  bool apart{};  ///< in a shell of its own: one of a pipe, or behind it stands &
};

/// How many words stand before a command's own name and settings: env, nohup and the like, with their flags and what belongs to these.
inline std::size_t words_before_command(const std::vector<shell_word>& words) {
  static constexpr std::string_view before[] = {"env", "time", "exec", "nohup"}, with_value[] = {"-u", "-C", "-a"};
  const auto one_of = [](const auto& list, const shell_word& w) { return std::find(std::begin(list), std::end(list), w.text) != std::end(list); };
  std::size_t n = words[0].text == "-p" ? 1 : 0;  // time -p
  while (n < words.size() && one_of(before, words[n])) {
    ++n;
    while (n < words.size() && words[n].text.size() > 1 && words[n].text[0] == '-' && words[n].text[1] != '-') n = std::min(words.size(), n + (one_of(with_value, words[n]) ? 2U : 1U));
  }
  return n;
}
/// LIST[…]=value: the list's name.
inline std::string listed_in(std::string_view word) {
  const auto open = word.find('['), close = word.find(']');
  if (open == 0 || open == std::string_view::npos || close == std::string_view::npos || !std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(open), shell_name_char)) return {};
  const auto behind = word.substr(close + 1);
  return behind.starts_with("=") || behind.starts_with("+=") ? std::string{word.substr(0, open)} : std::string{};
}

/// A command in a string, with its line: sh -c "…", eval "…". Empty where there is none.
struct shell_string {
  shell_word text{};
  std::size_t at{};  ///< the word that starts it
};
inline shell_string command_in_string(const shell_command& c) {
  for (std::size_t i = 0; i < c.words.size(); ++i) {
    const auto& w = c.words[i].text;
    std::string inside;
    if (w == "eval" && i == 0)
      for (std::size_t k = 1; k < c.words.size(); ++k) inside += c.words[k].text + " ";
    else if (w == "sh" || w == "bash" || w.ends_with("/sh") || w.ends_with("/bash")) {
      auto k = i + 1;
      while (k < c.words.size() && c.words[k].text.starts_with("-") && c.words[k].text.find('c') == std::string::npos) ++k;
      if (k + 1 < c.words.size() && c.words[k].text.starts_with("-")) inside = c.words[k + 1].text;
    }
    if (!inside.empty()) return {{inside, c.words[std::min(i + 1, c.words.size() - 1)].line}, i};
  }
  return {};
}

/// The files that a script writes itself.
class shell_written_files {
 public:
  shell_written_files(shell_cursor& cursor, shell_script& script, shell_flow& flow) : c_(&cursor), script_(&script), flow_(&flow) {}

  /// sed s/…/…/ OTHER > FILE, by itself or as parts of a pipe; sed -i s/…/…/ FILE; cp OTHER FILE.
  bool changes(const shell_line& line, const shell_command& c) {
    auto piped = std::exchange(piped_, {});
    const auto& name = c.words[0].text;
    const auto target = [&] { return line.target ? line.target->shown() : std::string{}; };
    if (name == "cat" && c.words.size() == 2 && line.apart && !line.target) return piped_ = shell_file{.line = c.words[0].line, .from = c.words[1].shown()}, true;
    if (name == "cp" || name == "mv") {
      const std::size_t from = c.words.size() > 3 && c.words[1].text == "-f" ? 2 : 1;
      if (c.words.size() == from + 2) make({.path = c.words[from + 1].shown(), .line = c.words[0].line, .from = c.words[from].shown()});
      return false;
    }
    if (name == "tee" && c.words.size() == 2 && piped) {
      piped->path = c.words[1].shown();
      return make(std::move(*piped)), true;
    }
    if (name != "sed") return false;
    auto said = sed_of(c.words);
    if (said.file.empty() && !piped) return false;
    shell_file f = said.file.empty() ? std::move(*piped) : shell_file{.line = c.words[0].line, .from = said.file};
    for (auto& e : said.edits) f.edits.push_back(std::move(e));
    f.plain = f.plain && said.plain;
    f.path = said.in_place ? said.file : target();
    if (f.path.empty()) piped_ = std::move(f);
    else make(std::move(f));
    return true;
  }
  /// cat > FILE <<END, tee FILE <<END, echo … > FILE.
  bool writes(const shell_line& line, const shell_command& c) {
    std::string text;
    const auto& name = c.words[0].text;
    if (name == "cat" && line.document)
      text = *line.document;
    else if (name == "echo" || name == "printf")
      for (std::size_t i = 1; i < c.words.size(); ++i) text += (i > 1 ? " " : "") + c.words[i].text;
    else
      return false;
    write(*line.target, std::move(text), line.document ? line.document_line : c.words[0].line, line.appends);
    return true;
  }
  void write(const shell_word& target, std::string text, int line, bool appends) {
    const auto path = target.shown();
    auto it = named(path);
    const bool sure = flow_->runs() == certainty::yes;
    c_->spend(text.size());
    if (it == script_->files.end()) {
      if (script_->files.size() >= most_written_files) c_->stop("the script writes more than " + std::to_string(most_written_files) + " files");
      script_->files.push_back({.path = path, .text = std::move(text), .line = line, .sure = sure});
      return;
    }
    if (!appends) it->from.clear(), it->edits.clear(), it->plain = true;
    it->sure = sure && (it->sure || !appends);
    it->line = line;
    if (appends) it->text.append("\n").append(text);
    else it->text = std::move(text);
  }

 private:
  /// The one of a path: ./FILE is FILE.
  [[nodiscard]] std::vector<shell_file>::iterator named(std::string_view path) {
    const auto bare = [](std::string_view p) {
      while (p.starts_with("./")) p.remove_prefix(2);
      return p;
    };
    return std::find_if(script_->files.begin(), script_->files.end(), [&](const shell_file& g) { return bare(g.path) == bare(path); });
  }
  /// A configuration made of another one. What the script wrote itself is changed here and now.
  void make(shell_file f) {
    const auto end = f.path.substr(std::min(f.path.rfind('.'), f.path.size()));
    if (end != ".json" && end != ".yaml" && end != ".yml" && end != ".toml") return;
    f.sure = flow_->runs() == certainty::yes;
    for (const auto& e : f.edits) c_->spend(e.word.size() + e.by.size());
    if (const auto first = named(f.from); first != script_->files.end()) {
      c_->spend(first->text.size());
      if (first->from.empty()) f.text = edited(first->text, f.edits, c_->source + ":" + std::to_string(c_->line)), f.from.clear();
      else f.from = first->from, f.edits.insert(f.edits.begin(), first->edits.begin(), first->edits.end());
      f.plain = f.plain && first->plain;
      f.sure = f.sure && first->sure;
    }
    if (const auto same = named(f.path); same != script_->files.end()) *same = std::move(f);
    else if (script_->files.size() < most_written_files) script_->files.push_back(std::move(f));
  }

  shell_cursor* c_;
  shell_script* script_;
  shell_flow* flow_;
  std::optional<shell_file> piped_{};  ///< what the command before hands on
};

}  // namespace headroom::io::detail
