# kvsim size with configs of many classes: what is taken from them, assumed, or refused.
. "$srcdir/tests/cli/support.sh"

cat >"$scratch/starcoder.json" <<END
{"architectures": ["GPTBigCodeForCausalLM"], "model_type": "gpt_bigcode", "multi_query": true, "n_embd": 6144, "n_head": 48,
 "n_inner": 24576, "n_layer": 40, "n_positions": 8192, "vocab_size": 49152, "torch_dtype": "float32"}
END
run size --model starcoder.json --gpu-memory 80GiB
expect_line 'one KV head of 128 in 40 layers, with 2 bytes though the file says float32' 0 \
	'KV bytes a token and rank          20480 for ever'
expect_line 'which is said' 0 'is float32, which engines load with 16 bits'

run size --model starcoder.json --gpu-memory 200GiB --dtype float32
expect_line 'unless it is asked for' 0 'KV bytes a token and rank          40960 for ever'

cat >"$scratch/hqq.json" <<END
{"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
 "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
 "max_position_embeddings": 8192, "quantization_config": {"quant_method": "hqq"}}
END
run size --model hqq.json --gpu-memory 24GiB
expect_line 'weights of an unknown format are not sized' 64 'the weights of hqq.json are not known: quant_method is "hqq"'
expect_line 'and it says what to give' 64 'give --weights-bytes, or --quantization with a known one'

run size --model hqq.json --gpu-memory 24GiB --weights-bytes 5GiB
expect_line 'which does' 0 'weights                                 -5368709120     -5.00'

run size --model hqq.json --kv-cache-memory-bytes 1GiB
expect_line 'without a budget they do not matter' 0 'Blocks                             512, usable 511'

run run --model hqq.json --hardware l4 --num-gpu-blocks-override 1000 --trace /dev/null
expect_line 'steps go by them' 64 'give --quantization with the nearest known one'

# Kernels of FlashAttention, FlashInfer and Triton take multiples of 16 tokens, the indexer of sparse attention 64.
run size --model llama-3.1-8b --gpu-memory 80GiB --block-size 17
expect_line 'a block size that no kernel takes' 64 'is 17: vllm-2026-08 takes multiples of 16 for llama-3.1-8b'

cat >"$scratch/sparse.json" <<END
{"model_type": "deepseek_v32", "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 128, "q_lora_rank": 1536,
 "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "index_n_heads": 64,
 "index_head_dim": 128, "intermediate_size": 18432, "vocab_size": 129280, "tie_word_embeddings": false,
 "max_position_embeddings": 163840, "torch_dtype": "bfloat16"}
END
run size --model sparse.json --kv-cache-memory-bytes 1GiB --max-model-len 4096 --sensitivity
expect_line 'latents of 1,152 bytes and indexer keys of 132, in 61 layers and blocks of 64' 0 \
	'mla                  61        0      64        5012736'
expect_line 'no other block is varied that it does not take' 0 '*--block-size 64'
run size --model sparse.json --kv-cache-memory-bytes 1GiB --block-size 16
expect_line 'blocks of 16 are refused for it' 64 'takes multiples of 64 for sparse.json'
finish
