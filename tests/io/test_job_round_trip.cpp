// Distributed under the Boost Software License, Version 1.0.
// read_job(job_to_json(j)) == j for jobs drawn at random over every key.
#include <doctest/doctest.h>

#include <headroom/hardware/gpu_names.hpp>
#include <headroom/io/job_reader.hpp>
#include <random>

#include "../estimate/draw.hpp"

namespace test_job_round_trip {

using namespace headroom;

namespace {

class draw {
 public:
  explicit draw(std::uint32_t seed) : engine_(seed) {}

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>{low, high}(engine_);
  }
  bool coin() { return number(0, 1) == 1; }
  /// A value that has to be said about half of the time.
  std::int64_t maybe(std::int64_t otherwise, std::int64_t low, std::int64_t high) {
    return coin() ? otherwise : number(low, high);
  }
  template <class E>
  E word() {
    return io::names_of<E>[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(io::names_of<E>.size()) - 1))].value;
  }
  template <class C>
  auto one(const C& from) {
    auto at = from.begin();
    for (auto steps = number(0, static_cast<std::int64_t>(from.size()) - 1); steps > 0; --steps) ++at;
    return *at;
  }
  choice toggle() { return coin() ? choice::unset : coin() ? choice::yes : choice::no; }
  /// A format or none; states have the block-wise int8.
  number_format format(bool state = false) {
    if (coin()) return {};
    const auto f = one(formats::all);
    return state && f == formats::int8 ? formats::int8_blockwise : f;
  }

  shape model() {
    if (coin()) return one(models::all());
    shape m{.label = "drawn", .layers = number(1, 200), .hidden = number(1, 1 << 20)};
    for (auto* n : {&m.heads, &m.kv_heads, &m.head_dim, &m.ffn, &m.max_positions, &m.vocab, &m.attention_softcap,
                    &m.logit_softcap, &m.sliding_window, &m.mtp_layers, &m.classes, &m.embedding_dim, &m.position_offset,
                    &m.token_types, &m.relative_buckets})
      *n = maybe(0, 0, std::int64_t{1} << 40);
    for (auto* b : {&m.norm_bias,
                    &m.norm_weight,
                    &m.attention_bias,
                    &m.output_bias,
                    &m.mlp_bias,
                    &m.tied,
                    &m.head_bias,
                    &m.normalised_head,
                    &m.qk_norm,
                    &m.qk_norm_full,
                    &m.post_norms,
                    &m.parallel_block,
                    &m.shared_attention_norm,
                    &m.fused_qkv,
                    &m.fused_gate_up,
                    &m.pooler,
                    &m.bidirectional,
                    &m.norm_after,
                    &m.no_final_norm,
                    &m.embedding_norm,
                    &m.attention_sinks,
                    &m.layer_biases,
                    &m.down_bias,
                    &m.no_key_bias})
      *b = coin();
    m.mlp = word<mlp_kind>();
    m.activation = word<activation_kind>();
    m.norm = word<norm_kind>();
    m.position = word<position_kind>();
    m.head = word<head_kind>();
    m.rotary_percent = number(0, 100);
    m.vocab_multiple = number(1, 4096);
    if (coin()) {
      m.experts = {.count = number(1, 256),
                   .active = number(1, 8),
                   .ffn = number(0, 1 << 15),
                   .shared = number(0, 2),
                   .shared_ffn = number(0, 1 << 15),
                   .first_dense_layers = number(0, 3),
                   .every = number(1, 4),
                   .dense_mask = {static_cast<std::uint64_t>(number(0, 1 << 30)), static_cast<std::uint64_t>(number(0, 7))},
                   .router_bias = coin(),
                   .shared_gate = coin(),
                   .bias = coin(),
                   .fp32_weights = coin(),
                   .capacity_factor_percent = number(0, 300)};
    }
    if (coin())
      m.mla = {.q_rank = number(0, 2000),
               .kv_rank = number(0, 512),
               .nope_dim = number(0, 128),
               .rope_dim = number(0, 64),
               .value_dim = number(0, 128)};
    if (coin()) {
      m.encoder = {.layers = number(0, 40),
                   .sequence = number(0, 4096),
                   .cross_attention = coin(),
                   .heads = number(0, 32),
                   .ffn = number(0, 9999),
                   .max_positions = number(0, 1500),
                   .frozen_positions = coin(),
                   .audio_channels = number(0, 128),
                   .vocab = number(0, 99999),
                   .attention_bias = coin()};
    }
    if (coin()) {
      m.vision = {.kind = word<vision_kind>(),
                  .projector = word<projector_kind>(),
                  .attention_pool = coin(),
                  .no_patch_bias = coin(),
                  .layers = number(0, 40),
                  .hidden = number(0, 2000),
                  .heads = number(0, 16),
                  .ffn = number(0, 9000),
                  .patch = number(0, 20),
                  .temporal_patch = number(1, 2),
                  .channels = number(1, 4),
                  .image = number(0, 1000),
                  .positions = number(0, 5000),
                  .merge = number(1, 3),
                  .output = number(0, 4096),
                  .projector_hidden = number(0, 9000),
                  .deep_mergers = number(0, 3),
                  .slices = number(0, 9),
                  .tokens = number(0, 300),
                  .resampler = maybe(0, 1, 100),
                  .unread = number(0, 2)};
    }
    return m;
  }

  gpu device() {
    gpu g = coin() ? one(gpus::all) : gpu{.label = "home-made"};
    if (coin()) g.memory = bytes{number(0, std::int64_t{1} << 42)};
    if (coin()) g.compute_capability = static_cast<std::int32_t>(number(0, 120));
    if (coin()) g.bf16_tflops_x10 = static_cast<std::int32_t>(number(0, 50'000));
    if (coin()) g.maker = word<vendor>();
    if (coin()) g.unified = coin();
    return g;
  }

  degrees parallel() {
    degrees d{.data = maybe(0, 1, 1024),
              .replicate = number(1, 8),
              .tensor = number(1, 8),
              .sequence = coin(),
              .pipeline = number(1, 16),
              .virtual_pipeline = number(1, 4),
              .schedule = word<schedule>(),
              .first_stage_layers = maybe(0, 1, 9),
              .last_stage_layers = maybe(0, 1, 9),
              .context = number(1, 8),
              .context_kind = word<context_kind>(),
              .expert = number(1, 64),
              .expert_tensor = number(1, 4),
              .expert_imbalance_percent = number(100, 300)};
    d.chunks = static_cast<std::int32_t>(maybe(0, 1, degrees::max_chunks));
    for (std::int32_t i = 0; i < d.chunks; ++i) d.stage_layers[i] = static_cast<std::int32_t>(number(0, 20));
    return d;
  }

  sharding sharded() {
    sharding s{.kind = word<sharding_kind>()};
    s.stage = s.kind == sharding_kind::none || s.kind == sharding_kind::ddp ? 0 : number(0, 3);
    s.no_sync = coin();
    for (auto* c : {&s.reshard_after_forward, &s.overlap_comm, &s.contiguous_gradients, &s.reduce_scatter,
                    &s.round_robin_gradients, &s.gradient_as_bucket_view, &s.backward_prefetch, &s.double_buffer})
      *c = toggle();
    for (auto* n : {&s.reduce_bucket_size, &s.allgather_bucket_size, &s.sub_group_size, &s.stage3_prefetch_bucket_size,
                    &s.stage3_param_persistence_threshold, &s.stage3_max_live_parameters, &s.stage3_max_reuse_distance,
                    &s.zero_hpz_partition_size, &s.mics_shard_size})
      *n = maybe(-1, 0, std::numeric_limits<std::int64_t>::max());
    s.communication_unit = maybe(-1, 1, std::numeric_limits<std::int64_t>::max());
    return s;
  }

  optimizer updates() {
    auto o = one(optimizers::all);
    o.how = coin() ? implementation::unset : word<implementation>();
    if (coin()) o.rank = number(0, 512);
    if (coin()) o.paged_from = maybe(0, 1, 1 << 20);
    if (coin()) o.in_backward = coin();
    if (const auto f = format(true); f.set()) o.state = f;
    return o;
  }

  module_set modules() {
    module_set set;
    set.bits = static_cast<std::uint32_t>(number(1, (std::int64_t{1} << module_count) - 1));
    return set;
  }

  job any() {
    job j;
    j.model = model();
    j.hardware = {.gpu = coin() ? gpu{} : device(),
                  .nodes = number(1, 100),
                  .gpus_per_node = number(1, 16),
                  .host_memory = bytes{maybe(0, 1, std::int64_t{1} << 43)},
                  .nvme = bytes{maybe(0, 1, std::int64_t{1} << 45)},
                  .taken = bytes{maybe(0, 1, std::int64_t{1} << 35)}};
    if (coin()) j.hardware.gpu = device();
    if (j.hardware.names_gpu() && j.hardware.gpus() > 2 && coin()) j.hardware.others.add({device(), number(1, j.hardware.gpus() - 2)});
    if (coin()) j.framework = one(frameworks::known);
    if (coin()) {
      j.precision = coin() ? one(precisions::all)
                           : precision{{}, one(formats::all), format(), format(), format(), format(), format(true), toggle()};
    }
    if (coin()) j.optimizer = updates();
    j.parallel = parallel();
    j.sharding = sharded();
    j.offload = {.optimizer = word<place>(),
                 .parameters = word<place>(),
                 .activations = coin() ? place::on_gpu : place::on_cpu,
                 .pin_memory = coin(),
                 .optimizer_buffer_count = maybe(-1, 0, 9),
                 .parameter_buffer_count = maybe(-1, 0, 9),
                 .parameter_buffer_size = maybe(-1, 0, 1 << 30),
                 .max_in_cpu = maybe(-1, 0, 1 << 30)};
    j.batch = {.micro = number(1, 64),
               .sequence = number(1, 1 << 20),
               .accumulation = number(1, 64),
               .padded = coin(),
               .packed = coin()};
    j.recompute = {.mode = word<recompute_mode>(),
                   .method = coin() ? recompute_method::unset : word<recompute_method>(),
                   .layers = maybe(0, 1, 40),
                   .modules = static_cast<std::uint32_t>(maybe(0, 1, 255)),
                   .policy = coin() ? recompute_policy::unset : word<recompute_policy>(),
                   .reentrant = toggle()};
    if (coin()) j.attention = word<attention>();
    if (coin())
      j.loss = {.kind = word<loss_kind>(), .logits = format(), .chunk_tokens = maybe(0, 1, 512), .chunked_head = toggle()};
    if (coin())
      j.adapter = {.kind = coin() ? adapter_kind::lora : adapter_kind::dora,
                   .rank = number(1, 512),
                   .targets = coin() ? all_linear : modules(),
                   .format = format(),
                   .dropout = {static_cast<std::int32_t>(maybe(0, 1, 1'000'000))},
                   .base = format(),
                   .base_skips = coin() ? module_set{} : modules(),
                   .fused_qkv = coin(),
                   .modules_to_save = coin() ? module_set{} : modules()};
    for (auto i = coin() ? number(0, trainable::capacity) : 0; i > 0; --i) {
      const bool everywhere = coin();  // a job that says from where on, and not up to which layer, is refused
      const auto first = everywhere ? 0 : number(0, 20);
      j.trainable.add({.first_layer = first,
                       .last_layer = everywhere ? -1 : first + number(0, 20),
                       .experts = maybe(-1, 0, 8),
                       .modules = coin() ? module_set{} : modules()});
    }
    if (coin())
      j.dropout = {.hidden = {static_cast<std::int32_t>(number(0, 1'000'000))},
                   .attention = {static_cast<std::int32_t>(number(0, 1'000'000))}};
    j.compile = coin();
    if (coin())
      j.environment = {.cublas_workspace = bytes{maybe(-1, 0, std::int64_t{1} << 40)},
                       .expandable_segments = toggle(),
                       .max_split_size = coin() ? bytes{-1} : number(21, 4096) * mib,
                       .roundup_power2_divisions = coin() ? 0 : 1 << number(0, 6),
                       .garbage_collection_threshold = {coin() ? 0 : static_cast<std::int32_t>(number(1, 999'999))},
                       .nccl_buffsize = bytes{maybe(-1, 0, 1 << 25)},
                       .torch = coin() ? 0 : static_cast<std::int32_t>(100 * number(1, 99) + number(0, 99))};
    return j;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace

TEST_CASE("a job survives its file") {
  for (std::uint32_t seed = 0; seed < static_cast<std::uint32_t>(::draw::watched(2000)); ++seed) {
    const job j = draw{seed}.any();
    const auto written = io::job_to_json(j).dump();
    job again;
    REQUIRE_NOTHROW_MESSAGE(again = io::read_job(io::parse_json(written, "job")), written);
    const bool same = again == j;
    REQUIRE_MESSAGE(same, seed << ": " << written << "\n" << io::job_to_json(again).dump());
  }
}

TEST_CASE("a job of the library survives its file, whoever trains it") {
  ::draw::jobs jobs{20261122};
  int open = 0;
  for (int i = 0; i < ::draw::watched(2000); ++i) {
    auto j = jobs.next();
    const auto again = io::read_job(io::job_to_json(j));
    if (!j.optimizer.set() && j.optimizer.how != implementation::unset) {  // a file names AdamW beside how it is carried out
      const auto how = j.optimizer.how;
      j.optimizer = optimizers::adamw;
      j.optimizer.how = how;
      ++open;
    }
    CAPTURE(i);
    REQUIRE((again == j));
  }
  CHECK(open > ::draw::watched(100));
}

TEST_CASE("what a file cannot say is refused, not dropped") {
  job j{.model = *models::find("llama-3.1-8b"), .batch = {.sequence = 1}};
  CHECK_NOTHROW(io::job_to_json(j));
  auto mine = j;
  mine.precision = precisions::bf16;
  mine.precision.gradients = {.label = "bf12", .bits = 12};
  CHECK_THROWS_AS(io::job_to_json(mine), job_error);
  mine = j;
  mine.optimizer = {.label = "mine", .moments = 3};
  CHECK_THROWS_AS(io::job_to_json(mine), job_error);
  mine.optimizer = optimizers::adamw;
  mine.optimizer.moments = 3;
  CHECK_THROWS_AS(io::job_to_json(mine), job_error);
  mine = j;
  mine.framework.gradients.stay = true;
  CHECK_THROWS_AS(io::job_to_json(mine), job_error);
}

}  // namespace test_job_round_trip
