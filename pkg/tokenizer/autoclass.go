package tokenizer

import (
	"bytes"
	"slices"
	"strings"
)

// tokenizerClass returns the class that AutoTokenizer of transformers 5 selects for a
// model, without the suffix "Fast"; "" if it uses tokenizer.json unchanged.
// tokenizer_config.json names the class, except for model types that are known to name a
// wrong one. data is tokenizer.json.
// Source: transformers 5.23.0, models/auto/tokenization_auto.py.
func tokenizerClass(data []byte, config, model *node) (string, error) {
	class, err := config.stringOr("tokenizer_class", "")
	if err != nil {
		return "", err
	}
	kind, err := model.stringOr("model_type", "")
	if err != nil {
		return "", err
	}
	if class == "" {
		if class, err = model.stringOr("tokenizer_class", ""); err != nil {
			return "", err
		}
	}
	class = strings.TrimSuffix(class, "Fast")
	switch {
	case config.member("auto_map") != nil:
		return class, nil // the model's own code is not run
	case slices.Contains(asWrittenModels, kind):
		return "", nil
	case class == "":
		return classOfModel[kind], nil
	case mistakenModels[kind] != "":
		return mistakenModels[kind], nil
	case class == "LlamaTokenizer" && bytes.Contains(data, []byte(`"ByteLevel"`)):
		return "", nil // LLaMA 3 and others name this class wrongly
	}
	return class, nil
}

// asWrittenModels lists the model types whose tokenizer.json is used unchanged with any
// class. This package does not read Mistral's format, tekken.json.
var asWrittenModels = strings.Fields(`EvollaModel aria beam bigbird_pegasus canary flex_olmo glm glm4 glm4_moe glm4_moe_lite
	glm4v glm4v_moe glm_image glmasr got_ocr2 gpt_bigcode gradium_phonon_tts granite granitemoe granitemoehybrid
	granitemoeshared kimi_k25 kimi_linear kosmos-2 mimo_v2_flash minicpm_ocr minicpmv4_6 minicpmv4_7 ministral ministral3
	mistral mistral3 mistral_large4 mixtral nemo_speechlm nystromformer olmo2 olmo3 olmo_hybrid pegasus_x persimmon
	pix2struct pixtral pocket_tts stablelm umt5 voxtral voxtral_realtime xlm-roberta-xl phimoe openvla hyperclovax_vlm
	nemotron llava_next modernbert-decoder phi3_v cohere_asr phi3 molmo2 ernie4_5_moe fuyu ernie4_5 camembertv2-base smolvlm
	paddleocr_vl vipllava hyperclovax minicpm3 chatlm jamba arctic llava nvfp4 minimax_m2 opencua minicpmv internlm2
	internlm3 h2ovl_chat modernbert molmo iquestcoder step3_vl`)

// mistakenModels maps the model types that name a wrong class to the right class.
var mistakenModels = map[string]string{
	"qwen2": "Qwen2Tokenizer", "hyperclovax_vision_v2": "GPT2Tokenizer", "qwen3_5": "Qwen3_5Tokenizer", "qwen3_5_moe": "Qwen3_5Tokenizer",
	"qwen3_5_moe_text": "Qwen3_5Tokenizer", "qwen4_exp": "Qwen3_5Tokenizer",
}

// classOfModel maps model types to their class, for models that name no class.
var classOfModel = classesOfModels(map[string]string{
	"LlamaTokenizer":     "idefics idefics2",
	"CodeLlamaTokenizer": "code_llama",
	"GemmaTokenizer":     "diffusion_gemma gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma shieldgemma2 t5gemma zaya",
	"GPT2Tokenizer":      "blip-2 codegen dbrx emu3 gpt2 gpt_neo gptj hyperclovax_vision_v2 instructblip instructblipvideo jais2 opt phi starcoder2",
	"GPTNeoXTokenizer":   "falcon_mamba gpt_neox mamba mamba2 mpt olmo olmoe rwkv xlstm",
	"Qwen2Tokenizer": `audioflamingo3 colqwen2 cosmos3_omni dots3_note fun_asr_nano hunyuan_vl internvl lighton_ocr moss_transcribe_diarize
		ovis2 qianfan_ocr qwen2 qwen2_5_omni qwen2_5_vl qwen2_audio qwen2_moe qwen2_vl qwen3 qwen3_asr qwen3_moe qwen3_next
		qwen3_omni_moe qwen3_vl qwen3_vl_moe vibevoice`,
	"Qwen3_5Tokenizer": "qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen4_exp",
	"CohereTokenizer":  "aya_vision cohere cohere2",
})

func classesOfModels(models map[string]string) map[string]string {
	classes := map[string]string{}
	for class, kinds := range models {
		for _, kind := range strings.Fields(kinds) {
			classes[kind] = class
		}
	}
	return classes
}
