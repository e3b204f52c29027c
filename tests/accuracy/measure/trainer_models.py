# Distributed under the Boost Software License, Version 1.0.
"""Families of language models beyond the usual dozen, a few layers of each at the published width."""

from __future__ import annotations

from .trainer_jobs import CUT, Job, config, decoder

LATENT = {"q_lora_rank": 768, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
LINEAR = {"linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4}
QUIET = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def dense() -> dict[str, Job]:
    return {
        "gemma3n": decoder("gemma3n_text", "Gemma3nForCausalLM", 5, 1024, 8, 2, 4096, head_dim=128, hidden_size_per_layer_input=256,
                           vocab_size_per_layer_input=32768, num_kv_shared_layers=0, laurel_rank=64, altup_num_inputs=4,
                           activation_sparsity_pattern=[0.95, 0.95, 0.0, 0.0, 0.0]),
        "smollm3": decoder("smollm3", "SmolLM3ForCausalLM", 4, 2048, 16, 4, 11008, tie_word_embeddings=True),
        "olmo2": decoder("olmo2", "Olmo2ForCausalLM", 3, 2048, 16, 16, 8192),
        "olmo3": decoder("olmo3", "Olmo3ForCausalLM", 4, 2048, 16, 16, 8192, sliding_window=512),
        "granite": decoder("granite", "GraniteForCausalLM", 4, 2048, 32, 8, 8192, attention_multiplier=0.015625, tie_word_embeddings=True),
        "granite-4": decoder("granitemoehybrid", "GraniteMoeHybridForCausalLM", 4, 1024, 16, 4, 2048, shared_intermediate_size=2048, num_local_experts=0,
                             num_experts_per_tok=0, mamba_n_heads=32, layer_types=["attention"] * 4, tie_word_embeddings=True),
        "ministral3": decoder("ministral3", "Ministral3ForCausalLM", 2, 4096, 32, 8, 14336, head_dim=128),
        "ministral": decoder("ministral", "MinistralForCausalLM", 2, 4096, 32, 8, 12288, head_dim=128, sliding_window=512),
        "glm4": decoder("glm4", "Glm4ForCausalLM", 2, 4096, 32, 2, 13696, head_dim=128, attention_bias=True),
        "glm": decoder("glm", "GlmForCausalLM", 2, 4096, 32, 2, 13696, head_dim=128, attention_bias=True),
        "cohere2": decoder("cohere2", "Cohere2ForCausalLM", 4, 2048, 16, 4, 7168, sliding_window=512, layer_norm_eps=1e-5),
        "cohere": decoder("cohere", "CohereForCausalLM", 2, 4096, 32, 8, 14336),
        "exaone4": decoder("exaone4", "Exaone4ForCausalLM", 4, 2048, 32, 8, 4096, tie_word_embeddings=True, sliding_window=None,
                           layer_types=["full_attention"] * 4),
        "seed-oss": decoder("seed_oss", "SeedOssForCausalLM", 2, 4096, 32, 8, 13824, head_dim=128),
        "ernie4.5": decoder("ernie4_5", "Ernie4_5ForCausalLM", 6, 1024, 16, 2, 3072, head_dim=128, tie_word_embeddings=True),
        "hunyuan": decoder("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", 3, 2048, 16, 4, 6144, head_dim=128, tie_word_embeddings=True),
        "apertus": decoder("apertus", "ApertusForCausalLM", 2, 4096, 32, 8, 21504),
        "arcee": decoder("arcee", "ArceeForCausalLM", 3, 2560, 20, 4, 18432),
        "nemotron": decoder("nemotron", "NemotronForCausalLM", 3, 3072, 24, 8, 9216, head_dim=128),
        "stablelm": decoder("stablelm", "StableLmForCausalLM", 3, 2560, 32, 32, 6912),
        "starcoder2": decoder("starcoder2", "Starcoder2ForCausalLM", 3, 3072, 24, 2, 12288, residual_dropout=0.0, embedding_dropout=0.0,
                              attention_dropout=0.0, sliding_window=None),
        "phi": decoder("phi", "PhiForCausalLM", 4, 2048, 32, 32, 8192),
        "gemma": decoder("gemma", "GemmaForCausalLM", 3, 2048, 8, 1, 16384, head_dim=256, tie_word_embeddings=True),
        "olmo": decoder("olmo", "OlmoForCausalLM", 4, 2048, 16, 16, 8192), "helium": decoder("helium", "HeliumForCausalLM", 3, 2560, 20, 20, 7040, head_dim=128),
        "pythia": config("gpt_neox", "GPTNeoXForCausalLM", num_hidden_layers=4, hidden_size=2048, num_attention_heads=8, intermediate_size=8192,
                         max_position_embeddings=2048, use_parallel_residual=True, hidden_act="gelu", vocab_size=32768, bos_token_id=1, eos_token_id=2),
        "opt": config("opt", "OPTForCausalLM", num_hidden_layers=4, hidden_size=2048, num_attention_heads=32, ffn_dim=8192, word_embed_proj_dim=2048,
                      max_position_embeddings=2048, dropout=0.0, vocab_size=32768, pad_token_id=1, bos_token_id=2, eos_token_id=2),
        "bloom": config("bloom", "BloomForCausalLM", n_layer=4, hidden_size=1536, n_head=16, vocab_size=32768, bos_token_id=1, eos_token_id=2, pad_token_id=3),
        "falcon": config("falcon", "FalconForCausalLM", num_hidden_layers=2, hidden_size=4544, num_attention_heads=71, multi_query=True, parallel_attn=True,
                         bias=False, alibi=False, new_decoder_architecture=False, vocab_size=32768, bos_token_id=1, eos_token_id=2),
        "gptj": config("gptj", "GPTJForCausalLM", n_layer=2, n_embd=4096, n_head=16, rotary_dim=64, n_positions=2048, vocab_size=32768, resid_pdrop=0.0,
                       embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=2),
        "gpt-bigcode": config("gpt_bigcode", "GPTBigCodeForCausalLM", n_layer=3, n_embd=2048, n_head=16, n_positions=2048, multi_query=True,
                              vocab_size=32768, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=2),
        "youtu": decoder("youtu", "YoutuForCausalLM", 3, 2048, 16, 16, 6144, **LATENT), "minicpm3": decoder("minicpm3", "MiniCPM3ForCausalLM", 3, 2560, 40, 40, 6400),
        "nanochat": decoder("nanochat", "NanoChatForCausalLM", 4, 1280, 10, 10, 5120), "cwm": decoder("cwm", "CwmForCausalLM", 4, 2048, 16, 4, 7168, head_dim=128, sliding_window=512),
        "bitnet": decoder("bitnet", "BitNetForCausalLM", 4, 2560, 20, 5, 6912), "diffllama": decoder("diffllama", "DiffLlamaForCausalLM", 3, 2048, 32, 8, 8192),
        "vaultgemma": decoder("vaultgemma", "VaultGemmaForCausalLM", 4, 1152, 4, 4, 6912, head_dim=256),
        "jais2": decoder("jais2", "Jais2ForCausalLM", 3, 3328, 26, 26, 14336)}


def mixtures() -> dict[str, Job]:
    return {
        "mixtral": decoder("mixtral", "MixtralForCausalLM", 2, 2048, 32, 8, 5632, num_local_experts=8, num_experts_per_tok=2, sliding_window=None),
        "qwen2-moe": decoder("qwen2_moe", "Qwen2MoeForCausalLM", 2, 2048, 16, 16, 5632, moe_intermediate_size=1408, shared_expert_intermediate_size=5632,
                             num_experts=16, num_experts_per_tok=4),
        "olmoe": decoder("olmoe", "OlmoeForCausalLM", 2, 2048, 16, 16, 1024, num_experts=32, num_experts_per_tok=8),
        "deepseek-v2": decoder("deepseek_v2", "DeepseekV2ForCausalLM", 3, 2048, 16, 16, 10944, moe_intermediate_size=1408, n_routed_experts=16, n_shared_experts=2,
                               num_experts_per_tok=6, first_k_dense_replace=1, topk_method="greedy", n_group=1, topk_group=1, **LATENT | {"q_lora_rank": None}),
        "glm4-moe": decoder("glm4_moe", "Glm4MoeForCausalLM", 3, 2048, 32, 8, 8192, head_dim=128, moe_intermediate_size=1024, n_routed_experts=16,
                            n_shared_experts=1, num_experts_per_tok=4, first_k_dense_replace=1, n_group=1, topk_group=1, use_qk_norm=True),
        "glm4-moe-lite": decoder("glm4_moe_lite", "Glm4MoeLiteForCausalLM", 3, 2048, 20, 20, 10240, moe_intermediate_size=1536, n_routed_experts=16,
                                 n_shared_experts=1, num_experts_per_tok=4, first_k_dense_replace=1, n_group=1, topk_group=1,
                                 **LATENT | {"qk_nope_head_dim": 192, "v_head_dim": 256}),
        "dots1": decoder("dots1", "Dots1ForCausalLM", 3, 2048, 16, 16, 8192, moe_intermediate_size=1024, n_routed_experts=16, n_shared_experts=2,
                         num_experts_per_tok=4, first_k_dense_replace=1, n_group=1, topk_group=1),
        "ernie4.5-moe": decoder("ernie4_5_moe", "Ernie4_5_MoeForCausalLM", 3, 2560, 20, 4, 12288, moe_intermediate_size=1536, moe_num_experts=16, moe_k=6,
                                moe_num_shared_experts=2, moe_layer_start_index=1),
        "granitemoe": decoder("granitemoe", "GraniteMoeForCausalLM", 4, 1536, 24, 8, 512, num_local_experts=40, num_experts_per_tok=8, attention_multiplier=0.015625),
        "phimoe": decoder("phimoe", "PhimoeForCausalLM", 2, 2048, 16, 4, 3200, num_local_experts=8, num_experts_per_tok=2),
        "llama4": decoder("llama4_text", "Llama4ForCausalLM", 4, 2048, 16, 4, 4096, head_dim=128, intermediate_size_mlp=8192, num_local_experts=8,
                          num_experts_per_tok=1, interleave_moe_layer_step=2, attention_chunk_size=512),
        "minimax-m2": decoder("minimax_m2", "MiniMaxM2ForCausalLM", 2, 3072, 48, 8, 1536, head_dim=128, rotary_dim=64, num_local_experts=16, num_experts_per_tok=4),
        "hunyuan-moe": decoder("hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", 2, 2048, 16, 4, 1536, head_dim=128, num_experts=16, moe_topk=4, num_shared_expert=1),
        "solar-open": decoder("solar_open", "SolarOpenForCausalLM", 2, 2048, 32, 8, 8192, head_dim=64, moe_intermediate_size=1280, n_routed_experts=16,
                              n_shared_experts=1, num_experts_per_tok=4),
        "exaone-moe": decoder("exaone_moe", "ExaoneMoeForCausalLM", 4, 2048, 16, 4, 8192, moe_intermediate_size=1024, num_experts=16, num_experts_per_tok=4),
        "afmoe": decoder("afmoe", "AfmoeForCausalLM", 4, 2048, 16, 4, 6144, moe_intermediate_size=1024, num_experts=16, num_experts_per_tok=4, num_dense_layers=1,
                         head_dim=128, sliding_window=512),
        "qwen3-next": decoder("qwen3_next", "Qwen3NextForCausalLM", 4, 2048, 16, 2, 5120, head_dim=256, moe_intermediate_size=512, num_experts=32,
                              num_experts_per_tok=10, shared_expert_intermediate_size=512, full_attention_interval=4, decoder_sparse_step=1, **LINEAR),
        "qwen3.5-moe": decoder("qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", 4, 2048, 16, 2, 512, head_dim=256, moe_intermediate_size=512, num_experts=32,
                               num_experts_per_tok=8, shared_expert_intermediate_size=512, **LINEAR),
        "gemma4-moe": decoder("gemma4_text", "Gemma4ForCausalLM", 6, 2816, 16, 8, 2112, head_dim=256, global_head_dim=512, num_global_key_value_heads=2,
                              attention_k_eq_v=True, enable_moe_block=True, num_experts=16, top_k_experts=4, moe_intermediate_size=704,
                              hidden_size_per_layer_input=0, num_kv_shared_layers=0, tie_word_embeddings=True),
        "flex-olmo": decoder("flex_olmo", "FlexOlmoForCausalLM", 2, 2048, 16, 16, 5504, num_experts=7, num_experts_per_tok=5),
        "longcat-flash": config("longcat_flash", "LongcatFlashForCausalLM", num_layers=2, hidden_size=2048, num_attention_heads=16, ffn_hidden_size=4096,
                                expert_ffn_hidden_size=1024, n_routed_experts=16, zero_expert_num=8, moe_topk=4, max_position_embeddings=8192,
                                **CUT | LATENT | {"head_dim": 64})}


def recurrent() -> dict[str, Job]:
    mixed = ["mamba", "mamba", "attention", "mamba"]
    return {
        "lfm2": decoder("lfm2", "Lfm2ForCausalLM", 5, 1024, 16, 8, 6656, conv_L_cache=3, block_auto_adjust_ff_dim=True, tie_word_embeddings=True,
                        layer_types=["conv", "conv", "full_attention", "conv", "full_attention"]),
        "lfm2-moe": decoder("lfm2_moe", "Lfm2MoeForCausalLM", 4, 2048, 32, 8, 7168, moe_intermediate_size=1792, num_experts=16, num_experts_per_tok=4,
                            num_dense_layers=1, conv_L_cache=3, layer_types=["conv", "conv", "full_attention", "conv"]),
        "granite-4-h": decoder("granitemoehybrid", "GraniteMoeHybridForCausalLM", 4, 1536, 12, 4, 512, shared_intermediate_size=1024, num_local_experts=32,
                               num_experts_per_tok=6, mamba_n_heads=48, mamba_d_head=64, mamba_d_state=128, mamba_n_groups=1, layer_types=mixed,
                               position_embedding_type="nope"),
        "nemotron-h": decoder("nemotron_h", "NemotronHForCausalLM", 8, 2688, 32, 2, 1856, head_dim=128, hybrid_override_pattern="MEM*EM-M", mamba_num_heads=64,
                              mamba_head_dim=64, ssm_state_size=128, n_groups=8, n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=6,
                              moe_intermediate_size=1856, moe_shared_expert_intermediate_size=3712, n_group=1, topk_group=1),
        "falcon-h1": decoder("falcon_h1", "FalconH1ForCausalLM", 2, 2048, 8, 2, 4096, head_dim=128, mamba_d_ssm=3072, mamba_n_heads=48, mamba_d_head=64,
                             mamba_d_state=256, mamba_n_groups=1),
        "bamba": decoder("bamba", "BambaForCausalLM", 4, 2048, 16, 4, 7168, attn_layer_indices=[2], mamba_n_heads=64, mamba_d_head=64, mamba_d_state=128),
        "jamba": decoder("jamba", "JambaForCausalLM", 4, 1024, 16, 4, 3584, attn_layer_period=4, attn_layer_offset=2, expert_layer_period=2, expert_layer_offset=1,
                         num_experts=8, num_experts_per_tok=2, mamba_d_state=16, mamba_expand=2, mamba_dt_rank=64, use_mamba_kernels=False),
        "mamba2": config("mamba2", "Mamba2ForCausalLM", num_hidden_layers=3, hidden_size=2048, num_heads=64, head_dim=64, state_size=128, n_groups=8, expand=2,
                         **CUT),
        "mamba": config("mamba", "MambaForCausalLM", num_hidden_layers=2, hidden_size=1024, state_size=16, expand=2, **CUT),
        "falcon-mamba": config("falcon_mamba", "FalconMambaForCausalLM", num_hidden_layers=2, hidden_size=1024, state_size=16, expand=2, **CUT),
        "zamba2": decoder("zamba2", "Zamba2ForCausalLM", 6, 1024, 16, 16, 4096, mamba_d_state=64, mamba_expand=2, n_mamba_heads=8, num_mem_blocks=1,
                          attention_hidden_size=2048, attention_head_dim=128, layers_block_type=["mamba", "mamba", "hybrid", "mamba", "mamba", "hybrid"]),
        "olmo-hybrid": decoder("olmo_hybrid", "OlmoHybridForCausalLM", 4, 2048, 16, 16, 8192,
                               layer_types=["linear_attention"] * 3 + ["full_attention"], linear_num_key_heads=16, linear_num_value_heads=16),
        "kimi-linear": decoder("kimi_linear", "KimiLinearForCausalLM", 4, 2304, 32, 32, 9216, moe_intermediate_size=1024, num_experts=16, num_experts_per_token=4,
                               num_shared_experts=1, first_k_dense_replace=1, moe_layer_freq=1, mla_use_nope=True, **LATENT | {"q_lora_rank": None},
                               linear_attn_config={"full_attn_layers": [4], "kda_layers": [1, 2, 3], "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4}),
        "minimax": decoder("minimax", "MiniMaxForCausalLM", 2, 2048, 16, 4, 3072, head_dim=128, num_local_experts=8, num_experts_per_tok=2,
                           layer_types=["linear_attention", "full_attention"]),
        "rwkv": config("rwkv", "RwkvForCausalLM", num_hidden_layers=3, hidden_size=1024, attention_hidden_size=1024, vocab_size=32768, context_length=1024)}


def encoders() -> dict[str, Job]:
    from .trainer_jobs import BERT

    like_bert = {key: value for key, value in BERT.items() if key not in ("model_type", "architectures")}
    tall = like_bert | {"max_position_embeddings": 514, "vocab_size": 50265, "type_vocab_size": 1, "pad_token_id": 1}
    return {
        "bert": BERT, "roberta": config("roberta", "RobertaForMaskedLM", **tall),
        "modernbert": config("modernbert", "ModernBertForMaskedLM", num_hidden_layers=6, hidden_size=1024, num_attention_heads=16, intermediate_size=2624,
                             vocab_size=50368, max_position_embeddings=8192),
        "xlm-roberta": config("xlm-roberta", "XLMRobertaForMaskedLM", **tall), "electra": config("electra", "ElectraForMaskedLM", **like_bert, embedding_size=1024),
        "distilbert": config("distilbert", "DistilBertForMaskedLM", n_layers=6, dim=768, n_heads=12, hidden_dim=3072, vocab_size=30522, dropout=0.0,
                             attention_dropout=0.0, max_position_embeddings=512),
        "albert": config("albert", "AlbertForMaskedLM", **like_bert, embedding_size=128),
        "deberta-v3": config("deberta-v2", "DebertaV2ForSequenceClassification", **like_bert | {"vocab_size": 128100}, position_buckets=256, relative_attention=True,
                             pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm", position_biased_input=False, type_vocab_size=0),
        "t5": config("t5", "T5ForConditionalGeneration", num_layers=4, num_decoder_layers=4, d_model=1024, d_kv=64, d_ff=4096, num_heads=16, vocab_size=32128,
                     dropout_rate=0.0, decoder_start_token_id=0),
        "flan-t5": config("t5", "T5ForConditionalGeneration", num_layers=4, num_decoder_layers=4, d_model=1024, d_kv=64, d_ff=2816, num_heads=16, vocab_size=32128,
                          dropout_rate=0.0, feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0, transformers_version="5.17.0"),
        "bart": config("bart", "BartForConditionalGeneration", encoder_layers=4, decoder_layers=4, d_model=1024, encoder_attention_heads=16,
                       decoder_attention_heads=16, encoder_ffn_dim=4096, decoder_ffn_dim=4096, vocab_size=50265, max_position_embeddings=1024, dropout=0.0,
                       attention_dropout=0.0, activation_dropout=0.0)}


def families() -> dict[str, Job]:
    """Those most often trained first: every kind comes early."""
    lists = [list(each.items()) for each in (dense(), mixtures(), recurrent(), encoders())]
    return dict(each for place in range(max(map(len, lists))) for row in lists for each in row[place:place + 1])
