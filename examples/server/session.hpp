// Distributed under the Boost Software License, Version 1.0.
// One connection: requests are read and answered, one after the other, each within its time.
#pragma once

#include "server.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include <list>
#include <optional>
#include <variant>

namespace serving {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;

class session;

/// What the sessions share. One thread reads and writes, workers answer; all of this is that one thread's.
struct shared {
  server_limits limits;
  server::handler handle;
  asio::thread_pool workers;
  std::list<session*> unanswered{};  ///< reading, writing or idle, the oldest first
  std::size_t answering{};           ///< requests with the workers, or before them
  std::size_t bodies{};              ///< bytes
  bool ending{};
};

class session : public std::enable_shared_from_this<session> {
 public:
  /// `tls` nullptr: without it.
  session(asio::ip::tcp::socket socket, ssl::context* tls, shared& with)
      : with_(&with), stream_(tls != nullptr ? stream(std::in_place_type<secret_stream>, std::move(socket), *tls) : stream(std::in_place_type<beast::tcp_stream>, std::move(socket))), buffer_(with.limits.header + slack) {}
  ~session() {
    withdraw();
    release();
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  void start() {
    enlist();
    lowest().expires_after(with_->limits.request);
    auto* secret = std::get_if<secret_stream>(&stream_);
    if (secret == nullptr) return read();
    secret->async_handshake(ssl::stream_base::server, [self = shared_from_this()](error_code failed) {
      if (!failed) self->read();
    });
  }
  /// Whatever is awaited fails, and with that the session ends.
  void close() {
    withdraw();
    release();
    lowest().close();
  }
  /// Whether nothing of a request has come.
  [[nodiscard]] bool idle() const { return idle_; }

 private:
  static constexpr std::size_t slack = 16 << 10;  ///< what is read ahead

  using secret_stream = beast::ssl_stream<beast::tcp_stream>;
  using stream = std::variant<beast::tcp_stream, secret_stream>;

  beast::tcp_stream& lowest() {
    auto* secret = std::get_if<secret_stream>(&stream_);
    return secret != nullptr ? beast::get_lowest_layer(*secret) : std::get<beast::tcp_stream>(stream_);
  }
  void enlist() {
    withdraw();
    place_ = with_->unanswered.insert(with_->unanswered.end(), this);
  }
  void withdraw() {
    if (place_) with_->unanswered.erase(*place_);
    place_.reset();
  }
  void release() { with_->bodies -= std::exchange(body_, 0); }

  void next() {
    enlist();
    if (buffer_.size() > 0) {
      lowest().expires_after(with_->limits.request);
      return read();
    }
    idle_ = true;
    lowest().expires_after(with_->limits.idle);
    const auto then = [self = shared_from_this()](error_code failed, std::size_t n) {
      if (failed) return;
      self->idle_ = false;
      self->buffer_.commit(n);
      self->lowest().expires_after(self->with_->limits.request);
      self->read();
    };
    std::visit([&](auto& s) { s.async_read_some(buffer_.prepare(slack), then); }, stream_);
  }
  /// A deadline that is set once holds for all that is awaited until it is set again.
  void read() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(with_->limits.header));
    parser_->body_limit(with_->limits.body);
    std::visit([&](auto& s) { http::async_read_header(s, buffer_, *parser_, [self = shared_from_this()](error_code failed, std::size_t) { self->read_body(failed); }); }, stream_);
  }
  void read_body(error_code failed) {
    if (failed == http::error::header_limit || failed == http::error::buffer_overflow) return refuse(431, "the header is too large");
    if (failed == http::error::body_limit) return refuse(413, "the body is too large");
    if (failed == http::error::end_of_stream || failed == http::error::partial_message) return;
    if (failed && failed.category() == make_error_code(http::error::bad_method).category()) return refuse(400, "the request is not HTTP/1.1");
    if (failed) return;
    const auto& in = parser_->get();
    if (in.count(http::field::content_encoding) > 0) return refuse(415, "the body must not be compressed");
    if (parser_->chunked()) return refuse(411, "the request must state its Content-Length");
    const auto size = parser_->content_length().value_or(0);
    if (!room_for(size)) return refuse(503, "too many bodies at once");
    body_ = static_cast<std::size_t>(size);
    with_->bodies += body_;
    if (parser_->is_done()) return decide();
    const auto then = [self = shared_from_this()](error_code cut, std::size_t) {
      if (!cut) self->decide();
    };
    std::visit([&](auto& s) { http::async_read(s, buffer_, *parser_, then); }, stream_);
  }
  /// Of bodies that are still being read the oldest are given up for a new one: those of an API server come at once.
  bool room_for(std::uint64_t size) {
    const auto all = with_->unanswered;
    for (auto* other : all) {
      if (size <= with_->limits.bodies - with_->bodies) break;
      if (other != this && other->body_ > 0) other->close();
    }
    return size <= with_->limits.bodies - with_->bodies;
  }
  void decide() {
    ++requests_;
    if (with_->answering >= with_->limits.workers + with_->limits.waiting) return answer({503, "headroom: too many requests at once\n"});
    ++with_->answering;
    withdraw();
    lowest().expires_never();
    const auto arrived = std::chrono::steady_clock::now();
    asio::post(with_->workers, [self = shared_from_this(), arrived, home = lowest().get_executor()]() mutable {
      const auto& in = self->parser_->get();
      const auto path = std::string_view{in.target().data(), in.target().size()};
      auto said = self->with_->handle({{in.method_string().data(), in.method_string().size()}, path, in.body(), arrived});
      // The session goes back with the answer: it must end in the thread that it lives in.
      asio::post(home, [self = std::move(self), said = std::move(said)]() mutable {
        --self->with_->answering;
        self->answer(std::move(said));
      });
    });
  }
  /// An answer before the body was read. It is read and forgotten then: who writes, and is not read, gets no answer.
  void refuse(int status, const char* why) {
    refused_ = true;
    answer({status, std::string{"headroom: "} + why + "\n"});
  }
  void answer(http_answer said) {
    const bool old = std::chrono::steady_clock::now() - born_ > with_->limits.age || requests_ >= with_->limits.requests;
    const bool last = refused_ || old || with_->ending || !parser_->get().keep_alive();
    answer_ = {};
    answer_.version(11);
    answer_.result(static_cast<unsigned>(said.status));
    answer_.set(http::field::content_type, said.type);
    answer_.body() = std::move(said.body);
    answer_.keep_alive(!last);
    answer_.prepare_payload();
    parser_.reset();
    release();
    enlist();
    lowest().expires_after(with_->limits.answer);
    const auto then = [self = shared_from_this(), last](error_code failed, std::size_t) {
      if (failed) return;
      if (self->refused_) return self->forget(2 * self->with_->limits.body);
      if (!last) return self->next();
      if (auto* secret = std::get_if<secret_stream>(&self->stream_)) return secret->async_shutdown([self](error_code) {});
      error_code ignored;
      self->lowest().socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    };
    std::visit([&](auto& s) { http::async_write(s, answer_, then); }, stream_);
  }
  void forget(std::size_t most) {
    buffer_.clear();
    const auto then = [self = shared_from_this(), most](error_code failed, std::size_t n) {
      if (!failed && n < most) self->forget(most - n);
    };
    std::visit([&](auto& s) { s.async_read_some(buffer_.prepare(slack), then); }, stream_);
  }

  shared* with_;
  stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_{};
  http::response<http::string_body> answer_{};
  std::optional<std::list<session*>::iterator> place_{};
  std::chrono::steady_clock::time_point born_{std::chrono::steady_clock::now()};
  std::size_t body_{}, requests_{};
  bool refused_{}, idle_{};
};

}  // namespace serving
