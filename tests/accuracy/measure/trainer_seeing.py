# Distributed under the Boost Software License, Version 1.0.
"""Models that see or hear, with a few layers of tower and text."""

from __future__ import annotations

from typing import Any

from .trainer_jobs import Job, config, job

BIG = {"max_position_embeddings": 32768}
SIGLIP = {"model_type": "siglip_vision_model", "hidden_size": 1152, "num_hidden_layers": 4, "num_attention_heads": 16, "intermediate_size": 4304,
          "image_size": 384, "patch_size": 14, "vision_use_head": False}
CLIP = {"model_type": "clip_vision_model", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16, "intermediate_size": 4096,
        "image_size": 336, "patch_size": 14, "projection_dim": 768}
PIXTRAL = {"model_type": "pixtral", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16, "head_dim": 64, "intermediate_size": 4096,
           "patch_size": 14, "image_size": 1540}


def text(kind: str, hidden: int, heads: int, kv: int, ffn: int, vocab: int, **keys: Any) -> Job:
    return {"model_type": kind, "num_hidden_layers": 3, "hidden_size": hidden, "num_attention_heads": heads, "num_key_value_heads": kv,
            "intermediate_size": ffn, "vocab_size": vocab, **BIG, **keys}


def both(kind: str, architecture: str, words: Job, tower: Job, **keys: Any) -> Job:
    return config(kind, architecture, text_config=words, vision_config=tower, **keys)


def qwens() -> dict[str, Job]:
    mrope = {"rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}}
    qwen3 = {"model_type": "qwen3_vl_vision", "depth": 4, "hidden_size": 1024, "num_heads": 16, "intermediate_size": 4096, "out_hidden_size": 2048,
             "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2, "num_position_embeddings": 2304, "deepstack_visual_indexes": [0, 1, 2]}
    newer = {key: value for key, value in qwen3.items() if key != "deepstack_visual_indexes"}
    linear = {"linear_num_key_heads": 16, "linear_num_value_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4}
    return {
        "qwen2.5-vl": both("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", text("qwen2_5_vl_text", 1536, 12, 2, 8960, 151936, tie_word_embeddings=True, **mrope),
                           {"model_type": "qwen2_5_vl_vision", "depth": 4, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "patch_size": 14, "spatial_merge_size": 2,
                            "temporal_patch_size": 2, "out_hidden_size": 1536, "fullatt_block_indexes": [3]}, tie_word_embeddings=True),
        "qwen3-vl": both("qwen3_vl", "Qwen3VLForConditionalGeneration", text("qwen3_vl_text", 2048, 16, 8, 6144, 151936, head_dim=128, tie_word_embeddings=True),
                         qwen3, tie_word_embeddings=True),
        "qwen2-vl": both("qwen2_vl", "Qwen2VLForConditionalGeneration", text("qwen2_vl_text", 1536, 12, 2, 8960, 151936, tie_word_embeddings=True, **mrope),
                         {"model_type": "qwen2_vl_vision", "depth": 4, "embed_dim": 1280, "num_heads": 16, "mlp_ratio": 4, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2,
                          "hidden_size": 1536}, tie_word_embeddings=True),
        "qwen3.5-vl": both("qwen3_5", "Qwen3_5ForConditionalGeneration", text("qwen3_5_text", 2048, 8, 2, 6144, 248320, head_dim=256, tie_word_embeddings=True, **linear) |
                           {"num_hidden_layers": 4}, newer | {"model_type": "qwen3_5_vision"}, tie_word_embeddings=True)}


def fixed() -> dict[str, Job]:
    llama = text("llama", 2048, 32, 32, 5632, 32064)
    qwen2 = text("qwen2", 896, 14, 2, 4864, 151674)
    gemma = {"head_dim": 256}
    return {
        "gemma3-vl": both("gemma3", "Gemma3ForConditionalGeneration", text("gemma3_text", 1152, 4, 1, 6912, 262208, **gemma),
                          SIGLIP | {"image_size": 896, "num_hidden_layers": 2}, mm_tokens_per_image=256),
        "llava": both("llava", "LlavaForConditionalGeneration", llama, CLIP, vision_feature_layer=-2, vision_feature_select_strategy="default",
                      image_token_index=32000, image_seq_length=576),
        "internvl3": both("internvl", "InternVLForConditionalGeneration", qwen2, {
            "model_type": "internvl_vision", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16, "intermediate_size": 4096,
            "image_size": [448, 448], "patch_size": [14, 14], "attention_bias": True, "use_qk_norm": False, "norm_type": "layer_norm",
            "use_absolute_position_embeddings": True, "use_mask_token": False}, downsample_ratio=0.5, image_token_id=151667, transformers_version="5.17.0"),
        "smolvlm": both("smolvlm", "SmolVLMForConditionalGeneration", text("llama", 960, 15, 5, 2560, 49280, head_dim=64, pad_token_id=2), {
            "model_type": "smolvlm_vision", "hidden_size": 768, "num_hidden_layers": 4, "num_attention_heads": 12, "intermediate_size": 3072, "image_size": 512,
            "patch_size": 16}, scale_factor=4, image_token_id=49190, pad_token_id=2),
        "idefics3": both("idefics3", "Idefics3ForConditionalGeneration", text("llama", 2048, 32, 32, 8192, 49155, head_dim=64, pad_token_id=2), {
            "model_type": "idefics3_vision", "hidden_size": 1152, "num_hidden_layers": 4, "num_attention_heads": 16, "intermediate_size": 4304, "image_size": 364,
            "patch_size": 14}, scale_factor=2, image_token_id=49153, pad_token_id=2),
        "paligemma": both("paligemma", "PaliGemmaForConditionalGeneration", text("gemma", 2048, 8, 1, 16384, 257216, **gemma), SIGLIP | {
            "image_size": 224, "projection_dim": 2048}, projection_dim=2048, image_token_index=256000),
        "aya-vision": both("aya_vision", "AyaVisionForConditionalGeneration", text("cohere2", 2048, 16, 4, 7168, 32768, pad_token_id=0), SIGLIP | {"image_size": 364},
                           image_token_index=30000, downsample_factor=2)}


def pictured() -> dict[str, tuple[Job, int, int]]:
    """Models whose picture has a size of its own: how wide and high."""
    return {
        "llava-next": (both("llava_next", "LlavaNextForConditionalGeneration", text("llama", 2048, 32, 32, 5632, 32064), CLIP, image_token_index=32000,
                            vision_feature_layer=-2, vision_feature_select_strategy="default", image_seq_length=576,
                            image_grid_pinpoints=[[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]]), 672, 672),
        "llava-onevision": (both("llava_onevision", "LlavaOnevisionForConditionalGeneration", text("qwen2", 896, 14, 2, 4864, 152000, tie_word_embeddings=True), SIGLIP,
                                 image_token_index=151646, tie_word_embeddings=True), 768, 768),
        "mistral3": (both("mistral3", "Mistral3ForConditionalGeneration", text("mistral", 3072, 32, 8, 9216, 131072, head_dim=128) | {"num_hidden_layers": 2}, PIXTRAL,
                          spatial_merge_size=2, multimodal_projector_bias=False, image_token_index=10, transformers_version="5.17.0"), 560, 560),
        "pixtral": (both("llava", "LlavaForConditionalGeneration", text("mistral", 3072, 32, 8, 9216, 131072, head_dim=128) | {"num_hidden_layers": 2},
                         {key: value for key, value in PIXTRAL.items() if key != "head_dim"}, image_token_index=10, vision_feature_layer=-1, vision_feature_select_strategy="full"), 448, 448)}


def tiled(found: tuple[int, int] | None) -> Job:
    return {"batch": {"images": {"width": found[0], "height": found[0]}}} if found else {}


def seeing() -> list[tuple[str, Job]]:
    sized = {"batch": {"images": {"width": 672, "height": 448}}}
    slow = {"recurrence": "eager"}
    found = [(name, job(model, sequence=1536, **sized, **(slow if name == "qwen3.5-vl" else {}))) for name, model in qwens().items()]
    tiles = {"smolvlm": (2048, 1536), "idefics3": (1456, 3072)}  # 4 by 4 tiles and the whole
    found += [(name, job(model, sequence=tiles.get(name, (0, 1024))[1], **tiled(tiles.get(name)))) for name, model in fixed().items()]
    found += [(name, job(model, sequence=4096 if name.startswith("llava") else 1536, micro=1, batch={"images": {"width": wide, "height": high}}))
              for name, (model, wide, high) in pictured().items()]
    found.append(("whisper", job(config("whisper", "WhisperForConditionalGeneration", d_model=1024, encoder_layers=4, decoder_layers=4, encoder_attention_heads=16,
                                        decoder_attention_heads=16, encoder_ffn_dim=4096, decoder_ffn_dim=4096, vocab_size=51865, num_mel_bins=80, dropout=0.0,
                                        max_source_positions=1500, max_target_positions=448), sequence=256)))
    for name, model in (qwens() | fixed()).items():
        if name in ("qwen2.5-vl", "qwen3-vl", "llava", "gemma3-vl", "internvl3", "smolvlm"):
            more = sized if name.startswith("qwen") else tiled(tiles.get(name))
            found += [(f"{name}-autocast", job(model, sequence=1536, precision="bf16-autocast", **more)),
                      (f"{name}-recompute", job(model, sequence=1536, recompute="full", **more))]
    return found
