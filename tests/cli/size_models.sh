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
finish
