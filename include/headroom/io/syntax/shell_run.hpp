// Distributed under the Boost Software License, Version 1.0.
// Which commands of a shell script run, and in what order: if, case, for, while, functions, && and ||.
#pragma once

#include <headroom/io/syntax/shell_commands.hpp>

namespace headroom::io::detail {

/// How a command hangs together with the next one.
enum class shell_joint : std::uint8_t { end, on_success, on_failure, pipe };

class shell_run {
 public:
  shell_run(shell_cursor& cursor, shell_script& script, certainty outer, bool inner, shell_commands::reader inside)
      : c_(&cursor), flow_(*cursor.state, outer, inner), commands_(cursor, script, flow_, std::move(inside)) {}

  [[nodiscard]] certainty runs() const { return flow_.runs(); }
  [[nodiscard]] std::string loops() const { return flow_.loops(); }
  void function_named(std::string name) { function_ = std::move(name); }

  /// A word at a command's beginning that says which lines run. False: it is a word like any other.
  bool reserved(std::string_view w) {
    if (w == "!") return negated_ = !negated_, true;
    if (w == "time") return true;
    if (w == "if") return begin(shell_block::branch), true;
    if (w == "while" || w == "until") return begin(shell_block::loop).until = w == "until", true;
    if (w == "{" || w == "(") return open_group(w), true;
    if (w == "then") return next_branch(shell_block::branch, status_), true;
    if (w == "elif" || w == "else") {
      if (flow_.top(shell_block::branch) != nullptr) flow_.end_branch();
      if (w == "else") next_branch(shell_block::branch, certainty::yes);
      return true;
    }
    if (w == "do") return begin_loop(), true;
    if (w == "fi") return end(shell_block::branch), true;
    if (w == "esac") return end(shell_block::choice), true;
    if (w == "done") return end_loop(), true;
    if (w == "}" || w == ")") return close_group(w), true;
    return false;
  }

  /// case WORD in
  void choose(const shell_word& subject) {
    auto& f = enter(shell_block::choice);
    if (f.runs != certainty::no) f.subject = commands_.settled()(subject);
  }
  [[nodiscard]] bool chooses() { return flow_.top(shell_block::choice) != nullptr; }
  /// The patterns before a choice's commands.
  void patterns(const std::vector<shell_word>& all) {
    auto* f = flow_.top(shell_block::choice);
    if (f == nullptr) return;
    auto holds = certainty::no;
    for (const auto& p : all) {
      const bool plain = p.quoted && !p.bare;  // what stands in quotes is no pattern
      const auto same = p.text == "*" && !plain                             ? std::optional{true}
                        : !f->subject || !p.known() || (!plain && p.sealed) ? std::nullopt
                        : plain                                             ? std::optional{*f->subject == p.text}
                                                                            : commands_.settled().matches(*f->subject, p.text);
      holds = either(holds, same ? certainty_of(*same) : certainty::open);
    }
    flow_.branch(holds);
  }
  void end_choice() {
    if (chooses()) flow_.end_branch();
  }

  void command(const shell_line& line, shell_joint then) {
    const auto defaults = std::exchange(c_->state->defaults, {});
    if (line.words.empty() && line.arrays.empty()) {
      if (then == shell_joint::on_success || then == shell_joint::on_failure) joint_ = then;  // behind a block
      return;
    }
    if (!line.words.empty() && (line.words[0].text == "for" || line.words[0].text == "select")) return remember_loop(line.words);
    const auto t = next_runs();
    if (t == certainty::no && joint_ == shell_joint::end) commands_.pass_over(line);
    if (t != certainty::no) {
      const bool alone = t == certainty::open && flow_.runs() != certainty::open;
      if (alone) {
        flow_.enter(shell_block::command);
        flow_.branch(certainty::open);
      }
      for (const auto& [name, value] : defaults) {
        c_->spend(value.cost());
        c_->state->set(name, value, flow_.nested());
      }
      auto s = commands_.execute(line, t == certainty::yes && (joint_ == shell_joint::end || !c_->state->guessed));
      if (alone) {
        flow_.end_branch();
        flow_.leave(c_->line);
      }
      if (then != shell_joint::pipe) {
        if (negated_) s = detail::negated(s);
        status_ = joint_ == shell_joint::on_success ? both(status_, s) : joint_ == shell_joint::on_failure ? either(status_, s) : s;
      }
    }
    if (then == shell_joint::pipe) return;
    negated_ = false;
    joint_ = then;
  }
 private:
  shell_frame& begin(shell_block kind) {
    auto& f = enter(kind);
    status_ = certainty::open;
    return f;
  }
  /// A block behind && or || runs where a command there would.
  shell_frame& enter(shell_block kind) {
    const auto t = next_runs();
    joint_ = shell_joint::end;
    auto& f = flow_.enter(kind);
    f.outer = f.runs = t;
    return f;
  }
  void next_branch(shell_block kind, certainty holds) {
    if (flow_.top(kind) != nullptr) flow_.branch(holds);
  }
  void end(shell_block kind) {
    status_ = certainty::open;
    if (flow_.top(kind) == nullptr) return;
    flow_.end_branch();
    flow_.leave(c_->line);
  }
  /// Whether what comes next runs, by what stands before it.
  [[nodiscard]] certainty next_runs() const {
    if (joint_ == shell_joint::on_success) return both(flow_.runs(), status_);
    return joint_ == shell_joint::on_failure ? both(flow_.runs(), negated(status_)) : flow_.runs();
  }
  void open_group(std::string_view bracket) {
    const auto t = next_runs();
    auto& f = flow_.enter(function_.empty() ? shell_block::group : shell_block::function);
    f.name = function_.empty() ? std::string{bracket} : std::exchange(function_, {});
    f.body = c_->at;
    f.line = c_->line;
    f.apart = bracket == "(";
    f.status = status_;
    f.denied = std::exchange(negated_, false);
    joint_ = shell_joint::end;
    if (f.kind == shell_block::group)
      flow_.branch(t);
    else
      f.runs = certainty::no;
  }
  /// A group's status is that of its last command; one that does not run leaves what was before.
  void close_group(std::string_view bracket) {
    if (auto* g = flow_.top(shell_block::group); g != nullptr && (g->name == "(") == (bracket == ")")) {
      const auto last = g->runs == certainty::open ? certainty::open : g->runs == certainty::no ? g->status : g->denied ? negated(status_) : status_;
      if (bracket == ")") c_->state->undo(g->mark);  // a shell of its own
      end(shell_block::group);
      status_ = last;
      return;
    }
    status_ = certainty::open;
    auto* f = flow_.top(shell_block::function);
    if (f == nullptr || f->apart != (bracket == ")")) return;
    const auto to = c_->text.rfind(bracket[0], c_->at - 1);
    if (f->outer != certainty::no && to != std::string_view::npos && to >= f->body) {
      c_->spend(to - f->body);
      const auto body = std::string{c_->text.substr(f->body, to - f->body)};
      c_->state->functions[f->name] = {f->apart ? "(" + body + ")" : body, f->line};
    }
    flow_.leave(c_->line);
  }

  /// for NAME in WORDS
  void remember_loop(const std::vector<shell_word>& words) {
    loop_ = shell_frame{.kind = shell_block::loop};
    if (words.size() < 2 || words[1].text == "((") return;
    loop_->name = words[1].text;
    if (words.size() < 3 || words[2].text != "in") return;
    const auto known = [](const shell_word& w) { return w.known() && w.text.find_first_of("*?{") == std::string::npos; };
    if (words.size() <= 3 + 256 && std::all_of(words.begin() + 3, words.end(), known)) {
      loop_->kind = shell_block::items;
      loop_->items.assign(words.begin() + 3, words.end());
    }
  }
  void begin_loop() {
    if (!loop_) {  // while, until
      if (auto* f = flow_.top(shell_block::loop)) flow_.branch(both(f->until ? negated(status_) : status_, certainty::open));
      return;
    }
    auto asked = std::move(*loop_);
    loop_.reset();
    auto& f = enter(asked.kind);
    f.name = std::move(asked.name);
    f.items = std::move(asked.items);
    f.body = c_->at;
    f.line = c_->line;
    if (const auto given = c_->state->variables.find(f.name); c_->state->given.contains(f.name) && given != c_->state->variables.end()) {
      f.kind = shell_block::items;
      f.items = given->second.items;
    }
    if (f.kind == shell_block::items && f.items.empty()) return flow_.branch(certainty::no);
    if (f.kind == shell_block::items) return take_next(f);
    flow_.branch(certainty::open);
    if (!f.name.empty()) c_->state->set(f.name, {shell_cursor::open("$" + f.name, c_->line)}, true);
  }
  void take_next(shell_frame& f) {
    if (f.runs != certainty::no) c_->state->set(f.name, {{f.items[f.next]}}, flow_.nested());
    ++f.next;
  }
  void end_loop() {
    auto* f = flow_.top(shell_block::items);
    if (f == nullptr) return end(shell_block::loop);
    if (std::exchange(f->skips, false)) f->runs = certainty::yes;
    if (f->runs == certainty::no || f->next >= f->items.size()) {
      status_ = certainty::open;
      return flow_.leave(c_->line);
    }
    c_->spend(c_->at - f->body + 256);
    c_->at = f->body;
    c_->line = f->line;
    take_next(*f);
  }

  shell_cursor* c_;
  shell_flow flow_;
  shell_commands commands_;
  certainty status_{certainty::open};
  shell_joint joint_{shell_joint::end};
  bool negated_{};
  std::optional<shell_frame> loop_{};  ///< for …, whose "do" is to come
  std::string function_{};             ///< whose { is to come
};

}  // namespace headroom::io::detail
