// Distributed under the Boost Software License, Version 1.0.
// A program's text that is given beside the launch, compared with the program that it is taken to be: other defaults are read, other statements that
// shape memory stop the import.
#pragma once

#include <headroom/io/launchers/programs/known_texts.hpp>
#include <headroom/io/launchers/programs/projects.hpp>
#include <headroom/io/launchers/programs/training_programs.hpp>

namespace headroom::io::detail {

/// A text, as far as it shapes memory.
struct read_program {
  std::string source;
  std::vector<python_statement> all;
  std::vector<shaping_statement> shaping;
  std::vector<program_field> fields;
};
inline std::string file_of_path(std::string_view path) { return std::string{path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1)}; }
inline read_program program_read(const draft::program_text& given) {
  read_program r{.source = file_of_path(given.file), .all = python_statements(given.text, file_of_path(given.file)), .shaping = {}, .fields = {}};
  const python_values values{r.all, {}};
  r.shaping = shaping_statements(r.all, values);
  r.fields = program_fields(r.all, values);
  return r;
}

/// Statements of a text that a known one has not, and how many it lacks.
struct text_difference {
  const python_statement* other{};
  std::size_t others{}, lacks{};
  [[nodiscard]] std::size_t all() const { return others + lacks; }
};
inline text_difference difference(const read_program& p, const known_text& known) {
  text_difference r;
  for (const auto& s : p.shaping) {
    if (std::find(known.statements.begin(), known.statements.end(), s.number) != known.statements.end()) continue;
    if (r.other == nullptr) r.other = s.is;
    ++r.others;
  }
  for (const auto n : known.statements) r.lacks += std::none_of(p.shaping.begin(), p.shaping.end(), [&](const auto& s) { return s.number == n; });
  return r;
}

/// The known text that a given one is nearest to, among those of a program's files; null where none is known.
inline const known_text* nearest_text(const read_program& p, std::string_view program) {
  const known_text* best = nullptr;
  std::size_t least = 0;
  for (const auto& known : known_texts) {
    if (known.program != program || !among_words(known.files, p.source)) continue;
    const auto n = difference(p, known).all();
    if (best == nullptr || n < least) best = &known, least = n;
  }
  return best;
}
/// The program that a text is, whatever its name: it has the very statements of a known one. Null: it is none.
inline const training_program* program_by_text(const draft& d, std::string_view script) {
  for (const auto& given : d.programs) {
    if (file_of_path(given.file) != file_of_path(script)) continue;
    const auto p = program_read(given);
    for (const auto& known : known_texts)
      if (known.statements.size() > 1 && difference(p, known).all() == 0) return program_named(known.program);
  }
  return nullptr;
}

class changed_copy {
 public:
  changed_copy(draft& d, const training_program& p, document& whole) : d_(&d), p_(&p), whole_(&whole) {}

  /// The program with what the texts beside the launch of `script` change of it.
  training_program compared(std::string_view script) {
    auto with = *p_;
    for (const auto& given : d_->programs) {
      const auto read = program_read(given);
      const auto* known = nearest_text(read, p_->name);
      if (known == nullptr && read.source != file_of_path(script)) {
        d_->notes.push_back(read.source + ": the launch starts " + in_quotes(script) + ", and this text is not read");
        continue;
      }
      if (known == nullptr) {
        unknown(read);
        continue;
      }
      statements(read, *known);
      fields(read, known->defaults);
      if (!known->loads_whole.empty() && with.loads_whole.empty()) {
        with.loads_whole = known->loads_whole;
        d_->notes.push_back(read.source + ": it tells from_pretrained no format, and where the whole model trains its weights are loaded in " + std::string{known->loads_whole});
      }
    }
    return with;
  }

 private:
  [[nodiscard]] std::string whose() const {
    const auto project = project_of(*p_);
    return project.empty() ? std::string{p_->name} : std::string{project};
  }
  void statements(const read_program& read, const known_text& known) {
    const auto n = difference(read, known);
    if (n.lacks * 2 > known.statements.size() && known.statements.size() > 1)
      fail("headroom: " + read.source + ": this is another program than " + whose() + "'s, which the launch starts by its name: of " + std::to_string(known.statements.size()) + " statements that shape memory there it has " + std::to_string(known.statements.size() - n.lacks));
    if (n.other != nullptr) return refuse(read, *n.other, "a statement that " + whose() + "'s has not");
    if (n.lacks > 0) return d_->unmodelled_key(read.source, json_value(n.lacks), read.source, "statements of " + whose() + "'s that load, freeze, cast or adapt the model are not in it");
    d_->notes.push_back(read.source + ": it loads, freezes, casts and adapts the model by the statements of " + whose() + "'s; what the files that it imports change is not seen");
  }
  void refuse(const read_program& read, const python_statement& s, const std::string& why) { d_->unmodelled_key(read.source, json_value(python_shown(s.tokens)), read.source + ":" + std::to_string(s.line), why); }

  /// Defaults that are others than those of the known text, of what the command does not say.
  void fields(const read_program& read, std::string_view defaults) {
    std::string unread;
    for (const auto& f : read.fields) {
      if (whole_->root.contains(f.name)) continue;
      const auto known = default_among(defaults, f.name);
      const auto place = read.source + ":" + std::to_string(f.line);
      if (known.empty() && !among_words(trainer_fields, f.name)) {
        if (f.value && !f.value->is_null() && *f.value != false && *f.value != "" && *f.value != 0) unread += (unread.empty() ? "" : ", ") + f.name;
        continue;
      }
      const auto now = f.value ? f.value->dump() : "?";
      if (now == known || (known.empty() && f.value && f.value->is_null())) continue;
      if (!f.value || f.value->is_null()) {
        d_->unmodelled_key(f.name, json_value(f.value ? "None" : "computed"), place, "its default, where " + whose() + "'s is " + std::string{known});
        continue;
      }
      whole_->root[f.name] = *f.value;
      whole_->elsewhere[f.name] = place;
      d_->notes.push_back(place + ": " + f.name + " is " + now + " where the command does not say it" + (known.empty() ? std::string{} : ", and " + std::string{known} + " in " + whose() + "'s"));
    }
    for (const auto& [key, value] : whole_->root.items())
      if (!default_among(defaults, key).empty() && std::none_of(read.fields.begin(), read.fields.end(), [&name = key](const auto& f) { return f.name == name; }))
        fail("headroom: " + whole_->place(key) + ": " + read.source + " has no argument " + key + ", and ends there: it is another text than the one that this command starts");
    if (!unread.empty()) d_->notes.push_back(read.source + ": arguments of its own, which the command leaves at their defaults and which are not read: " + unread);
  }
  /// NAME=VALUE of a list between bars; empty where it has none of the name.
  static std::string_view default_among(std::string_view defaults, std::string_view name) {
    for (const auto one : words_between_bars(defaults))
      if (one.size() > name.size() && one[name.size()] == '=' && one.starts_with(name)) return one.substr(name.size() + 1);
    return {};
  }
  /// A text of which no other is known: it may do what the arguments of the Trainer say, and nothing else.
  void unknown(const read_program& read) {
    constexpr std::string_view plain = "use_cache|Trainer|from_pretrained|resize_token_embeddings|torch_dtype|attn_implementation";
    for (const auto& s : read.shaping) {
      if (p_->name != "transformers") break;
      for (const auto& t : s.is->tokens)
        if (t.is == python_word::name && among_words(shaping_words, t.text) && !among_words(plain, t.text)) return refuse(read, *s.is, "beside a plain Trainer, which alone is read of a program that is not known");
    }
    fields(read, {});
    if (p_->name != "transformers") d_->notes.push_back(read.source + ": no text of " + whose() + "'s is known here to compare it with: of its own defaults those of the Trainer's arguments are read, and its statements are not");
  }

  draft* d_;
  const training_program* p_;
  document* whole_;
};

}  // namespace headroom::io::detail
