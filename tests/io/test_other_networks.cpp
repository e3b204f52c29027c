// Distributed under the Boost Software License, Version 1.0.
// Files, names and scripts of networks that are no language model are refused by what they are.
#include <headroom/io/counted.hpp>

#include <doctest/doctest.h>

#include <string>

#include "imported.hpp"

namespace test_other_networks {

using namespace headroom;
using nlohmann::json;

namespace {

const std::string only_language = ". This version models language models, with the towers that see and hear for them, and encoders";

std::string why(const auto& run) {
  try {
    run();
  } catch (const job_error& e) {
    return e.what();
  }
  return "taken";
}
std::string counted(const json& config) {
  return why([&] { (void)io::count_config(config); });
}
std::string imported_file(const char* name, const std::string& text) {
  return why([&] { (void)imported::draft_of({{name, text}}); });
}

}  // namespace

TEST_CASE("a configuration of another library is refused by its class") {
  const json flux = {{"_class_name", "FluxTransformer2DModel"}, {"_diffusers_version", "0.30.0"}, {"num_layers", 19}};
  const auto sentence = "is \"FluxTransformer2DModel\", a class of diffusers, which makes pictures, video or sound by diffusion" + only_language;
  CHECK(counted(flux) == "headroom: config._class_name " + sentence);
  CHECK(why([&] { (void)io::model_from_config(flux); }) == "headroom: config._class_name " + sentence);
  CHECK(imported_file("config.json", flux.dump()).find("_class_name " + sentence) != std::string::npos);
  CHECK(imported_file("model_index.json", R"({"_class_name": "StableDiffusionXLPipeline", "unet": ["diffusers", "UNet2DConditionModel"]})").find("\"StableDiffusionXLPipeline\", a class of diffusers") != std::string::npos);
  CHECK(counted({{"_diffusers_version", "0.30.0"}}).find("says that this is a file of diffusers") != std::string::npos);
  CHECK(counted({{"architecture", "resnet50"}, {"pretrained_cfg", {{"tag", "a1_in1k"}}}}) == "headroom: config.pretrained_cfg says that this is a network of timm, for pictures alone" + only_language);
  CHECK(counted({{"registered_name", "keras_hub>GemmaCausalLM"}, {"config", json::object()}}).find("a file of Keras") != std::string::npos);
  CHECK(counted({{"peft_type", "LORA"}, {"r", 8}}) == "headroom: config.peft_type says that this is an adapter's file: give the config.json of the model that it adapts, and the adapter as the job's adapter");
  CHECK(counted({{"__version__", {{"sentence_transformers", "5.0"}}}}).find("sentence-transformers' own") != std::string::npos);
  // A model_type says more than such a key.
  CHECK(counted({{"model_type", "llama"}, {"architectures", {"LlamaForCausalLM"}}, {"_class_name", "x"}}).find("_class_name is not known for model_type \"llama\"") != std::string::npos);
  CHECK(counted(json::object()) == "headroom: config must have a model_type or architectures; without one its family is unknown");
}

TEST_CASE("a diffusion model's name and its scripts are refused by what they make") {
  const auto named = [](const char* name) { return why([&] { (void)io::read_model_named(name, "model", io::no_files); }); };
  for (const char* name : {"black-forest-labs/FLUX.1-dev", "stabilityai/stable-diffusion-xl-base-1.0", "Qwen/Qwen-Image", "Wan-AI/Wan2.2-T2V-A14B-Diffusers"}) {
    CAPTURE(name);
    CHECK(named(name) == "headroom: model \"" + std::string{name} + "\" makes pictures or video by diffusion" + only_language);
  }
  CHECK(named("qwen-imagine").find("diffusion") == std::string::npos);
  CHECK(named("fluxions").find("diffusion") == std::string::npos);
  CHECK(imported_file("run.sh", "accelerate launch --mixed_precision=bf16 examples/train_dreambooth_lora_flux.py --resolution 512\n") ==
        "headroom: run.sh starts no training that is known here: \"examples/train_dreambooth_lora_flux.py\" trains a network that makes pictures or video by diffusion" + only_language);
  CHECK(imported_file("run.sh", "accelerate launch sdxl_train_network.py --network_dim 8\n").find("by diffusion") != std::string::npos);
  CHECK(imported_file("run.sh", "accelerate launch my_train.py --network_dim 8\n").find("is no program whose arguments are known") != std::string::npos);
}

}  // namespace test_other_networks
