# Distributed under the Boost Software License, Version 1.0.
"""Jobs of `measure.py trainer`, the most telling first: families of models cut in depth, what people change of the usual ones, models that see.

Configurations: tests/data/models_2026.json, models.json and the defaults of transformers 5.17.0's own classes, with fewer layers and experts."""

from __future__ import annotations

from typing import Any

Job = dict[str, Any]
PLAIN = {"parameters": "bf16", "compute": "bf16", "autocast": False}  # weights of 16 bits, and no bf16=True, which the word bf16 means of the Trainer
CUT = {"vocab_size": 32768, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def config(kind: str, architecture: str, **keys: Any) -> Job:
    return {"model_type": kind, "architectures": [architecture], **keys}


def decoder(kind: str, architecture: str, layers: int, hidden: int, heads: int, kv: int, ffn: int, **keys: Any) -> Job:
    return config(kind, architecture, num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, num_key_value_heads=kv,
                  intermediate_size=ffn, **CUT | {"max_position_embeddings": 8192} | keys)


def job(model: Job, micro: int = 2, sequence: int = 1024, **keys: Any) -> Job:
    batch = {"micro": micro, "sequence": sequence, **keys.pop("batch", {})}
    return {"model": model, "framework": "hf-trainer", "precision": PLAIN, "optimizer": {"name": "adamw", "implementation": "fused"},
            "attention": "sdpa", "batch": batch, **keys}


LLAMA = decoder("llama", "LlamaForCausalLM", 4, 2048, 32, 8, 8192, head_dim=64, tie_word_embeddings=True)
QWEN2 = decoder("qwen2", "Qwen2ForCausalLM", 4, 1536, 12, 2, 8960, tie_word_embeddings=True)
QWEN3 = decoder("qwen3", "Qwen3ForCausalLM", 4, 2048, 16, 8, 6144, head_dim=128, tie_word_embeddings=True)
GEMMA3 = decoder("gemma3_text", "Gemma3ForCausalLM", 6, 1152, 4, 1, 6912, head_dim=256, tie_word_embeddings=True, sliding_window=512)
GEMMA2 = decoder("gemma2", "Gemma2ForCausalLM", 4, 2304, 8, 4, 9216, head_dim=256, tie_word_embeddings=True)
MISTRAL = decoder("mistral", "MistralForCausalLM", 2, 4096, 32, 8, 14336, head_dim=128, sliding_window=None)
PHI3 = decoder("phi3", "Phi3ForCausalLM", 3, 3072, 32, 32, 8192)
QWEN3_MOE = decoder("qwen3_moe", "Qwen3MoeForCausalLM", 3, 2048, 32, 4, 6144, head_dim=128, moe_intermediate_size=768, num_experts=32,
                    num_experts_per_tok=8, decoder_sparse_step=1, norm_topk_prob=True)
GPT_OSS = decoder("gpt_oss", "GptOssForCausalLM", 2, 2880, 64, 8, 2880, head_dim=64, num_local_experts=8, num_experts_per_tok=4, sliding_window=128)
QWEN3_5 = decoder("qwen3_5_text", "Qwen3_5ForCausalLM", 4, 2560, 16, 4, 9216, head_dim=256, linear_num_key_heads=16, linear_num_value_heads=32,
                  linear_key_head_dim=128, linear_value_head_dim=128, linear_conv_kernel_dim=4, tie_word_embeddings=True)
GEMMA4 = decoder("gemma4_text", "Gemma4ForCausalLM", 6, 1536, 8, 1, 6144, head_dim=256, global_head_dim=512, hidden_size_per_layer_input=256,
                 vocab_size_per_layer_input=32768, num_kv_shared_layers=0, tie_word_embeddings=True)
DEEPSEEK3 = decoder("deepseek_v3", "DeepseekV3ForCausalLM", 3, 2048, 16, 16, 8192, moe_intermediate_size=1024, n_routed_experts=16, n_shared_experts=1,
                    num_experts_per_tok=4, n_group=4, topk_group=2, first_k_dense_replace=1, q_lora_rank=768, kv_lora_rank=512,
                    qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128)
GPT2 = config("gpt2", "GPT2LMHeadModel", n_layer=6, n_embd=1024, n_head=16, n_positions=1024, vocab_size=32768, resid_pdrop=0.0, embd_pdrop=0.0,
              attn_pdrop=0.0, bos_token_id=1, eos_token_id=2)
BERT = config("bert", "BertForMaskedLM", num_hidden_layers=6, hidden_size=1024, num_attention_heads=16, intermediate_size=4096, vocab_size=30522,
              max_position_embeddings=512, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
USUAL = {"llama": LLAMA, "qwen2": QWEN2, "qwen3": QWEN3, "gemma3": GEMMA3, "gemma2": GEMMA2, "mistral": MISTRAL, "phi3": PHI3, "qwen3-moe": QWEN3_MOE,
         "gpt-oss": GPT_OSS, "qwen3.5": QWEN3_5, "gemma4": GEMMA4, "deepseek-v3": DEEPSEEK3, "gpt2": GPT2}
EAGER_ONLY = {"gpt-oss"}
FIRST = {"qwen3.5", "qwen3-next", "granite-4-h", "nemotron-h", "mamba", "mamba2", "falcon-h1", "falcon-mamba", "jamba", "bamba", "rwkv", "zamba2", "kimi-linear",
         "olmo-hybrid", "qwen3.5-moe", "minimax", "lfm2", "lfm2-moe"}
HALF = ("gemma3-vl", "qwen2.5-vl", "qwen3-vl", "qwen2-vl", "qwen3.5-vl", "paligemma", "gpt-oss", "smolvlm", "idefics3", "phimoe", "falcon-h1", "bamba", "mamba2",
        "nemotron-h", "granite-4-h", "glm", "mistral-fp32", "mistral-autocast", "ministral", "apertus", "seed-oss")  # micro-batches of one: two would not fit beside others
LATER = ("cohere2", "zamba2", "aya-vision", "kimi-linear", "rwkv", "longcat-flash", "diffllama")  # which headroom refuses
MASKED = {"bert", "roberta", "xlm-roberta", "modernbert", "electra", "distilbert", "albert", "eurobert"}
ALL = {"kind": "lora", "rank": 16, "targets": "all-linear", "format": "fp32"}
QV = {"kind": "lora", "rank": 16, "targets": ["q_proj", "v_proj"], "format": "fp32"}
BOTH = {"parameters": "bf16", "compute": "bf16", "gradients": "bf16", "state": "bf16", "autocast": True}


def of(name: str, model: Job, **keys: Any) -> Job:
    """The usual job of a family: no recurrence has fused kernels here, BERTs end at 512 tokens."""
    if name in EAGER_ONLY:
        keys.setdefault("attention", "eager")
    if name in FIRST:
        keys.setdefault("recurrence", "eager")
        keys.setdefault("sequence", 256 if name in ("mamba", "falcon-mamba", "jamba", "rwkv", "falcon-h1", "bamba", "mamba2", "nemotron-h", "granite-4-h") else 512)
    if name in MASKED:
        keys = {"micro": 8, "sequence": 512} | keys
    return job(model, **keys)


def variants(name: str, model: Job) -> list[tuple[str, Job]]:
    """What people change: precision, checkpoints, attention, padding, accumulation, adapters, optimizers."""
    found = [("autocast", {"precision": "bf16-autocast"}), ("recompute", {"recompute": "full"}), ("bf16-and-autocast", {"precision": BOTH}),
             ("autocast-recompute", {"precision": "bf16-autocast", "recompute": "full"}), ("eager", {"attention": "eager"}),
             ("padded", {"batch": {"padded": True}}), ("lora", {"adapter": ALL}), ("lora-recompute", {"adapter": ALL, "recompute": "full"}),
             ("fp32", {"precision": "fp32"}), ("accumulation", {"batch": {"accumulation": 2}}),
             ("reentrant", {"recompute": {"mode": "full", "reentrant": True}}), ("lora-qv-autocast", {"adapter": QV, "precision": "bf16-autocast"})]
    left = {"eager"} if name in EAGER_ONLY else set()
    left |= {"lora-qv-autocast"} if name in ("phi3", "gpt2", "deepseek-v3") else set()
    left |= {"lora", "lora-recompute"} if name in ("gpt-oss", "qwen3-moe", "deepseek-v3") else set()  # experts are no linear layers
    return [(f"{name}-{title}", of(name, model, **keys)) for title, keys in found if title not in left]


def optimizers() -> list[tuple[str, Job]]:
    return [(f"llama-{kind}{'-' + way if way else ''}", job(LLAMA, optimizer={"name": kind} | ({"implementation": way} if way else {}), **more))
            for kind, way, more in (("adamw", "foreach", {}), ("adafactor", "", {}), ("sgd", "", {}), ("adagrad", "", {}), ("rmsprop", "", {}))] + [
        ("llama-fp16-autocast", job(LLAMA, precision="fp16-autocast")),
        ("llama-vocab-128256", job(LLAMA | {"vocab_size": 128256})), ("qwen3-vocab-151936", job(QWEN3 | {"vocab_size": 151936})),
        ("gemma3-vocab-262144", job(GEMMA3 | {"vocab_size": 262144}, micro=1)), ("llama-untied", job(LLAMA | {"tie_word_embeddings": False})),
        ("llama-long", job(LLAMA, micro=1, sequence=4096)), ("llama-b8", job(LLAMA, micro=8, sequence=512)),
        ("llama-eager-padded", job(LLAMA, attention="eager", batch={"padded": True})),
        ("llama-evaluation", job(LLAMA, micro=1, sequence=512, evaluation={"batch": 4, "samples": 8})),
        ("llama-evaluation-loss-only", job(LLAMA, micro=1, sequence=512, evaluation={"batch": 8, "loss_only": True})),
        ("llama-classification", job(LLAMA, objective="classification")), ("qwen3-classification", job(QWEN3, objective="classification"))]


def entries() -> list[dict[str, Any]]:
    from .trainer_models import families
    from .trainer_seeing import seeing

    most = [(name, of(name, model)) for name, model in USUAL.items()]
    rest = [(name, of(name, model)) for name, model in families().items()]
    changed = [variants(name, model) for name, model in USUAL.items()]
    twins = [each for column in range(12) for row in changed for each in row[column:column + 1]]
    casts = [(f"{name}-autocast", of(name, model, precision="bf16-autocast")) for name, model in families().items()]
    again = [(f"{name}-recompute", of(name, model, recompute="full")) for name, model in families().items()]
    named = most + rest[:45] + twins[:26] + seeing()[:14] + rest[45:] + optimizers() + twins[26:91] + seeing()[14:] + casts[:40] + twins[91:] + again[:30]
    for name, each in named:
        if name.startswith(HALF):
            each["batch"]["micro"] = 1
    named = [each for each in named if not each[0].startswith(LATER)] + [each for each in named if each[0] in LATER]
    return [{"name": name, "job": each} for name, each in named if name != "albert-recompute"]
