// Distributed under the Boost Software License, Version 1.0.
// Classes whose parameters are known for one configuration alone: their configuration class's own, which a file with no other keys stands for.
// Totals: transformers 5.16 (2026-08-19), each class instantiated without storage; unique parameters, a tied matrix once, buffers never.
#pragma once

#include <headroom/io/counted/tally.hpp>

#include <algorithm>

namespace headroom::io::detail {

struct class_at_defaults {
  const char* name;
  const char* type;
  std::int64_t total;
  std::int64_t frozen{};  ///< of these, what the class never trains
};

inline constexpr class_at_defaults classes_at_defaults[] = {
    {"BitBackbone", "bit", 23'500'352}, {"BitForImageClassification", "bit", 23'504'450}, {"BitModel", "bit", 23'500'352},
    {"Blip2ForImageTextRetrieval", "blip-2", 1'115'343'874}, {"Blip2TextModelWithProjection", "blip-2", 129'193'216},
    {"Blip2VisionModelWithProjection", "blip-2", 1'091'311'360}, {"BlipTextLMHeadModel", "blip_text_model", 137'881'148}, {"BltPatcher", "blt_patcher", 99'512'064},
    {"BridgeTowerForImageAndTextRetrieval", "bridgetower", 326'350'082}, {"BridgeTowerForMaskedLM", "bridgetower", 365'592'921},
    {"BridgeTowerModel", "bridgetower", 326'347'008}, {"BrosSpadeEEForTokenClassification", "bros", 111'268'610},
    {"BrosSpadeELForTokenClassification", "bros", 110'676'480}, {"ChameleonVQVAE", "chameleon_vqgan", 29'423'616}, {"CHMv2ForDepthEstimation", "chmv2", 336'901'376},
    {"ClapAudioModelWithProjection", "clap_audio_model", 28'190'872}, {"ClapTextModelWithProjection", "clap_text_model", 125'302'016},
    {"ClvpModelForConditionalGeneration", "clvp", 659'015'683}, {"ClvpDecoder", "clvp_decoder", 386'902'016}, {"ClvpForCausalLM", "clvp_decoder", 395'302'914},
    {"ClvpModel", "clvp_decoder", 386'902'016}, {"ClvpEncoder", "clvp_encoder", 118'875'648}, {"ColModernVBertForRetrieval", "colmodernvbert", 251'434'112},
    {"ColPaliForRetrieval", "colpali", 2'910'652'800}, {"ColQwen2ForRetrieval", "colqwen2", 72'137'303'168}, {"DFineForObjectDetection", "d_fine", 31'083'862, 2},
    {"DFineModel", "d_fine", 30'087'730, 2}, {"DacModel", "dac", 76'620'777}, {"Data2VecVisionForSemanticSegmentation", "data2vec-vision", 162'356'996},
    {"DecisionTransformerGPT2Model", "decision_transformer", 726'272}, {"DecisionTransformerModel", "decision_transformer", 1'256'854},
    {"Deimv2ForObjectDetection", "deimv2", 29'767'510, 2}, {"Deimv2Model", "deimv2", 28'771'378, 2}, {"DepthProForDepthEstimation", "depth_pro", 210'594'881},
    {"DepthProModel", "depth_pro", 197'018'112}, {"DiaForConditionalGeneration", "dia", 1'611'160'576}, {"DiaModel", "dia", 1'592'212'480},
    {"DINOv3ConvNextBackbone", "dinov3_convnext", 27'818'592}, {"DPTForSemanticSegmentation", "dpt", 111'727'812}, {"EdgeTamVideoModel", "edgetam_video", 36'232'386},
    {"EfficientLoFTRForKeypointMatching", "efficientloftr", 16'025'216}, {"EfficientLoFTRModel", "efficientloftr", 14'812'032},
    {"EsmcForMaskedLM", "esmc", 6'352'005'184}, {"Emu3VQVAE", "emu3_vqgan", 270'740'287}, {"EomtForUniversalSegmentation", "eomt", 316'561'411}, {"EomtDinov3ForUniversalSegmentation", "eomt_dinov3", 314'898'435},
    {"EvollaForProteinText2Text", "evolla", 10'390'787'344}, {"EvollaModel", "evolla", 9'865'450'768},
    {"FastSpeech2ConformerModel", "fastspeech2_conformer", 70'262'259}, {"FastSpeech2ConformerHifiGan", "fastspeech2_conformer_hifigan", 13'926'017},
    {"FastSpeech2ConformerWithHifiGan", "fastspeech2_conformer_with_hifigan", 84'188'276}, {"FlavaForPreTraining", "flava", 357'645'303, 53'786'240},
    {"GLPNForDepthEstimation", "glpn", 3'664'839}, {"GroundingDinoForObjectDetection", "grounding-dino", 172'250'626},
    {"GroundingDinoModel", "grounding-dino", 172'118'014}, {"GroupViTModel", "groupvit", 55'726'609}, {"GroupViTTextModel", "groupvit_text_model", 22'145'792},
    {"GroupViTVisionModel", "groupvit_vision_model", 28'837'136}, {"HGNetV2Backbone", "hgnet_v2", 13'553'376},
    {"HGNetV2ForImageClassification", "hgnet_v2", 13'557'474}, {"HieraBackbone", "hiera", 50'755'968},
    {"HiggsAudioV2TokenizerModel", "higgs_audio_v2_tokenizer", 161'359'425}, {"LevitForImageClassification", "levit", 8'443'938},
    {"LevitForImageClassificationWithTeacher", "levit", 8'445'476}, {"LevitModel", "levit", 8'442'400}, {"LightGlueForKeypointMatching", "lightglue", 13'744'594},
    {"LukeForMaskedLM", "luke", 314'445'435}, {"LwDetrForObjectDetection", "lw_detr", 12'914'884}, {"LwDetrModel", "lw_detr", 12'781'758},
    {"LwDetrViTBackbone", "lw_detr_vit", 85'805'568}, {"LxmertForPreTraining", "lxmert", 228'051'752},
    {"Mask2FormerForUniversalSegmentation", "mask2former", 68'721'037}, {"Mask2FormerModel", "mask2former", 68'720'266},
    {"MaskFormerForInstanceSegmentation", "maskformer", 101'793'403}, {"MaskFormerModel", "maskformer", 101'595'256},
    {"MaskFormerSwinBackbone", "maskformer-swin", 27'522'234}, {"MMGroundingDinoForObjectDetection", "mm-grounding-dino", 172'250'628},
    {"MMGroundingDinoModel", "mm-grounding-dino", 172'118'015}, {"MobileViTForSemanticSegmentation", "mobilevit", 6'353'058},
    {"MobileViTV2ForImageClassification", "mobilevitv2", 4'389'867}, {"MobileViTV2ForSemanticSegmentation", "mobilevitv2", 13'308'907},
    {"MobileViTV2Model", "mobilevitv2", 4'388'841}, {"ModernVBertForMaskedLM", "modernvbert", 290'659'264},
    {"ModernVBertForSequenceClassification", "modernvbert", 251'927'810}, {"ModernVBertForTokenClassification", "modernvbert", 251'927'810},
    {"MusicgenForCausalLM", "musicgen_decoder", 419'584'000}, {"MusicgenModel", "musicgen_decoder", 411'195'392},
    {"MusicgenMelodyForCausalLM", "musicgen_melody_decoder", 318'871'552}, {"MusicgenMelodyModel", "musicgen_melody_decoder", 310'482'944},
    {"Nemotron3_5AsrForRNNT", "nemotron3_5_asr", 636'866'592}, {"OneFormerForUniversalSegmentation", "oneformer", 50'699'902},
    {"OneFormerModel", "oneformer", 50'699'901}, {"PaddleOCRVisionTransformer", "paddleocr_vl_vision", 412'987'248},
    {"PatchTSMixerForPrediction", "patchtsmixer", 2'040}, {"PatchTSMixerForPretraining", "patchtsmixer", 1'584}, {"PatchTSMixerForRegression", "patchtsmixer", 1'873},
    {"PatchTSMixerForTimeSeriesClassification", "patchtsmixer", 1'873}, {"PatchTSMixerModel", "patchtsmixer", 1'512},
    {"PatchTSTForPrediction", "patchtst", 602'264, 4'096}, {"PatchTSTForRegression", "patchtst", 599'297, 4'096}, {"PeAudioFrameLevelModel", "pe_audio", 606'184'898},
    {"PeAudioModel", "pe_audio", 606'184'898}, {"PeAudioEncoder", "pe_audio_encoder", 282'057'664},
    {"PerceiverForImageClassificationLearned", "perceiver", 272'093'442}, {"PerceiverForMaskedLM", "perceiver", 269'319'430},
    {"PerceiverForSequenceClassification", "perceiver", 274'309'890}, {"PerceiverModel", "perceiver", 262'686'208},
    {"Phi4MultimodalAudioModel", "phi4_multimodal_audio", 441'254'144}, {"PixioBackbone", "pixio", 631'015'680},
    {"PPDocLayoutV2ForObjectDetection", "pp_doclayout_v2", 53'508'818}, {"PPDocLayoutV2Model", "pp_doclayout_v2", 31'965'734},
    {"PPDocLayoutV3ForObjectDetection", "pp_doclayout_v3", 33'163'366}, {"PPDocLayoutV3Model", "pp_doclayout_v3", 33'163'622},
    {"PPFormulaNetForConditionalGeneration", "pp_formulanet", 180'897'536}, {"PPFormulaNetModel", "pp_formulanet", 155'297'536},
    {"PPLCNetBackbone", "pp_lcnet", 1'016'160}, {"PPLCNetForImageClassification", "pp_lcnet", 1'674'082}, {"PPLCNetV3Backbone", "pp_lcnet_v3", 5'513'840},
    {"PPLCNetV4Backbone", "pp_lcnet_v4", 2'684'328}, {"PPOCRV5MobileDetForObjectDetection", "pp_ocrv5_mobile_det", 3'492'033},
    {"PPOCRV5MobileDetModel", "pp_ocrv5_mobile_det", 3'468'776}, {"PPOCRV5MobileRecEncoderWithSVTR", "pp_ocrv5_mobile_rec", 458'208},
    {"PPOCRV5MobileRecForTextRecognition", "pp_ocrv5_mobile_rec", 5'857'929}, {"PPOCRV5MobileRecModel", "pp_ocrv5_mobile_rec", 3'175'136},
    {"PPOCRV5ServerRecEncoderWithSVTR", "pp_ocrv5_server_rec", 5'264'672}, {"PPOCRV5ServerRecForTextRecognition", "pp_ocrv5_server_rec", 21'043'161},
    {"PPOCRV5ServerRecModel", "pp_ocrv5_server_rec", 13'553'904}, {"PPOCRV6SmallDetForObjectDetection", "pp_ocrv6_small_det", 2'797'657},
    {"PPOCRV6SmallDetModel", "pp_ocrv6_small_det", 2'774'400}, {"PPOCRV6SmallRecEncoderWithSVTR", "pp_ocrv6_small_rec", 327'000},
    {"PPOCRV6SmallRecForTextRecognition", "pp_ocrv6_small_rec", 5'275'722}, {"PPOCRV6SmallRecModel", "pp_ocrv6_small_rec", 2'684'328},
    {"PPOCRV6TinyRecForTextRecognition", "pp_ocrv6_tiny_rec", 3'683'065}, {"PPOCRV6TinyRecModel", "pp_ocrv6_tiny_rec", 2'684'328},
    {"PromptDepthAnythingForDepthEstimation", "prompt_depth_anything", 25'083'073}, {"ProphetNetDecoder", "prophetnet", 239'640'576},
    {"ProphetNetEncoder", "prophetnet", 182'935'552}, {"QianfanOCRForConditionalGeneration", "qianfan_ocr", 12'387'044'352},
    {"QianfanOCRModel", "qianfan_ocr", 11'764'714'496}, {"QianfanOCRVisionModel", "qianfan_ocr_vision", 304'012'288},
    {"Qwen2_5OmniForConditionalGeneration", "qwen2_5_omni", 18'386'365'824}, {"Qwen2_5OmniToken2WavBigVGANModel", "qwen2_5_omni_bigvgan", 115'443'504},
    {"Qwen2_5OmniToken2WavDiTModel", "qwen2_5_omni_dit", 333'607'760}, {"Qwen2_5OmniTalkerForConditionalGeneration", "qwen2_5_omni_talker", 6'599'025'664},
    {"Qwen2_5OmniTalkerModel", "qwen2_5_omni_talker", 6'555'899'392}, {"Qwen2_5OmniToken2WavModel", "qwen2_5_omni_token2wav", 449'051'264},
    {"Qwen3ASRForTokenClassification", "qwen3_asr", 2'039'630'976}, {"Qwen3OmniMoeTalkerCodePredictorModel", "qwen3_omni_moe_talker_code_predictor", 143'667'456},
    {"Qwen3OmniMoeTalkerCodePredictorModelForConditionalGeneration", "qwen3_omni_moe_talker_code_predictor", 208'679'168},
    {"ReformerForMaskedLM", "reformer", 5'975'872}, {"ReformerForQuestionAnswering", "reformer", 5'812'738},
    {"ReformerForSequenceClassification", "reformer", 5'943'554}, {"ReformerModel", "reformer", 5'811'712}, {"RfDetrForInstanceSegmentation", "rf_detr", 32'792'581},
    {"RfDetrForObjectDetection", "rf_detr", 31'928'324}, {"RfDetrModel", "rf_detr", 31'795'198}, {"RfDetrDinov2Backbone", "rf_detr_dinov2", 85'725'696},
    {"RTDetrResNetBackbone", "rt_detr_resnet", 23'527'264}, {"RTDetrV2ForObjectDetection", "rt_detr_v2", 42'731'082}, {"Sam2Model", "sam2", 31'440'721},
    {"Sam2HieraDetModel", "sam2_hiera_det_model", 26'849'472}, {"Sam2VideoModel", "sam2_video", 38'962'498}, {"Sam2VisionModel", "sam2_vision_model", 27'219'136},
    {"Sam3Model", "sam3", 840'376'374}, {"Sam3LiteTextModel", "sam3_lite_text", 548'138'550}, {"Sam3LiteTextTextModel", "sam3_lite_text_text_model", 61'355'520},
    {"Sam3TrackerModel", "sam3_tracker", 458'260'369}, {"Sam3TrackerVideoModel", "sam3_tracker_video", 465'782'146}, {"Sam3VideoModel", "sam3_video", 859'921'848},
    {"Sam3VisionModel", "sam3_vision_model", 454'038'784}, {"SamHQModel", "sam_hq", 94'806'832}, {"Sapiens2Backbone", "sapiens2", 395'450'368},
    {"Sapiens2Model", "sapiens2", 395'450'368}, {"SeamlessM4TCodeHifiGan", "seamless_m4t", 41'911'362}, {"SeamlessM4TForSpeechToSpeech", "seamless_m4t", 1'856'254'338},
    {"SeamlessM4TForSpeechToText", "seamless_m4t", 1'526'945'088}, {"SeamlessM4TForTextToSpeech", "seamless_m4t", 1'699'841'090},
    {"SeamlessM4TModel", "seamless_m4t", 2'359'990'658}, {"SeamlessM4TTextToUnitForConditionalGeneration", "seamless_m4t", 287'397'888},
    {"SeamlessM4TTextToUnitModel", "seamless_m4t", 1'370'531'840}, {"SeamlessM4Tv2ForSpeechToSpeech", "seamless_m4t_v2", 1'805'513'349},
    {"SeamlessM4Tv2ForSpeechToText", "seamless_m4t_v2", 1'501'842'240}, {"SeamlessM4Tv2ForTextToSpeech", "seamless_m4t_v2", 1'674'202'949},
    {"SeamlessM4Tv2Model", "seamless_m4t_v2", 2'309'249'669}, {"SLANetBackbone", "slanet", 1'349'856}, {"SLANetForTableRecognition", "slanet", 1'829'394},
    {"SLANetSLAHead", "slanet", 479'538}, {"SLANeXtBackbone", "slanext", 88'458'496}, {"SLANeXtForTableRecognition", "slanext", 90'924'850},
    {"SLANeXtSLAHead", "slanext", 2'466'354}, {"SpeechT5HifiGan", "speecht5_hifigan", 12'656'257}, {"SuperGlueForKeypointMatching", "superglue", 13'324'162},
    {"SuperPointForKeypointDetection", "superpoint", 1'300'865}, {"SwinBackbone", "swin", 27'520'890}, {"Swin2SRForImageSuperResolution", "swin2sr", 12'091'571},
    {"Swin2SRModel", "swin2sr", 11'838'384}, {"Swinv2Backbone", "swinv2", 27'576'618}, {"TextNetBackbone", "textnet", 10'704'832},
    {"TextNetForImageClassification", "textnet", 10'705'858}, {"TextNetModel", "textnet", 10'704'832}, {"Tipsv2DptForDensePrediction", "tipsv2_dpt", 157'969'221},
    {"Tipsv2DptForDepthEstimation", "tipsv2_dpt", 110'244'032}, {"Tipsv2DptForNormalEstimation", "tipsv2_dpt", 110'179'011},
    {"Tipsv2DptForSemanticSegmentation", "tipsv2_dpt", 110'178'754}, {"TvpForVideoGrounding", "tvp", 168'351'298}, {"TvpModel", "tvp", 167'167'040},
    {"UniSpeechForPreTraining", "unispeech", 95'106'640}, {"UniSpeechSatForPreTraining", "unispeech-sat", 95'535'872}, {"UnivNetModel", "univnet", 14'789'153},
    {"UperNetForSemanticSegmentation", "upernet", 66'382'916}, {"UVDocModel", "uvdoc", 7'898'595}, {"UVDocBackbone", "uvdoc_backbone", 7'695'968},
    {"VibeVoiceAcousticTokenizerModel", "vibevoice_acoustic_tokenizer", 687'392'001},
    {"VibeVoiceAcousticTokenizerDecoderModel", "vibevoice_acoustic_tokenizer_decoder", 175'793'409},
    {"VibeVoiceAcousticTokenizerEncoderModel", "vibevoice_acoustic_tokenizer_encoder", 343'696'032},
    {"VibeVoiceAsrForConditionalGeneration", "vibevoice_asr", 12'772'521'344}, {"VibeVoiceAsrModel", "vibevoice_asr", 12'150'191'488},
    {"VideomtForUniversalSegmentation", "videomt", 317'612'035}, {"VisualBertForRegionToPhraseAlignment", "visual_bert", 111'042'812},
    {"VitsModel", "vits", 36'284'592}, {"VoxtralRealtimeForConditionalGeneration", "voxtral_realtime", 4'429'679'360},
    {"VoxtralRealtimeModel", "voxtral_realtime", 4'429'679'360}, {"VoxtralRealtimeEncoder", "voxtral_realtime_encoder", 970'395'392},
    {"XcodecModel", "xcodec", 160'698'625}, {"Xcodec2Model", "xcodec2", 629'281'706}, {"ZoeDepthForDepthEstimation", "zoedepth", 333'277'250},
};

inline const class_at_defaults* find_at_defaults(std::string_view name, std::string_view type) {
  for (const auto& one : classes_at_defaults)
    if (name == one.name && (type.empty() || type == one.type)) return &one;
  return nullptr;
}

/// Its parameters. Every key that is no file's name, version or format is refused: nobody has read what it shapes.
inline parameter_count count_at_defaults(const config& c, const class_at_defaults& one) {
  constexpr std::string_view passed[] = {"architectures", "model_type", "transformers_version", "torch_dtype", "dtype", "_name_or_path"};
  for (const auto& [key, value] : c.object().items())
    if (std::find(std::begin(passed), std::end(passed), key) == std::end(passed))
      complain(c.at(key) + " is not read: of " + one.name + " the parameters are known for its class's default configuration alone, " + std::to_string(one.total) +
               " of them. Take the key away if it says what the default is, found " + shown(value));
  tally t;
  t.add(component::other, one.total - one.frozen);
  t.frozen(component::other, one.frozen);
  return t.counted();
}

}  // namespace headroom::io::detail
