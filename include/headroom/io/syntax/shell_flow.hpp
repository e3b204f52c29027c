// Distributed under the Boost Software License, Version 1.0.
// Which lines of a shell script run: if, case, loops and functions. What an open branch sets to another value is open behind it.
#pragma once

#include <headroom/io/syntax/shell_test.hpp>

namespace headroom::io::detail {

enum class shell_block : std::uint8_t { branch, choice, loop, items, function, group, command };

struct shell_frame {
  shell_block kind{};
  certainty outer{certainty::yes};    ///< whether the lines around it run
  certainty runs{certainty::yes};     ///< whether those that are read now do
  certainty earlier{certainty::no};   ///< whether an earlier branch of it did
  bool inside{};              ///< a branch has begun that has not ended
  std::size_t mark{};         ///< the changes before the branch
  using values = std::map<std::string, std::optional<shell_variable>>;
  std::vector<values> outcomes{};  ///< of its open branches
  bool until{};                    ///< a loop runs while its test fails
  std::optional<std::string> subject{};  ///< of a choice, where it is known
  std::string name{};              ///< of a loop's variable, a function
  std::vector<shell_word> items{};
  std::size_t next{};              ///< item of a loop
  certainty status{certainty::open};  ///< before a group, which stays where that does not run
  bool denied{};                   ///< ! stands before a group
  bool apart{};                    ///< a function's body stands in ( … )
  bool skips{};                    ///< the rest of a loop's body, this time
  std::size_t body{};              ///< where a loop's or a function's lines begin
  int line{};
};

class shell_flow {
 public:
  shell_flow(shell_state& state, certainty outer, bool inner) : state_(&state), outer_(outer), inner_(inner) {}

  [[nodiscard]] certainty runs() const { return frames_.empty() ? outer_ : frames_.back().runs; }
  [[nodiscard]] bool nested() const { return !frames_.empty() || inner_; }
  /// Whether a line here surely runs, and as often as the text itself.
  [[nodiscard]] bool plain() const { return frames_.empty() && outer_ == certainty::yes; }
  /// Whether what ends the shell ends the text that is read: it surely runs, in no loop, group or function, and no guess says so.
  [[nodiscard]] bool ends_all() const {
    return runs() == certainty::yes && (frames_.empty() || !state_->guessed) && std::all_of(frames_.begin(), frames_.end(), [](const auto& f) { return f.kind == shell_block::branch || f.kind == shell_block::choice; });
  }
  [[nodiscard]] shell_frame* top(shell_block kind) { return !frames_.empty() && frames_.back().kind == kind ? &frames_.back() : nullptr; }
  /// Whether what is read here may run later, when a function is called.
  [[nodiscard]] bool in_function() const {
    return std::any_of(frames_.begin(), frames_.end(), [](const auto& f) { return f.kind == shell_block::function; });
  }
  /// The values of the loops that are being read: "LR=1e-4 SEED=1".
  [[nodiscard]] std::string loops() const {
    std::string r;
    for (const auto& f : frames_)
      if (f.kind == shell_block::items && f.items.size() > 1) r += (r.empty() ? "" : " ") + f.name + "=" + f.items[f.next - 1].shown();
    return r;
  }

  /// continue, and break (`last`): what is left of the innermost loop's body does not run where that surely is said.
  void skip(bool last) {
    auto loop = frames_.size();
    while (loop > 0 && (frames_[loop - 1].kind == shell_block::branch || frames_[loop - 1].kind == shell_block::choice)) --loop;
    if (loop == 0 || frames_[loop - 1].kind != shell_block::items || runs() != certainty::yes) return;
    auto& f = frames_[loop - 1];
    f.skips = true;
    if (last) f.next = f.items.size();
    for (auto i = loop - 1; i < frames_.size(); ++i) frames_[i].runs = certainty::no;
    for (auto i = loop; i < frames_.size(); ++i) frames_[i].outer = certainty::no;
  }
  shell_frame& enter(shell_block kind) {
    check_depth(frames_.size() + 1, state_->source);
    frames_.push_back({.kind = kind, .outer = runs(), .runs = runs(), .mark = state_->changes.size()});
    return frames_.back();
  }
  /// The next branch, which runs where its test holds and no earlier one ran.
  void branch(certainty holds) {
    auto& f = frames_.back();
    const auto here = f.earlier == certainty::yes ? certainty::no : f.earlier == certainty::open ? both(holds, certainty::open) : holds;
    f.earlier = either(f.earlier, holds);
    f.runs = both(f.outer, here);
    f.inside = true;
    f.mark = state_->changes.size();
  }
  /// Its end: what it set is put aside where it may not have run.
  void end_branch() {
    auto& f = frames_.back();
    if (f.inside && f.runs == certainty::open) {
      shell_frame::values set;
      for (auto i = f.mark; i < state_->changes.size(); ++i) {
        const auto it = state_->variables.find(state_->changes[i].name);
        set[state_->changes[i].name] = it == state_->variables.end() ? std::nullopt : std::optional{it->second};
      }
      state_->undo(f.mark);
      f.outcomes.push_back(std::move(set));
    }
    f.inside = false;
    f.runs = f.outer;
  }
  void leave(int line) {
    auto f = std::move(frames_.back());
    frames_.pop_back();
    std::set<std::string> names;
    for (const auto& o : f.outcomes)
      for (const auto& [name, value] : o) names.insert(name);
    state_->spend(names.size() * f.outcomes.size(), line);
    for (const auto& name : names) merge(f, name, line);
    if (!nested()) state_->changes.clear();
  }

 private:
  void merge(const shell_frame& f, const std::string& name, int line) {
    const auto it = state_->variables.find(name);
    if (it != state_->variables.end()) state_->spend(it->second.cost(), line);
    const auto before = it == state_->variables.end() ? std::nullopt : std::optional{it->second};
    if (state_->given.contains(name)) return;  // who gives a value knows which branch runs
    std::optional<shell_variable> one;
    bool first = true, same = true;
    const auto see = [&](const std::optional<shell_variable>& v) {
      same = same && (first || v == one);
      if (first) one = v;
      first = false;
    };
    for (const auto& o : f.outcomes) {
      const auto said = o.find(name);
      see(said == o.end() ? before : said->second);
    }
    if (f.earlier != certainty::yes) see(before);
    if (same && !one) return;
    state_->set(name, same ? *one : shell_variable{shell_cursor::open("$" + name, line)}, nested());
  }

  shell_state* state_;
  certainty outer_;
  bool inner_;  ///< a string of commands within a script: its changes are the outer one's, too
  std::vector<shell_frame> frames_;
};

}  // namespace headroom::io::detail
