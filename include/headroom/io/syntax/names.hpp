// Distributed under the Boost Software License, Version 1.0.
// What the library's enumerators are called in a file. The first name of a value is the one that is written; any further
// ones are read as well.
#pragma once

#include <array>
#include <headroom/io/syntax/json_reader.hpp>
#include <headroom/job.hpp>

namespace headroom::io {

template <class E>
struct named {
  std::string_view text;
  E value;
};

/// The names of E: a specialisation below for each enumeration that a file can hold.
template <class E>
inline constexpr auto names_of = nullptr;

template <>
inline constexpr auto names_of<step_norm_kind> =
    std::array<named<step_norm_kind>, 3>{{{"none", step_norm_kind::none}, {"plain", step_norm_kind::plain}, {"weighed", step_norm_kind::weighed}}};
template <>
inline constexpr auto names_of<mlp_kind> =
    std::array<named<mlp_kind>, 2>{{{"gated", mlp_kind::gated}, {"plain", mlp_kind::plain}}};
template <>
inline constexpr auto names_of<norm_kind> =
    std::array<named<norm_kind>, 2>{{{"rmsnorm", norm_kind::rmsnorm}, {"layernorm", norm_kind::layernorm}}};
template <>
inline constexpr auto names_of<rotary_kind> = std::array<named<rotary_kind>, 6>{
    {{"halves", rotary_kind::halves}, {"pairs", rotary_kind::pairs}, {"fp32-pairs", rotary_kind::fp32_pairs}, {"own-pairs", rotary_kind::own_pairs},
     {"fp32-halves", rotary_kind::fp32_halves}, {"split-halves", rotary_kind::split_halves}}};
template <>
inline constexpr auto names_of<softmax_kind> = std::array<named<softmax_kind>, 5>{
    {{"by-position", softmax_kind::by_position}, {"compute", softmax_kind::compute}, {"fp32", softmax_kind::fp32}, {"fp32-scores", softmax_kind::fp32_scores}, {"maximum", softmax_kind::maximum}}};
template <>
inline constexpr auto names_of<position_kind> = std::array<named<position_kind>, 6>{{{"rope", position_kind::rope},
                                                                                     {"learned", position_kind::learned},
                                                                                     {"alibi", position_kind::alibi},
                                                                                     {"none", position_kind::none},
                                                                                     {"relative", position_kind::relative},
                                                                                     {"disentangled", position_kind::disentangled}}};
template <>
inline constexpr auto names_of<activation_kind> =
    std::array<named<activation_kind>, 11>{{{"silu", activation_kind::silu},
                                           {"gelu", activation_kind::gelu},
                                           {"gelu_new", activation_kind::gelu_new},
                                           {"gelu_pytorch_tanh", activation_kind::gelu_pytorch_tanh},
                                           {"quick_gelu", activation_kind::quick_gelu},
                                           {"relu", activation_kind::relu},
                                           {"relu2", activation_kind::relu2},
                                           {"tanh", activation_kind::tanh},
                                           {"xielu", activation_kind::xielu},
                                           {"gelu_python", activation_kind::gelu_python},
                                           {"swish", activation_kind::silu}}};
template <>
inline constexpr auto names_of<head_kind> = std::array<named<head_kind>, 3>{
    {{"language", head_kind::language}, {"masked-language", head_kind::masked_language}, {"none", head_kind::none}}};
template <>
inline constexpr auto names_of<vision_kind> = std::array<named<vision_kind>, 19>{{{"none", vision_kind::none},
                                                                                 {"vit", vision_kind::vit},
                                                                                 {"clip", vision_kind::clip},
                                                                                 {"siglip", vision_kind::siglip},
                                                                                 {"qwen2-vl", vision_kind::qwen2_vl},
                                                                                 {"qwen2.5-vl", vision_kind::qwen2_5_vl},
                                                                                 {"qwen3-vl", vision_kind::qwen3_vl},
                                                                                 {"llama4", vision_kind::llama4},
                                                                                 {"pixtral", vision_kind::pixtral},
                                                                                 {"internvit", vision_kind::intern_vit},
                                                                                 {"internvit-6b", vision_kind::intern_vit_6b},
                                                                                 {"internvl", vision_kind::internvl},
                                                                                 {"internvl-6b", vision_kind::internvl_6b},
                                                                                 {"megatron-clip", vision_kind::megatron_clip},
                                                                                 {"gemma4", vision_kind::gemma4},
                                                                                 {"idefics3", vision_kind::idefics3},
                                                                                 {"glm4v", vision_kind::glm4v},
                                                                                 {"glm-ocr", vision_kind::glm_ocr},
                                                                                 {"siglip-so400m", vision_kind::siglip}}};
template <>
inline constexpr auto names_of<projector_kind> =
    std::array<named<projector_kind>, 13>{{{"none", projector_kind::none},
                                          {"mlp", projector_kind::mlp},
                                          {"norm-linear", projector_kind::norm_linear},
                                          {"merger", projector_kind::merger},
                                          {"pixel-mlp", projector_kind::pixel_mlp},
                                          {"resampler", projector_kind::resampler},
                                          {"contrastive", projector_kind::contrastive},
                                          {"linear", projector_kind::linear},
                                          {"norm-mlp", projector_kind::norm_mlp},
                                          {"patch-merger", projector_kind::patch_merger},
                                          {"pooled-linear", projector_kind::pooled_linear},
                                          {"shuffled-linear", projector_kind::shuffled_linear},
                                          {"glm-merger", projector_kind::glm_merger}}};
template <>
inline constexpr auto names_of<implementation> = std::array<named<implementation>, 3>{
    {{"fused", implementation::fused}, {"foreach", implementation::foreach}, {"loop", implementation::loop}}};
template <>
inline constexpr auto names_of<adapter_kind> = std::array<named<adapter_kind>, 3>{
    {{"none", adapter_kind::none}, {"lora", adapter_kind::lora}, {"dora", adapter_kind::dora}}};
template <>
inline constexpr auto names_of<schedule> = [] {
  std::array<named<schedule>, schedules.size() + 1> all{};
  for (std::size_t i = 0; i < schedules.size(); ++i) all[i] = {schedules[i].name, schedules[i].kind};
  all.back() = {"zbv", schedule::zero_bubble_v};
  return all;
}();
template <>
inline constexpr auto names_of<context_kind> = std::array<named<context_kind>, 3>{
    {{"ring", context_kind::ring}, {"ulysses", context_kind::ulysses}, {"all-gather", context_kind::all_gather}}};
template <>
inline constexpr auto names_of<root_units> = std::array<named<root_units>, 3>{{{"whole", root_units::whole}, {"embedding-apart", root_units::embedding_apart}, {"split", root_units::split}}};
template <>
inline constexpr auto names_of<sharding_kind> =
    std::array<named<sharding_kind>, 7>{{{"none", sharding_kind::none},
                                         {"ddp", sharding_kind::ddp},
                                         {"zero", sharding_kind::zero},
                                         {"fsdp1", sharding_kind::fsdp1},
                                         {"fsdp2", sharding_kind::fsdp2},
                                         {"megatron-distributed-optimizer", sharding_kind::megatron_distributed_optimizer},
                                         {"megatron-fsdp", sharding_kind::megatron_fsdp}}};
template <>
inline constexpr auto names_of<place> =
    std::array<named<place>, 3>{{{"none", place::on_gpu}, {"cpu", place::on_cpu}, {"nvme", place::on_nvme}}};
template <>
inline constexpr auto names_of<longer_samples> = std::array<named<longer_samples>, 2>{{{"truncated", longer_samples::truncated}, {"deleted", longer_samples::deleted}}};
template <>
inline constexpr auto names_of<sample_order> = std::array<named<sample_order>, 4>{
    {{"shuffled", sample_order::shuffled}, {"sorted", sample_order::sorted}, {"longest-first", sample_order::longest_first}, {"grouped", sample_order::grouped}}};
template <>
inline constexpr auto names_of<recompute_mode> = std::array<named<recompute_mode>, 3>{
    {{"none", recompute_mode::none}, {"full", recompute_mode::full}, {"selective", recompute_mode::selective}}};
template <>
inline constexpr auto names_of<recompute_method> =
    std::array<named<recompute_method>, 2>{{{"uniform", recompute_method::uniform}, {"block", recompute_method::block}}};
template <>
inline constexpr auto names_of<recompute_policy> = std::array<named<recompute_policy>, 2>{
    {{"every-other-matmul", recompute_policy::every_other_matmul}, {"attention-only", recompute_policy::attention_only}}};
template <>
inline constexpr auto names_of<recompute_module> =
    std::array<named<recompute_module>, 8>{{{"core_attn", recompute_module::core_attn},
                                            {"mlp", recompute_module::mlp},
                                            {"moe", recompute_module::moe},
                                            {"moe_act", recompute_module::moe_act},
                                            {"layernorm", recompute_module::layernorm},
                                            {"mla_up_proj", recompute_module::mla_up_proj},
                                            {"shared_experts", recompute_module::shared_experts},
                                            {"gelu", recompute_module::gelu}}};
template <>
inline constexpr auto names_of<attention> = std::array<named<attention>, 6>{{{"eager", attention::eager},
                                                                             {"sdpa", attention::sdpa},
                                                                             {"flash", attention::flash},
                                                                             {"flash3", attention::flash3},
                                                                             {"te", attention::te},
                                                                             {"math", attention::math}}};
template <>
inline constexpr auto names_of<recurrence> = std::array<named<recurrence>, 2>{{{"fused", recurrence::fused}, {"eager", recurrence::eager}}};
template <>
inline constexpr auto names_of<fake_quantizer> = std::array<named<fake_quantizer>, 2>{{{"intx", fake_quantizer::intx}, {"int4", fake_quantizer::int4}}};
template <>
inline constexpr auto names_of<fused_kernel> = std::array<named<fused_kernel>, 7>{{{"norm", fused_kernel::norm},
                                                                                   {"gated", fused_kernel::gated},
                                                                                   {"rotary", fused_kernel::rotary},
                                                                                   {"adapted-qkv", fused_kernel::adapted_qkv},
                                                                                   {"adapted-output", fused_kernel::adapted_output},
                                                                                   {"adapted-mlp", fused_kernel::adapted_mlp},
                                                                                   {"normed-rotary", fused_kernel::normed_rotary}}};
template <>
inline constexpr auto names_of<completion_writer> = std::array<named<completion_writer>, 2>{{{"teacher", completion_writer::teacher}, {"both", completion_writer::both}}};
template <>
inline constexpr auto names_of<entropy_code> = std::array<named<entropy_code>, 3>{{{"compiled", entropy_code::compiled}, {"whole", entropy_code::whole}, {"pieces", entropy_code::pieces}}};
template <>
inline constexpr auto names_of<loss_kind> = std::array<named<loss_kind>, 6>{{{"full", loss_kind::full},
                                                                             {"chunked", loss_kind::chunked},
                                                                             {"fused", loss_kind::fused},
                                                                             {"vocab-parallel", loss_kind::vocab_parallel},
                                                                             {"fused-linear", loss_kind::fused_linear},
                                                                             {"cut", loss_kind::cut}}};
template <>
inline constexpr auto names_of<objective_kind> = std::array<named<objective_kind>, 20>{{{"sft", objective_kind::sft},
                                                                                        {"dpo", objective_kind::dpo},
                                                                                        {"kto", objective_kind::kto},
                                                                                        {"orpo", objective_kind::orpo},
                                                                                        {"cpo", objective_kind::cpo},
                                                                                        {"simpo", objective_kind::simpo},
                                                                                        {"reward", objective_kind::reward},
                                                                                        {"classification", objective_kind::classification},
                                                                                        {"embedding", objective_kind::embedding},
                                                                                        {"rerank", objective_kind::rerank},
                                                                                        {"distill", objective_kind::distill},
                                                                                        {"online-dpo", objective_kind::online_dpo},
                                                                                        {"ppo", objective_kind::ppo},
                                                                                        {"grpo", objective_kind::grpo},
                                                                                        {"rloo", objective_kind::rloo},
                                                                                        {"nash-md", objective_kind::nash_md},
                                                                                        {"tpo", objective_kind::tpo},
                                                                                        {"ipo", objective_kind::dpo},
                                                                                        {"gspo", objective_kind::grpo},
                                                                                        {"dapo", objective_kind::grpo}}};
template <>
inline constexpr auto names_of<method_code> = std::array<named<method_code>, 21>{{{"trl", method_code::trl},
                                                                                  {"trl-0.29", method_code::trl_0_29},
                                                                                  {"trl-0.28", method_code::trl_0_28},
                                                                                  {"trl-0.22", method_code::trl_0_22},
                                                                                  {"trl-0.21", method_code::trl_0_21},
                                                                                  {"trl-0.19", method_code::trl_0_19},
                                                                                  {"trl-0.14", method_code::trl_0_14},
                                                                                  {"ms-swift", method_code::ms_swift},
                                                                                  {"ms-swift-3.11", method_code::ms_swift_3_11},
                                                                                  {"ms-swift-3.5", method_code::ms_swift_3_5},
                                                                                  {"ms-swift-3.4", method_code::ms_swift_3_4},
                                                                                  {"ms-swift-megatron", method_code::ms_swift_megatron},
                                                                                  {"ms-swift-megatron-3.12", method_code::ms_swift_megatron_3_12},
                                                                                  {"ms-swift-megatron-3.8", method_code::ms_swift_megatron_3_8},
                                                                                  {"llama-factory", method_code::llama_factory},
                                                                                  {"openrlhf", method_code::openrlhf},
                                                                                  {"verl", method_code::verl},
                                                                                  {"nemo-rl", method_code::nemo_rl},
                                                                                  {"slime", method_code::slime},
                                                                                  {"deepspeed-chat", method_code::deepspeed_chat},
                                                                                  {"medicalgpt", method_code::medicalgpt}}};
template <>
inline constexpr auto names_of<divergence_kind> =
    std::array<named<divergence_kind>, 3>{{{"jensen-shannon", divergence_kind::jensen_shannon}, {"forward", divergence_kind::forward}, {"reverse", divergence_kind::reverse}}};
template <>
inline constexpr auto names_of<reference_way> = std::array<named<reference_way>, 5>{{{"copy", reference_way::copy},
                                                                                     {"adapter-off", reference_way::adapter_off},
                                                                                     {"swapped", reference_way::swapped},
                                                                                     {"precomputed", reference_way::precomputed},
                                                                                     {"none", reference_way::none}}};
template <>
inline constexpr auto names_of<engine_kind> = std::array<named<engine_kind>, 5>{{{"trainer", engine_kind::trainer},
                                                                                 {"vllm", engine_kind::vllm},
                                                                                 {"vllm-0.8", engine_kind::vllm_0_8},
                                                                                 {"sglang", engine_kind::sglang},
                                                                                 {"hybrid", engine_kind::hybrid}}};
template <>
inline constexpr auto names_of<rollout_place> =
    std::array<named<rollout_place>, 2>{{{"colocated", rollout_place::colocated}, {"separate", rollout_place::separate}}};
template <>
inline constexpr auto names_of<trainer_part> =
    std::array<named<trainer_part>, 3>{{{"parameters", trainer_part::weights}, {"gradients", trainer_part::gradients}, {"optimizer", trainer_part::optimizer}}};
template <>
inline constexpr auto names_of<vendor> = std::array<named<vendor>, 7>{{{"nvidia", vendor::nvidia},
                                                                       {"amazon", vendor::amazon},
                                                                       {"amd", vendor::amd},
                                                                       {"google", vendor::google},
                                                                       {"huawei", vendor::huawei},
                                                                       {"intel", vendor::intel},
                                                                       {"cpu", vendor::cpu}}};

/// What a value is called; empty for one that a file cannot say (it is left out instead).
template <class E>
constexpr std::string_view text_of(E value) {
  for (const auto& n : names_of<E>)
    if (n.value == value) return n.text;
  return {};
}

template <class Table, class Text>
std::vector<std::string_view> texts(const Table& table, Text text) {
  std::vector<std::string_view> all;
  for (const auto& entry : table) all.push_back(text(entry));
  return all;
}

/// The enumerator that a string names. Throws job_error with the accepted names.
template <class E>
E name_at(const json_value& value, const std::string& path) {
  const auto accepted = texts(names_of<E>, [](const auto& n) { return n.text; });
  const auto& word = string_at(value, path, "one of " + listed(accepted));
  for (const auto& n : names_of<E>)
    if (n.text == word) return n.value;
  unknown_name(path, word, accepted);
}

}  // namespace headroom::io
