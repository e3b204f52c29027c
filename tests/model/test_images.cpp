// Distributed under the Boost Software License, Version 1.0.
// Images of a sample: what processors make of their sizes, and what towers read of them.
#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/model/images.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_images {

using namespace headroom;

namespace {

struct resized {
  detail::edges image;
  std::int64_t unit, least, most;
  detail::edges made;
};

job job_of(const char* model, const char* images, std::int64_t sequence = 8192) {
  auto j = io::json_value::parse(R"({"hardware": {"gpu": "h100-sxm-80gb"}, "framework": "hf-trainer", "precision": "bf16", "batch": {"micro": 1}})");
  j["model"] = model;
  j["batch"]["sequence"] = sequence;
  if (images != nullptr) j["batch"]["images"] = io::json_value::parse(images);
  return io::read_job(j, io::no_files);
}

std::string refused(const char* model, const char* images, std::int64_t sequence = 8192) {
  try {
    estimate(job_of(model, images, sequence));
  } catch (const job_error& e) {
    return e.what();
  }
  return {};
}

vision_shape seen_by(const char* model, const char* images) {
  const auto j = job_of(model, images);
  return seen(j.model.vision, j.batch.images);
}

}  // namespace

TEST_CASE("Qwen-VL's processor resizes as transformers does") {
  // smart_resize of transformers 5.16, run in Python. 209,720 further sizes agreed when this was written.
  constexpr resized rows[] = {
      {{1280, 720}, 28, 3136, 12845056, {1288, 728}},     {{1000, 1000}, 28, 3136, 200704, {448, 448}},      {{1000, 1000}, 28, 3136, 12845056, {1008, 1008}},
      {{14, 14}, 28, 3136, 12845056, {56, 56}},           {{42, 70}, 28, 3136, 12845056, {56, 56}},          {{4096, 4096}, 28, 3136, 12845056, {3584, 3584}},
      {{8000, 6000}, 28, 3136, 12845056, {4116, 3080}},   {{3000, 3000}, 28, 3136, 1000000, {980, 980}},     {{448, 448}, 28, 3136, 589824, {448, 448}},
      {{1920, 1080}, 28, 3136, 589824, {1008, 560}},      {{500, 40}, 28, 3136, 1003520, {504, 28}},         {{2800, 1400}, 28, 3136, 802816, {1260, 616}},
      {{640, 480}, 32, 65536, 16777216, {640, 480}},      {{100, 120}, 32, 65536, 16777216, {256, 288}},     {{6545, 4774}, 32, 3136, 200704, {512, 352}},
      {{679, 499}, 28, 3136, 501760, {672, 504}},         {{117, 41}, 28, 65536, 200704, {448, 168}},        {{613, 1059}, 32, 65536, 200704, {320, 576}},
      {{2562, 4655}, 28, 3136, 501760, {504, 952}},       {{7136, 2010}, 28, 65536, 12845056, {6748, 1876}}, {{30, 9}, 32, 50176, 589824, {416, 128}},
      {{28, 63}, 32, 65536, 501760, {192, 384}},          {{50, 19}, 28, 65536, 501760, {420, 168}},         {{21, 57}, 28, 50176, 501760, {140, 392}},
  };
  for (const auto& r : rows) {
    CAPTURE(r.image.width);
    CAPTURE(r.image.height);
    const auto made = detail::smart_resize(r.image, r.unit, r.least, r.most);
    CHECK(made.width == r.made.width);
    CHECK(made.height == r.made.height);
  }
  static_assert(detail::smart_resize({1280, 720}, 28, 3136, 12845056).width == 1288);
}

TEST_CASE("LLaVA-NeXT's tiles and Pixtral's edges are those of transformers") {
  // select_best_resolution and get_resize_output_image_size of transformers 5.16, run in Python.
  constexpr std::int64_t tiles[][3] = {{336, 336, 3}, {672, 672, 5}, {1280, 720, 5}, {300, 1500, 4}, {1500, 300, 4}, {100, 100, 3}, {500, 340, 5}};
  for (const auto& [width, height, made] : tiles) CHECK(detail::best_tiles({width, height}, 336) == made);
  // get_number_of_image_patches of image_processing_idefics3.py, run in Python.
  constexpr std::int64_t split[][3] = {{640, 480, 13}, {1080, 1920, 13}, {512, 512, 17}, {1500, 10, 5}, {10, 1500, 5}, {1000, 500, 9}, {1000, 501, 13}, {1000, 251, 9}, {1000, 250, 5}, {100, 99, 17}};
  for (const auto& [width, height, made] : split)
    for (const std::int64_t tile : {364, 384, 512}) CHECK(detail::split_tiles({width, height}, tile) == made);
  constexpr std::int64_t longest[][4] = {{1540, 1540, 1540, 1540}, {3000, 2000, 1540, 1036}, {100, 50, 112, 56}, {1541, 700, 1540, 700}, {4032, 3024, 1540, 1176}, {29, 28, 56, 28}};
  for (const auto& [width, height, wide, high] : longest) {
    CHECK(detail::fit_longest({width, height}, 1540, 28).width == wide);
    CHECK(detail::fit_longest({width, height}, 1540, 28).height == high);
  }
}

TEST_CASE("images of a job reach its tower") {
  const auto v = seen_by("qwen2.5-vl-7b", R"({"count": 2, "width": 1280, "height": 720})");
  CHECK(v.image == 1288);
  CHECK(v.image_height == 728);
  CHECK(patches_of_tile(v) == 92 * 52);
  CHECK(image_tokens(v) == 2 * 46 * 26);
  CHECK(image_tokens(seen_by("qwen2.5-vl-7b", R"({"width": 1280, "height": 720, "max_pixels": 200704})")) == 21 * 12);  // 588 x 336
  CHECK(image_tokens(seen_by("gemma-3-4b", R"({"count": 3})")) == 3 * 256);
  CHECK(image_tokens(seen_by("llava-1.5-7b", R"({"count": 2, "width": 500, "height": 300})")) == 2 * 576);
  CHECK(image_tokens(seen_by("llava-1.5-7b", "{}")) == 576);

  // The head of a report says what is read, stated or not.
  const auto head = [](const char* model, const char* images) { return io::detail::plan_text(job_of(model, images)); };
  CHECK(head("qwen2.5-vl-7b", R"({"count": 2, "width": 1280, "height": 720})") == "hf-trainer, batch 1 x 8,192, 2 images of 1,288 x 728 pixels");
  CHECK(head("llava-1.5-7b", nullptr) == "hf-trainer, batch 1 x 8,192, 1 image of 336 x 336 pixels");
  CHECK(head("llama-3.1-8b", nullptr) == "hf-trainer, batch 1 x 8,192");

  // The same grid, given as the model's own image, occupies the same.
  auto same = job_of("qwen2.5-vl-7b", nullptr);
  same.model.vision.image = 1288;
  same.model.vision.image_height = 728;
  const auto one = job_of("qwen2.5-vl-7b", R"({"width": 1280, "height": 720})");
  CHECK(estimate(one).ranks[0].allocated == estimate(same).ranks[0].allocated);
  // Four times the pixels: four times what a layer of the tower saves, and more than three times what the first image added.
  const auto added = [&](const char* images) { return (estimate(job_of("qwen2.5-vl-7b", images)).ranks[0].allocated - estimate(job_of("qwen2.5-vl-7b", R"({"width": 28, "height": 112})")).ranks[0].allocated).count(); };
  const auto small = added(R"({"width": 1120, "height": 1120})"), large = added(R"({"width": 2240, "height": 2240})");
  CHECK(static_cast<double>(large) / static_cast<double>(small) == doctest::Approx(4.0).epsilon(0.15));
  CHECK(io::read_job(io::job_to_json(one), io::no_files) == one);
}

TEST_CASE("images that a model cannot see are refused") {
  const auto says = [](const std::string& sentence, const char* part) { return sentence.find(part) != std::string::npos; };
  CHECK(says(refused("qwen2.5-vl-7b", nullptr), "batch.images must say how large the images are"));
  CHECK(says(refused("qwen2.5-vl-7b", R"({"count": 2})"), "must have a width and a height: this tower reads images of any size; count (found 2)"));
  CHECK(says(refused("qwen2.5-vl-7b", R"({"width": 640})"), "must have a width and a height, or neither; width (found 640)"));
  CHECK(says(refused("qwen2.5-vl-7b", R"({"width": 1280, "height": 720})", 1024), "batch.sequence must hold the tokens of a sample's images; they are (found 1196)"));
  CHECK(refused("qwen2.5-vl-7b", R"({"width": 1280, "height": 720})", 1196).empty());
  CHECK(says(refused("qwen2.5-vl-7b", R"({"width": 10000, "height": 40})"), "no edge may be more than 200 times the other"));
  CHECK(says(refused("qwen2.5-vl-7b", R"({"width": 640, "height": 640, "min_pixels": 9, "max_pixels": 8})"), "min_pixels must be at most max_pixels"));
  CHECK(refused("qwen2.5-vl-7b", R"({"width": 640, "height": 640, "min_pixels": 9})").empty());  // and no most
  CHECK(says(refused("llama-3.1-8b", R"({"count": 2})"), "the model has no vision tower"));
  CHECK(says(refused("gemma-3-4b", R"({"max_pixels": 200000})"), "are Qwen-VL's"));
  CHECK(says(refused("vit-base-patch16-224", R"({"count": 2})", 197), "batch.micro counts them"));
  CHECK(says(refused("qwen2.5-vl-7b", R"({"width": 2000000, "height": 2000000})"), "at most 1048576 pixels"));
}

// smart_resize of transformers 5.17 models/qwen2_vl/video_processing_qwen2_vl.py, run in Python, with its class's limits of a frame; patchify joins two frames.
TEST_CASE("a video is so many pairs of frames, each resized as an image is") {
  const auto tokens = [](const char* model, const char* images) { return image_tokens(seen_by(model, images)); };
  CHECK(tokens("qwen2.5-vl-7b", R"({"width": 1280, "height": 720, "frames": 2})") == 720);
  CHECK(tokens("qwen2.5-vl-7b", R"({"width": 1920, "height": 1080, "frames": 16})") == 8 * 720);
  CHECK(tokens("qwen2-vl-7b", R"({"width": 320, "height": 240, "frames": 5})") == 3 * 140);  // the last frame a second time
  CHECK(tokens("qwen2.5-vl-7b", R"({"width": 200, "height": 200, "frames": 4, "count": 3})") == 3 * 2 * 144);
  CHECK(tokens("qwen2.5-vl-7b", R"({"width": 3840, "height": 2160, "frames": 8, "max_pixels": 200704})") == 4 * 252);
  CHECK(tokens("qwen3-vl-4b", R"({"width": 640, "height": 480, "frames": 8, "min_pixels": 65536, "max_pixels": 131072})") == 4 * 117);
  // Two frames a second, four at least and 768 at most.
  CHECK(tokens("qwen2.5-vl-7b", R"({"width": 320, "height": 240, "seconds": 1})") == 2 * 140);
  CHECK(tokens("qwen2.5-vl-7b", R"({"width": 320, "height": 240, "seconds": 30})") == 30 * 140);
  CHECK(tokens("qwen2.5-vl-7b", R"({"width": 320, "height": 240, "seconds": 500, "min_pixels": 3136, "max_pixels": 602112})") == 384 * 9 * 11);
  // A pair of frames attends to itself alone: as many images of that size occupy the same.
  const auto video = job_of("qwen2.5-vl-7b", R"({"width": 1280, "height": 720, "frames": 16})"), images = job_of("qwen2.5-vl-7b", R"({"width": 1008, "height": 560, "count": 8})");
  CHECK(estimate(video).ranks[0].allocated == estimate(images).ranks[0].allocated);
  CHECK(io::detail::plan_text(video) == "hf-trainer, batch 1 x 8,192, 1 video of 16 frames of 1,008 x 560 pixels");
  CHECK(io::read_job(io::job_to_json(video), io::no_files) == video);

  const auto says = [](const std::string& sentence, const char* part) { return sentence.find(part) != std::string::npos; };
  const char* const limits = "min_pixels and max_pixels must say what a frame of a video has";
  CHECK(says(refused("qwen3-vl-4b", R"({"width": 640, "height": 480, "frames": 8})"), limits));
  CHECK(says(refused("qwen2.5-vl-7b", R"({"width": 64, "height": 64, "frames": 302})", 1 << 20), limits));
  CHECK(refused("qwen2.5-vl-7b", R"({"width": 64, "height": 64, "frames": 300})", 1 << 20).empty());
  CHECK(says(refused("qwen2.5-vl-7b", R"({"width": 640, "height": 480, "frames": 8, "seconds": 4})"), "frames or seconds"));
  CHECK(says(refused("qwen2.5-vl-7b", R"({"width": 640, "height": 480, "frames": 1})"), "from 2 to 65536"));
  // A video of no seconds is none; that it is left out says so.
  const auto unread = [](const char* said) {
    try {
      (void)job_of("qwen2.5-vl-7b", said);
    } catch (const error& e) {
      return std::string{e.what()};
    }
    return std::string{};
  };
  CHECK(unread(R"({"width": 64, "height": 64, "seconds": 0})") == "headroom: batch.images.seconds must be a whole number from 1 to 1000000, found 0");
  CHECK(unread(R"({"width": 64, "height": 64, "seconds": 1000001})") == "headroom: batch.images.seconds must be a whole number from 1 to 1000000, found 1000001");
  CHECK(unread(R"({"width": 64, "height": 64, "frames": 65537})") == "headroom: batch.images.frames must be a whole number from 0 to 65536, found 65537");
  CHECK(job_of("qwen2.5-vl-7b", R"({"width": 64, "height": 64, "frames": 0})") == job_of("qwen2.5-vl-7b", R"({"width": 64, "height": 64})"));
  CHECK(job_of("qwen2.5-vl-7b", R"({"width": 64, "height": 64, "seconds": 1000000, "max_pixels": 3136})").batch.images.seconds == 1'000'000);
  CHECK(says(refused("gemma-3-4b", R"({"frames": 8})"), "of videos that Qwen-VL's towers read"));
  CHECK(says(refused("qwen2.5-vl-7b", R"({"width": 1280, "height": 720, "frames": 16})", 5759), "they are (found 5760)"));
}

TEST_CASE("images of unlike size are as many pixels as they have on average") {
  // 1288 x 728 and 448 x 448 behind the processor, two samples: as many patches in all.
  const auto apart = [](const char* images) { return patches_of_tile(seen_by("qwen2.5-vl-7b", images)); };
  CHECK(apart(R"({"pixels": 569184})") * 2 == apart(R"({"width": 1288, "height": 728})") + apart(R"({"width": 448, "height": 448})"));
  CHECK(apart(R"({"pixels": 569185})") == apart(R"({"pixels": 569184})") + 4);  // whole merged patches
  const auto same = job_of("qwen2.5-vl-7b", R"({"width": 1288, "height": 728})"), counted = job_of("qwen2.5-vl-7b", R"({"pixels": 937664})");
  CHECK(estimate(counted).ranks[0].allocated == estimate(same).ranks[0].allocated);
  CHECK(io::detail::plan_text(counted) == "hf-trainer, batch 1 x 8,192, 1 image of 937,664 pixels");
  const auto says = [](const std::string& sentence, const char* part) { return sentence.find(part) != std::string::npos; };
  CHECK(says(refused("qwen2.5-vl-7b", R"({"pixels": 937664, "max_pixels": 200704})"), "stands for width, height, min_pixels and max_pixels"));
  CHECK(says(refused("gemma-3-4b", R"({"pixels": 937664})"), "for towers that read any size"));
  auto eager = counted;
  eager.attention = attention::eager;
  CHECK_THROWS_WITH_AS(estimate(eager), doctest::Contains("says nothing of an image's edges"), job_error);
}

TEST_CASE("Qwen3-VL's deep mergers keep what their three matrices read") {
  // 448 × 448 pixels: 28 × 28 patches of 1024 features, merged by fours. Each deep merger keeps its norm's result, what its first matrix made and
  // what its second reads, each as large as the patches in bf16, and mean and root of each of 196 rows.
  auto j = job_of("qwen3-vl-4b", R"({"width": 448, "height": 448})", 1024);
  CHECK(image_tokens(seen(j.model.vision, j.batch.images)) == 196);
  const auto kept = [](const job& asked) {
    const auto s = settle(asked);
    const shape tower = tower_shape(s.model.vision);
    const adapter none{};
    const auto t = tower_scene(s.layer, tower, s.model.vision, none, true);
    return walk_forward(projector(t, s.model, true, true, true)).saved.count();
  };
  const auto with = kept(j);
  j.model.vision.deep_mergers = 0;
  CHECK(with - kept(j) == 3 * (3 * 2 * 784 * 1024 + 2 * 1024));  // 784 bytes of means and as many of roots, each in two blocks of 512
  j.model.vision.deep_mergers = 5;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("model.vision.deep_mergers must be at most 4, beside a merger (found 5)"), job_error);
}

// Made by both functions themselves (images.hpp names them), which agree on 3,000 drawn sizes.
TEST_CASE("InternVL's tiles are those of its own code and of transformers") {
  struct cut {
    std::int64_t width, height, tiles;
  };
  for (const auto& c : {cut{448, 448, 1}, cut{1344, 896, 7}, cut{2688, 1792, 7}, cut{640, 480, 13}, cut{1920, 1080, 9}, cut{1000, 1000, 10}, cut{640, 640, 5}, cut{500, 200, 11}, cut{3000, 250, 13}, cut{100, 1200, 13}, cut{224, 224, 1},
                        cut{900, 900, 5}, cut{1280, 720, 9}, cut{336, 1008, 4}}) {
    CAPTURE(c.width);
    CAPTURE(c.height);
    CHECK(detail::nearest_tiles({c.width, c.height}, 448) == c.tiles);
  }
  const auto says = [](const std::string& sentence, const char* part) { return sentence.find(part) != std::string::npos; };
  const auto j = job_of("internvl3-8b", R"({"width": 1344, "height": 896})");
  CHECK(image_tokens(seen(j.model.vision, j.batch.images)) == 7 * 256);
  CHECK(image_tokens(seen(j.model.vision, {})) == 256);  // no size: as large as a tile
  CHECK(says(refused("internvl3-8b", R"({"width": 1344, "height": 896})", 1024), "1792"));
  CHECK(io::detail::plan_text(j) == "hf-trainer, batch 1 x 8,192, 7 images of 448 x 448 pixels, at most 12 tiles of each");
  // max_dynamic_patch of the file, and a file that cuts nothing.
  auto fewer = j;
  fewer.model.vision.grid = 4;
  CHECK(image_tokens(seen(fewer.model.vision, j.batch.images)) == 5 * 256);  // 2 x 2, as near as 2 x 1, and the whole
  CHECK(io::detail::plan_text(fewer) == "hf-trainer, batch 1 x 8,192, 5 images of 448 x 448 pixels, at most 4 tiles of each");
  const auto read = [](const char* beside) {
    auto config = io::json_value::parse(R"({"architectures": ["InternVLChatModel"], "model_type": "internvl_chat", "llm_config": {"model_type": "qwen2", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
      "intermediate_size": 128, "vocab_size": 100}, "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "num_hidden_layers": 2, "image_size": 448, "norm_type": "layer_norm", "qkv_bias": true, "qk_normalization": false}})");
    config.update(io::json_value::parse(beside));
    return io::model_from_config(config).vision.grid;
  };
  CHECK(read("{}") == 0);
  CHECK(read(R"({"max_dynamic_patch": 12, "dynamic_image_size": true})") == 0);
  CHECK(read(R"({"max_dynamic_patch": 6})") == 6);
  CHECK(read(R"({"dynamic_image_size": false})") == 1);
  CHECK(says(refused("internvl3-8b", R"({"width": 1344, "height": 896, "count": 2})"), "give model.vision.slices for all images of a sample"));
  auto sliced = job_of("internvl3-8b", nullptr);
  sliced.model.vision.slices = 12;
  CHECK(image_tokens(seen(sliced.model.vision, {.count = 2})) == 24 * 256);
  auto transformers = job_of("internvl3-8b", R"({"width": 1344, "height": 896, "count": 2})").model.vision;
  transformers.kind = vision_kind::internvl;
  CHECK(image_tokens(seen(transformers, {.count = 2, .width = 1344, .height = 896})) == 14 * 256);
}

}  // namespace test_images
