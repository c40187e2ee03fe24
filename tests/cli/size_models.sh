# kvsim size with configs of many classes: what is taken from them, assumed, or refused.
. "$srcdir/tests/cli/support.sh"

cat >"$scratch/starcoder.json" <<END
{"architectures": ["GPTBigCodeForCausalLM"], "model_type": "gpt_bigcode", "multi_query": true, "n_embd": 6144, "n_head": 48,
 "n_inner": 24576, "n_layer": 40, "n_positions": 8192, "vocab_size": 49152, "torch_dtype": "float32"}
END
run size --model starcoder.json --gpu-memory 80GiB
expect_line 'one KV head of 128 in 40 layers, with 2 bytes though the file says float32' 0 \
	'KV bytes a token and rank          20480 kept until the request ends'
expect_line 'which is said' 0 'is float32, which engines load with 16 bits'

run size --model starcoder.json --gpu-memory 200GiB --dtype float32
expect_line 'unless it is asked for' 0 'KV bytes a token and rank          40960 kept until the request ends'

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

# Three windowed layers of 8 KV heads with keys of 192 and values of 128 elements, one full of 4 heads; 2 ranks.
cat >"$scratch/mimo.json" <<END
{"model_type": "mimo_v2_flash", "num_hidden_layers": 4, "hidden_size": 4096, "num_attention_heads": 64, "head_dim": 192,
 "v_head_dim": 128, "num_key_value_heads": 4, "swa_num_attention_heads": 64, "swa_num_key_value_heads": 8, "swa_head_dim": 192,
 "swa_v_head_dim": 128, "hybrid_layer_pattern": [0, 1, 1, 1], "sliding_window": 128, "intermediate_size": 16384,
 "vocab_size": 152576, "max_position_embeddings": 8192, "tie_word_embeddings": false, "torch_dtype": "bfloat16"}
END
run size --model mimo.json --gpu-memory 24GiB -tp 2 --explain
expect_line 'a formula of layers that differ has a term for each shape' 0 \
	'  1 layers x 2 KV heads x (192 K + 128 V) dimensions x 1 positions x 1 sequences x 2 bytes'
expect_line 'of them the windowed ones' 0 \
	'  + 3 layers x 4 KV heads x (192 K + 128 V) dimensions x 1 positions x 1 sequences x 2 bytes'
expect_line 'and their sum' 0 '= 8960 bytes (8.75 KiB) on a rank'

run size --model llama-3.1-8b --gpu-memory 80GiB --kv-cache-dtype int8_per_token_head --explain
expect_line 'a formula with scales: 4 bytes for keys and for values of 8 heads in 32 layers' 0 \
	'  + 2048 bytes of scales x 1 positions x 1 sequences'
expect_line 'which are in the result' 0 '= 67584 bytes (66.00 KiB) on a rank'

run size --model llama-3.1-8b --gpu-memory 80GiB -pp 2 --explain
expect_line 'a pipeline stage has its own layers' 0 '2 (K and V) x 16 layers x 8 KV heads x 128 dimensions x 1 positions'

# llama.cpp: 3 states of (2 x 16 x 128 + 32 x 128) x 3 + 32 x 128 x 128 elements of 4 bytes.
cat >"$scratch/next.json" <<END
{"model_type": "qwen3_next", "num_hidden_layers": 4, "hidden_size": 2048, "num_attention_heads": 16, "head_dim": 256,
 "num_key_value_heads": 2, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
 "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "intermediate_size": 5632, "vocab_size": 151936,
 "max_position_embeddings": 8192, "tie_word_embeddings": false, "torch_dtype": "bfloat16"}
END
run size --model next.json --gpu-memory 24GiB --engine llama.cpp-2026-08 --explain
expect_line "llama.cpp's states have 4 bytes an element" 0 'Recurrent state a sequence         6586368 bytes'
expect_line 'and it has no blocks to speak of' 0 'Cells are set aside for all slots at start-up'

# SGLang: a token takes 18 x 2048 bytes in full layers and as much in windowed ones; full = KV / (36864 + 0.8 x 36864).
run size --model gpt-oss-120b --kv-cache-memory-bytes 66355200000 --engine sglang-2026-07 --max-model-len 100000 --length 100000 \
	--explain
expect_line 'windows are in their pool' 0 '18 layers look back 128 tokens only: a request holds no more of them in their pool.'
expect_line "SGLang's full pool" 0 'full                 18        0   0.5556      1000000                       100000'
expect_line 'and its windowed one with 0.8 times its tokens' 0 \
	'sliding_window       18      128   0.4444       800000                          128'
expect_line 'requests are as many as the scarcer pool holds' 0 'Requests of 100000 tokens   10 fit at once'

# SGLang: 36 states of (8192 x 3 x 2 + 32 x 128 x 128 x 4) / 4 = 19,316,736 bytes a slot, in 0.9 / 1.9 of the memory; the rest
# for 12 layers of one head of 256: 12,288 bytes a token.
run size --model qwen3-next-80b-a3b --kv-cache-memory-bytes 40780000000 --engine sglang-2026-07 -tp 4
expect_line "SGLang's slots of recurrent state" 0 'Slots of recurrent state           1000, 3 a request: at most 333 requests at once'
expect_line 'are set aside before its KV cache' 0 'KV cache tokens                    1746684 '
run run --model qwen3-next-80b-a3b --hardware h100-sxm --engine sglang-2026-07 -tp 4 --trace /dev/null
expect_line 'which run does not simulate' 64 'has recurrent layers, whose states run does not simulate'

# TensorRT-LLM: 52000 x 0.6061 = 31515 blocks of full layers, 10000 x 0.3939 = 3939 of windowed ones; 3200 tokens hold 100, 32.
cat >"$scratch/even.csv" <<END
arrival_s,prompt_tokens,output_tokens
0,3000,200
1,3100,100
END
run size --model gemma-3-27b --kv-cache-memory-bytes 136314880000 --engine trtllm-2026-08 --max-model-len 8192 --trace even.csv
expect_line 'of a trace, too, the scarcer pool holds the fewest' 0 'at its own mix                   123.1'
finish
