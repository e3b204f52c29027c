// Distributed under the Boost Software License, Version 1.0.
// The value of a formula such as "18*P - h*(2*L+1)": numbers, letters, + - * / and parentheses.
#pragma once

#include <cctype>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>

namespace peers {

class expression {
 public:
  expression(const std::string& text, const std::map<std::string, double>& letters) : text_(text), letters_(&letters) {}
  double value() {
    const double v = sum();
    if (look() != '\0') fail();
    return v;
  }

 private:
  double sum() {
    double v = product();
    while (look() == '+' || look() == '-') v = take() == '+' ? v + product() : v - product();
    return v;
  }
  double product() {
    double v = factor();
    while (look() == '*' || look() == '/') v = take() == '*' ? v * factor() : v / factor();
    return v;
  }
  double factor() {
    if (look() == '-') return take(), -factor();
    if (look() == '(') {
      take();
      const double v = sum();
      if (take() != ')') fail();
      return v;
    }
    if (std::isdigit(static_cast<unsigned char>(look())) != 0) {
      char* end = nullptr;
      const double v = std::strtod(text_.c_str() + at_, &end);
      at_ = static_cast<std::size_t>(end - text_.c_str());
      return v;
    }
    const auto found = letters_->find(std::string(1, take()));
    if (found == letters_->end()) fail();
    return found->second;
  }
  char look() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  char take() {
    const char c = look();
    ++at_;
    return c;
  }
  [[noreturn]] void fail() const { throw std::invalid_argument("not a formula at character " + std::to_string(at_) + ": " + text_); }

  const std::string text_;
  const std::map<std::string, double>* letters_;
  std::size_t at_ = 0;
};

}  // namespace peers
