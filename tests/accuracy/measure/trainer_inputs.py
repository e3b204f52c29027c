# Distributed under the Boost Software License, Version 1.0.
"""What a collator would give a model of transformers: random tokens, and the pictures or sounds that its class reads."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

SPECIAL = ("image_token_id", "image_token_index", "video_token_id", "video_token_index", "audio_token_id", "audio_token_index",
           "vision_start_token_id", "vision_end_token_id", "boi_token_id", "eoi_token_id", "pad_token_id", "image_start_token_id",
           "image_end_token_id", "boa_token_id", "eoa_token_id", "boi_token_index", "eoi_token_index")
QWEN = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe", "glm4v", "glm4v_moe", "glm46v", "glm_ocr", "paddleocr_vl")


def text_of(config: Any) -> Any:
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def words(config: Any, shape: tuple[int, ...]) -> Tensor:
    """Token numbers, none of which means anything but a word."""
    vocabulary = getattr(text_of(config), "vocab_size", None) or config.vocab_size
    ids = torch.randint(10, vocabulary, shape)
    for name in SPECIAL:
        special = getattr(config, name, None)
        if isinstance(special, int):
            ids[ids == special] = 9
    return ids


def pixels(config: Any, images: dict[str, Any], micro: int) -> dict[str, Tensor]:
    """The tensors that a processor makes of one picture a sample, for a micro-batch."""
    kind, vision = config.model_type, getattr(config, "vision_config", None)
    size = getattr(vision, "image_size", None)
    size = size[0] if isinstance(size, (list, tuple)) else size
    if kind in QWEN:
        patch, merge = vision.patch_size, vision.spatial_merge_size
        unit = patch * merge
        high, wide = (max(1, round(images[side] / unit)) * merge for side in ("height", "width"))
        width = 3 * getattr(vision, "temporal_patch_size", 1) * patch * patch
        return {"pixel_values": torch.randn(micro * high * wide, width), "image_grid_thw": torch.tensor([[1, high, wide]] * micro)}
    if kind in ("idefics3", "smolvlm"):
        tiles = images["height"] // size * (images["width"] // size)
        return {"pixel_values": torch.randn(micro, tiles + 1, 3, size, size)}
    if kind in ("mistral3", "lighton_ocr") or kind == "llava" and vision.model_type == "pixtral":
        high, wide = images["height"], images["width"]
        return {"pixel_values": torch.randn(micro, 3, high, wide), "image_sizes": torch.tensor([[high, wide]] * micro)}
    if kind in ("llava_next", "llava_onevision"):
        from transformers.models.llava_next.modeling_llava_next import image_size_to_num_patches

        sides = [images["height"], images["width"]]
        tiles = image_size_to_num_patches(sides, config.image_grid_pinpoints, size)
        return {"pixel_values": torch.randn(micro, tiles, 3, size, size), "image_sizes": torch.tensor([sides] * micro)}
    if kind == "gemma4":
        unit = vision.patch_size * vision.pooling_kernel_size
        high, wide = (images[side] // unit * vision.pooling_kernel_size for side in ("height", "width"))
        places = torch.stack(torch.meshgrid(torch.arange(wide), torch.arange(high), indexing="xy"), -1).reshape(1, -1, 2)
        return {"pixel_values": torch.rand(micro, high * wide, 3 * vision.patch_size**2), "image_position_ids": places.repeat(micro, 1, 1)}
    return {"pixel_values": torch.randn(micro, 3, size, size)}


def seen(model: Any, given: dict[str, Tensor], micro: int) -> int:
    """Tokens that a picture becomes, by the model's own code."""
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=model.dtype == torch.float32):
        out = model.get_image_features(**{name: each.cuda() for name, each in given.items()})
    found = getattr(out, "pooler_output", out)
    while isinstance(found, (list, tuple)) and found and isinstance(found[0], (list, tuple)):
        found = found[0]
    total = sum(each.numel() // each.shape[-1] for each in found) if isinstance(found, (list, tuple)) else found.numel() // found.shape[-1]
    return total // micro


def with_pictures(model: Any, job: dict[str, Any], ids: Tensor) -> dict[str, Tensor]:
    """Pictures, and their tokens among those of the sequence."""
    config, micro = model.config, len(ids)
    given = pixels(config, job["batch"].get("images") or {}, micro)
    given["pixel_values"] = given["pixel_values"].to(model.dtype)
    tokens = seen(model, given, micro)
    if tokens + 4 > ids.shape[1]:
        raise ValueError(f"a picture is {tokens} tokens, more than batch.sequence {ids.shape[1]} holds")
    mark = getattr(config, "image_token_id", None)
    mark = config.image_token_index if mark is None else mark
    ids[:, 1:1 + tokens] = mark
    if getattr(config, "vision_start_token_id", None) is not None:
        ids[:, 0] = config.vision_start_token_id
    kinds = (ids == mark).long()
    if config.model_type in QWEN or config.model_type == "gemma4":
        given["mm_token_type_ids"] = kinds
    elif config.model_type in ("gemma3", "paligemma"):
        given["token_type_ids"] = kinds if config.model_type == "gemma3" else (torch.arange(ids.shape[1]) > 1 + tokens).long().repeat(micro, 1)
    return given


def batch_of(model: Any, job: dict[str, Any]) -> dict[str, Tensor]:
    """One micro-batch on the host."""
    config, micro, sequence = model.config, job["batch"].get("micro", 1), job["batch"]["sequence"]
    name = type(model).__name__
    if name.endswith("ForImageClassification"):
        return {"pixel_values": torch.randn(micro, 3, config.image_size, config.image_size).to(model.dtype), "labels": torch.randint(0, 2, (micro,))}
    if config.model_type == "whisper":
        sounds = torch.randn(micro, config.num_mel_bins, 2 * config.max_source_positions).to(model.dtype)
        return {"input_features": sounds, "labels": words(config, (micro, sequence))}
    ids = words(config, (micro, sequence))
    given: dict[str, Tensor] = {}
    if getattr(config, "vision_config", None) is not None and "ConditionalGeneration" in name and not (job["batch"].get("images") or {}).get("none"):
        given = with_pictures(model, job, ids)
    labels, mask = ids.clone(), torch.ones_like(ids)
    if job["batch"].get("padded"):
        ends = max(1, sequence // 8)
        mask[0, -ends:] = 0
        labels[0, -ends:] = -100
    for special in ("image_token_id", "image_token_index"):
        if isinstance(getattr(config, special, None), int):
            labels[labels == getattr(config, special)] = -100
    if name.endswith("ForSequenceClassification"):
        labels = torch.randint(0, config.num_labels, (micro,))
    return {"input_ids": ids, "attention_mask": mask, "labels": labels, **given}


class Batches(torch.utils.data.Dataset):
    """Numbers of samples; the collator gives the same micro-batch for any of them."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, int]:
        return {"index": index}
