// Distributed under the Boost Software License, Version 1.0.
// Configurations that a script makes of another file, by sed or cp: what GNU sed 4.9 leaves of these texts is written beside each.
#include "imported.hpp"

#include <headroom/io/syntax/shell.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_filled_templates {

using namespace imported;

namespace {

/// deepspeedai/Megatron-DeepSpeed examples_deepspeed/rebase/ds_pretrain_gpt_13B.sh, shortened, and ds_config_gpt_TEMPLATE.json beside it.
const std::string filled = R"(STAGE=${STAGE:-1}
MICRO=2
config_json="ds_config_gbs64_mbs${MICRO}_zero${STAGE}.json"
template_json="ds_config_gpt_TEMPLATE.json"
sed "s/GBSIZE/64/" ${template_json} \
    | sed "s/MBSIZE/${MICRO}/" \
    | sed "s/ZERO_STAGE/${STAGE}/" \
      > ${config_json}
)";
const std::string starts = R"(deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 2 --global-batch-size 64 --fp16 --data-impl mmap --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --deepspeed --deepspeed_config ${config_json} --zero-stage ${STAGE}
)";
const imported::text of_fork{"ds_config_gpt_TEMPLATE.json", R"({
  "train_batch_size": GBSIZE,
  "train_micro_batch_size_per_gpu": MBSIZE,
  "zero_optimization": {
    "stage": ZERO_STAGE
  },
  "fp16": {"enabled": true, "loss_scale": 0}
})"};
/// A training of the Trainer's whose ds.json the script changes before it starts.
std::string why_changed(const std::string& before, std::int32_t* stage = nullptr) {
  const std::vector<imported::text> files{{"run.sh", before + "\ndeepspeed --num_gpus 8 run_clm.py --model_name_or_path meta-llama/Llama-2-7b-hf --do_train --dataset_name x --output_dir o --deepspeed ds.json --bf16 True --per_device_train_batch_size 2 --block_size 512\n"},
                                {"ds.json", R"({"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto"})"}};
  const auto why = refusal_of(files);
  if (why.empty() && stage != nullptr) *stage = static_cast<std::int32_t>(job_of(files).sharding.stage);
  return why;
}
std::string left(const std::string& script) {
  const auto files = io::read_shell("cat > a.json <<'EOF'\nx AB AB\nAB \"q\"/1\nEOF\n" + script, "s.sh").files;
  return files.back().plain ? files.back().text : "not read";
}

}  // namespace

TEST_CASE("a template that the script fills in is the configuration") {
  const auto j = job_of({{"run.sh", filled + starts}, of_fork});
  CHECK(j.sharding.stage == 1);
  CHECK(j.batch.micro == 2);
  CHECK(j.batch.accumulation == 4);  // 64 / 2 / 8
  CHECK(job_of({of_fork, {"e.env", "STAGE=0\n"}, {"run.sh", filled + starts}}).sharding.stage == 0);
  // A part of a pipe that begins with cat, one call with several expressions, tee.
  CHECK(job_of({{"run.sh", "STAGE=1\nconfig_json=c.json\ncat ds_config_gpt_TEMPLATE.json | sed -e 's/GBSIZE/64/' -e 's|MBSIZE|2|;s#ZERO_STAGE#1#g' | tee c.json > /dev/null\n" + starts}, of_fork}) == j);
  // Two that are made of one.
  CHECK(job_of({{"run.sh", "STAGE=1\nsed 's/x/y/' ds_config_gpt_TEMPLATE.json > other.json\n" + filled + starts}, of_fork}) == j);
}

TEST_CASE("what is not there, not said or no word is asked for") {
  CHECK(refusal_of({{"run.sh", filled + starts}}) ==
        "headroom: run.sh:9: names \"ds_config_gpt_TEMPLATE.json\", of which the script makes \"ds_config_gbs64_mbs2_zero1.json\", which no file here is: give it, too, or --set sharding=zero3");
  auto open = filled;
  open.replace(open.find("s/GBSIZE/64/"), 12, "s/GBSIZE/$(nproc)/");
  CHECK(holds(refusal_of({{"run.sh", open + starts}, of_fork}), "holds a value that the script does not say, \"$(nproc)\": add --env NAME=VALUE"));
  auto pattern = filled;
  pattern.replace(pattern.find("s/GBSIZE/64/"), 12, "s/GB.*/64,/");
  CHECK(holds(refusal_of({{"run.sh", pattern + starts}, of_fork}), "run.sh:5: \"ds_config_gbs64_mbs2_zero1.json\" is made by sed with what is no word but a pattern, which is not read"));
  CHECK(holds(refusal_of({{"run.sh", "STAGE=1\nconfig_json=c.json\nif [ -f x ]; then sed 's/MBSIZE/2/' ds_config_gpt_TEMPLATE.json > c.json; fi\n" + starts}, of_fork}), "is written in a branch of which the script does not say whether it runs"));
  // Alone a template is no configuration, and beside a script that does not fill it in neither.
  CHECK(holds(refusal_of({of_fork}), "headroom: ds_config_gpt_TEMPLATE.json is not valid JSON: line 2, column 23"));
  CHECK(holds(refusal_of({{"run.sh", "STAGE=1\nconfig_json=c.json\n" + starts}, of_fork}), "is not valid JSON"));
}

TEST_CASE("a file that a script changes in place is another one when the training starts") {
  std::int32_t stage = 0;
  CHECK(why_changed("", &stage).empty());
  CHECK(stage == 2);
  CHECK(why_changed("sed -i 's/\"stage\": 2/\"stage\": 3/' ds.json", &stage).empty());
  CHECK(stage == 3);
  CHECK(why_changed("cp ds.json old.json\nsed -i \"s/: 2/: 1/\" ./ds.json", &stage).empty());
  CHECK(stage == 1);
  CHECK(holds(why_changed("sed -i 's/\"stage\": ./\"stage\": 3/' ds.json"), "run.sh:1: \"ds.json\" is made by sed with what is no word but a pattern"));
  CHECK(why_changed("sed -i 's/a.*/b/' hosts.txt").empty());
}

TEST_CASE("sed's words") {
  CHECK(left("sed 's/AB/1/' a.json > b.json") == "x 1 AB\n1 \"q\"/1\n");
  CHECK(left("sed 's/AB/AB1/g' a.json > b.json") == "x AB1 AB1\nAB1 \"q\"/1\n");
  CHECK(left("sed 's/\"q\"\\/1/2/; s,x,y,' a.json > b.json") == "y AB AB\nAB 2\n");
  CHECK(left("sed -i 's/AB//g' a.json") == "x  \n \"q\"/1\n");
  for (const std::string more : {"s/A./1/", "s/AB/&1/", "s/AB/1/2", "s/AB/1/I", "/AB/d", "s/A\\(B\\)/1/", "y/A/B/"}) CHECK(left("sed '" + more + "' a.json > b.json") == "not read");
  CHECK(left("sed -n 's/AB/1/p' a.json > b.json") == "not read");
  // What grows is cut off.
  std::string doubles = "cat > a.json <<'EOF'\nab\nEOF\n";
  for (int i = 0; i < 40; ++i) doubles += "sed -i 's/a/aa/g' a.json\n";
  CHECK_THROWS_AS(io::read_shell(doubles, "s.sh"), job_error);
}

}  // namespace test_filled_templates

#endif
