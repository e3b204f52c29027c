// Distributed under the Boost Software License, Version 1.0.
#include "request.hpp"

#include "answers.hpp"

namespace calls {

using namespace headroom;
using namespace headroom::io;

namespace {

/// "config.json", "model/config.json": a path without a root that does not lead upward, so that it means the same everywhere.
std::string name_of(const std::string& said) {
  const auto path = std::filesystem::path{said}.lexically_normal();
  const auto name = path.generic_string();
  if (said.empty() || said.size() > 4096 || said.find('\0') != std::string::npos || path.is_absolute() || name.starts_with("..") || !path.has_filename() || name == ".")
    fail("headroom: files: " + in_quotes(said) + " is no name of a file: a path below a folder, such as config.json or model/config.json");
  return name;
}

/// "files": {NAME: TEXT}, or where their order counts [{"name": NAME, "text": TEXT}].
void read_files(request& in, const json_value& value, const std::string& path) {
  const auto add = [&](const std::string& said, const json_value& text, const std::string& place) {
    const auto name = name_of(said);
    auto content = text.is_object() ? text.dump() : string_at(text, place);  // what is JSON itself may stand there as it is
    if (!in.files.emplace(name, std::move(content)).second) fail("headroom: files: " + in_quotes(said) + " comes twice");
    in.order.push_back(name);
  };
  if (value.is_object()) {
    for (const auto& [said, text] : value.items()) add(said, text, path + "." + said);
    return;
  }
  each_at(value, path, "an object of names and texts, or a list of {\"name\", \"text\"}", [&](const json_value& one, const std::string& place) {
    key_reader keys{one, place};
    const auto& name = keys.need("name", "of the file");
    add(string_at(name, keys.at("name")), keys.need("text", "of the file"), keys.at("text"));
    keys.finish();
  });
}

}  // namespace

request::request(const json_value& value, const limits& within) : keys(value, "the request"), until(within.until), most_threads(within.threads) {
  if (const auto* v = keys.take("interface"); v != nullptr && whole_at(*v, keys.at("interface"), 1, 1'000'000) != interface_version)
    fail("headroom: interface " + v->dump() + " is not spoken here: this is " + std::to_string(interface_version));
  if (const auto* v = keys.take("files")) read_files(*this, *v, keys.at("files"));
  if (const auto* v = keys.take("confidence"); v != nullptr && !v->is_null()) sure = confidence{number_at(*v, keys.at("confidence"), 0.5, 0.999)};
  if (const auto* v = keys.take("seconds"); v != nullptr && !v->is_null()) {
    const auto own = deadline::in(number_at(*v, keys.at("seconds"), 0.0, 1e9));
    if (own.at() < until.at()) until = own;
  }
  until.check();
}

json_value request::job_value() {
  const auto& v = keys.need("job", "an object, or the name of one of the files");
  if (!v.is_string()) return v;
  const auto& name = v.get_ref<const std::string&>();
  const auto it = files.find(std::filesystem::path{name}.lexically_normal().generic_string());
  if (it == files.end()) fail("headroom: job: " + in_quotes(name) + " is none of the files that came with it");
  return parse_json(it->second, it->first);
}

headroom::job request::job() { return read_settled_job(job_value(), base(), until); }

std::string request::text(std::string_view key, std::string_view otherwise) {
  const auto* v = keys.take(key);
  return v != nullptr && !v->is_null() ? string_at(*v, keys.at(key)) : std::string{otherwise};
}

std::int64_t request::whole(std::string_view key, std::int64_t otherwise, std::int64_t low, std::int64_t high) {
  const auto* v = keys.take(key);
  return v != nullptr && !v->is_null() ? whole_at(*v, keys.at(key), low, high) : otherwise;
}

std::vector<std::string> request::settings(std::string_view key) {
  std::vector<std::string> all;
  const auto* v = keys.take(key);
  if (v == nullptr) return all;
  if (!v->is_object()) wrong_value(keys.at(key), "an object of keys and values", *v);
  for (const auto& [name, value] : v->items()) all.push_back(name + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  return all;
}

std::vector<std::string> request::words(std::string_view key) {
  std::vector<std::string> all;
  if (const auto* v = keys.take(key)) each_at(*v, keys.at(key), "a list of texts", [&](const json_value& one, const std::string& path) { all.push_back(string_at(one, path)); });
  return all;
}

}  // namespace calls
