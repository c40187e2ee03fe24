# kvsim size: the verdict, its numbers, and wrong input.
. "$srcdir/tests/cli/support.sh"

run size --model llama-3.1-70b --hardware h100-sxm -tp 4
expect_line 'it says that it starts' 0 'It starts.'
expect_line 'with bytes per token' 0 'KV bytes a token and rank          81920 kept until the request ends'
expect_line 'and its profile' 0 'Engine profile   vllm-2026-08'

run size --model llama-3.1-8b --hardware rtx-4090
expect_line 'a refusal tells how much is missing' 0 'It does not start: one request of 131072 tokens lacks'
expect_line 'and what would help' 0 '--tensor-parallel-size 2'

run size --model llama-3.1-8b --kv-cache-memory-bytes 3GiB --length 3072 --max-model-len 4096
expect_line 'eight requests of 384 MiB fit 3 GiB' 0 'Requests of 3072 tokens   8 fit at once'

run size --model llama-3.1-8b --gpu-memory 80GiB --explain --length 8192 --sequences 4
expect_line 'the formula is filled in' 0 \
	'2 (K and V) x 32 layers x 8 KV heads x 128 dimensions x 8192 positions x 4 sequences x 2 bytes'
expect_line 'with its result' 0 '= 4294967296 bytes (4.00 GiB)'

run size --model deepseek-v3 --gpu-memory 141GiB -tp 8 --explain --sensitivity
expect_line 'the latent formula' 0 '61 layers x (512 latent + 64 rope)'
expect_line 'shapes of the same GPUs' 0 '-tp 4 -pp 2 -dp 1'

expect_line 'latents have no scales of heads' 0 '--kv-cache-dtype int8_per_token_head           -              -            -  not with latent attention (MLA)'
run size --model llama-3.1-8b --hardware h100-sxm --sensitivity
expect_line 'nvfp4 is not on every card' 0 '--kv-cache-dtype nvfp4                         -              -            -  needs a card of compute capability 10.x'
run size --model llama-3.1-8b --hardware b200 --sensitivity --json
report "$(grep -A1 '"--kv-cache-dtype nvfp4"' "$scratch/out" | grep -q '"starts": true'; echo $?)" 'but on this one'
run size --model llama-3.1-8b --hardware b200 --sensitivity --engine llama.cpp-2026-08
expect_line 'each engine has its own formats' 0 '--kv-cache-dtype q8_0'
# 131,072 tokens take 8192 blocks and six times (1023 + 8192) / 16 and one: 8192 + 6 x 577 = 11,654, half of 23,308.
run size --model gemma-3-27b --hardware h100-sxm --sensitivity --num-gpu-blocks-override 23308 --max-num-batched-tokens 8192
report "$(grep -q '^\*--max-model-len 131072 .* 262144  *2\.00x  yes' "$scratch/out"; echo $?)" \
	'tokens stand beside the concurrency that they follow from'

# A page is 10 layers x 16 tokens x 16 heads x 128 dimensions x 2 x 2 bytes; (1023 + 2048) / 16 rounded up and one are 193.
run size --model gemma-3-27b --gpu-memory 80GiB --length 8192 --max-num-batched-tokens 2048 --explain --gpu-memory-utilization 0.9
expect_line 'windows are explained in blocks' 0 \
	'+ sliding_window   6 x (ceil(min(1024 - 1 + 2048 in flight, 8192) / 16) + 1) = 1158 blocks'
expect_line 'with their bytes' 0 '= 1670 blocks x 1310720 bytes x 1 sequences = 2188902400 bytes (2.04 GiB) on a rank'
expect_line 'and the budget as arithmetic' 0 \
	'-       8589934592  beyond gpu_memory_utilization: 85899345920 - 0.9 x 85899345920 rounded up'

# A measured start had 2,588 blocks: within the errors of what is assumed, not at its middle.
run size --model llama-3.1-8b --hardware rtx-4090 --engine vllm-0.19 --gpu-memory-utilization 0.9 --max-model-len 8192 --json
blocks=$(sed -n '/"within_known_errors"/,/}/p' "$scratch/out" | tr -d ' \n' | sed 's/.*"num_gpu_blocks":\[\([0-9,]*\)\].*/\1/')
report "$([ "${blocks%,*}" -lt 2588 ] && [ "${blocks#*,}" -gt 2588 ]; echo $?)" 'errors of assumed lines reach the blocks'
run size --model llama-3.1-8b --hardware rtx-4090 --max-model-len 8192 --activation-bytes 1GiB --kv-cache-memory-bytes 4GiB
report "$(! grep -q 'within the errors' "$scratch/out"; echo $?)" 'a given budget has none'

# Memory holds seven of 3,072 tokens, four run.
fits() {
	run size --model llama-3.1-8b --kv-cache-memory-bytes 3GiB --max-model-len 4096 --fail-unless-fits "$@"
}
fits --length 3072 --sequences 7
expect_line 'what fits is done' 0 'It starts.'
fits --length 3072 --sequences 8
expect_line 'what does not is no success where it is asked for' 1 'It starts.'
fits --length 3072 --sequences 7 --max-num-seqs 4
expect_line 'nor what cannot run at once' 1 'It starts.'
fits --max-model-len 32768
expect_line 'nor what does not start' 1 'It does not start'
run size --model llama-3.1-8b --hardware l4,h100-sxm --fail-unless-fits
expect_line 'of several cards one is enough' 0 'h100-sxm '
run size --model llama-3.1-8b --hardware l4,rtx-4090 --fail-unless-fits
expect_line 'and none is not' 1 'rtx-4090 '

run size --model gpt-oss-120b --gpu-memory 80GiB --gpu-memory-utilization 0.7
expect_line 'a budget below zero' 0 'KV cache                               -'

run size --model llama-3.1-8b --gpu-memory 80GiB --json
expect_line 'JSON has a verdict' 0 '"starts": true'
expect_line 'and blocks' 0 '"num_gpu_blocks":'

cat >"$scratch/trace.csv" <<END
arrival_s,prompt_tokens,output_tokens
0,1000,100
1,2000,100
2,3000,100
END
run size --model llama-3.1-8b --kv-cache-memory-bytes 3GiB --max-model-len 4096 --trace trace.csv
expect_line "a trace's lengths" 0 "Of the trace's 3 requests (mean 2100 tokens)"
cat >"$scratch/sessions.csv" <<END
arrival_s,request_id,after,think_s,prompt_tokens,output_tokens
0,a,,,1000,100
,b,a,1,2000,100
,c,b,1,3000,100
END
run size --model llama-3.1-8b --kv-cache-memory-bytes 3GiB --max-model-len 4096 --trace sessions.csv
expect_line 'requests that follow others count too' 0 "Of the trace's 3 requests (mean 2100 tokens)"

run trace generate preset:agents -o agents.csv
rows=$(($(wc -l <"$scratch/agents.csv") - 1))
run size --model llama-3.1-8b --gpu-memory 80GiB --scenario preset:agents
expect_line 'and those of a preset, as many as it writes out' 0 "Of the trace's $rows requests"
# 3 GiB are 1,536 blocks of 16 x 131,072 bytes, 1,535 beside the null block; 100 tokens take 7: memory holds 219.
run size --model llama-3.1-8b --kv-cache-memory-bytes 3GiB --max-model-len 4096 --length 100 --sequences 219 --max-num-seqs 64
expect_line 'memory is not all that bounds requests' 0 'Requests of 100 tokens   219 in memory (219 with the null block set aside)'
expect_line 'max_num_seqs does too' 0 'but max_num_seqs 64 lets 64 run at once'
expect_line 'what fits need not run' 0 \
	'219 such requests                 fit in memory but do not run at once: they take 2.99 GiB on a rank; max_num_seqs 64'
run size --model llama-3.1-8b --kv-cache-memory-bytes 3GiB --max-model-len 4096 --length 100 --sequences 128 --max-num-seqs 64 -dp 2
expect_line 'each replica has its own bound' 0 'but max_num_seqs 64 on 2 replicas lets 128 run at once'
expect_line 'of which a load may take all' 0 '128 such requests                 fit: they take'
run size --model llama-3.1-8b --kv-cache-memory-bytes 3GiB --max-model-len 4096 --trace trace.csv --max-num-seqs 8
# 2,100 tokens take 131.67 blocks on average (69, 132 and 194): 1,535 / 131.67 = 11.7.
expect_line "a trace's requests are bounded likewise" 0 \
	'at its own mix                     8.0 (memory would hold 11.7; max_num_seqs 8 lets 8 run at once)'
run size --model llama-3.1-8b --kv-cache-memory-bytes 3GiB --max-model-len 4096 --length 100 --max-num-seqs 64 -dp 2 --json
expect_line 'JSON has both bounds together' 0 '"at_once": 128'

for profile in sglang-2026-07 trtllm-2026-08 llama.cpp-2026-08 vllm-0.11; do
	run size --model llama-3.1-8b --gpu-memory 80GiB --engine "$profile" --max-model-len 4096
	expect_line "profile $profile" 0 'It starts.'
done

run size --model llama-3.1-70b --hardware h100-sxm,h200,l40s -tp 4 --length 131072 --sequences 5
expect_line 'several cards: three of five users' 0 \
	'h100-sxm                4    79.18     33.80     yes                3  no'
run size --model llama-3.1-70b --hardware 'h100-sxm, h200,	l40s' -tp 4 --length 131072 --sequences 5
expect_line 'blanks beside commas do no harm' 0 'h200                    4   139.93     89.69     yes                8  yes'
expect_line 'a card that does' 0 'h200                    4   139.93     89.69     yes                8  yes'
expect_line 'a card that does not start' 0 'l40s                    4    44.52      4.45      no                0  no'
expect_line 'what would do can be pasted' 0 '--hardware h100-sxm --kv-cache-dtype fp8               # 886032 tokens as logged'
expect_line 'more GPUs are counted' 0 '10 requests of 131072 at once, 8 GPUs'
expect_line 'what was tried is told' 0 'Tried, one at a time: --max-model-len, --kv-cache-dtype of 8 bits,'
run size --model deepseek-v3 --hardware h100-sxm,h200 -tp 8 --length 131072 --sequences 5
expect_line 'pipeline stages are tried as for one card' 0 '--hardware h100-sxm --pipeline-parallel-size 2'
run size --model deepseek-v3 --hardware h100-sxm -tp 8 --length 131072 --sequences 5
expect_line 'and one card has the same' 0 '  --pipeline-parallel-size 2         # 813856 tokens as logged, 4.97x, 6 requests of 131072'
cat >"$scratch/card.yaml" <<END
name: my-card
END
run size --model llama-3.1-8b --hardware h100-sxm,./card.yaml --length 8192
expect_line 'a card of unknown memory does not sink the table' 0 './card.yaml          memory not known'
expect_line 'whose other cards are answered' 0 'h100-sxm                1    79.18'
# 6.74 billion parameters, 2 bytes each, are 12.55 GiB; of one byte they leave room on 12 GiB.
run size --model llama-2-7b --gpu-memory 12GiB --max-model-len 1024
expect_line 'quantised weights are a change of the model' 0 '--quantization fp8'
expect_line 'that is marked' 0 'changes the model: measure task accuracy again'
run size --model llama-3.1-70b --hardware h100-sxm,h200 -tp 4 --length 131072 --sequences 5 --json
expect_line 'in JSON' 0 '"users_wanted": 5'
run size --model llama-3.1-8b --hardware h100-sxm,,h200
expect_line 'an empty name' 64 "kvsim: --hardware: 'h100-sxm,,h200' has an empty name"
run size --model llama-3.1-8b --hardware h100-sxm,h2000
expect_line 'an unknown card among them' 64 "unknown hardware 'h2000'"
run size --model llama-3.1-8b --hardware h100-sxm,h200 --gpu-memory 80GiB
expect_line 'each card has its own memory' 64 'does not go with several cards'
run size --model llama-3.1-8b --hardware h100-sxm,h200 --explain
expect_line 'and its own explanation' 64 'one card at a time'
run size --model llama-3.1-8b --gpu-memory 80GiB --set seed=3
expect_line 'keys that do nothing here are refused' 64 'kvsim: --set: seed does not act on sizing'
run size --model llama-3.1-8b --gpu-memory 80GiB --eviction lru
expect_line 'options that do nothing here do not exist' 64 "kvsim: unknown option '--eviction'"

run size --model llama-3.1-8b
expect 'memory is needed' 64 <<END
kvsim: the memory of the GPU is not known: give --hardware NAME (kvsim list hardware), --gpu-memory, --kv-cache-memory-bytes or --num-gpu-blocks-override
END
run size --model llama-3.1-8b --hardware ./card.yaml
expect 'a card of unknown memory' 64 <<END
kvsim: the memory of ./card.yaml is not known: give --gpu-memory, --kv-cache-memory-bytes or --num-gpu-blocks-override
END
# 275,040 MiB by nvidia-smi, 480 MiB of them the driver's: 268.12 GiB.
run size --model llama-3.1-8b --hardware b300
expect_line 'a card has the memory of its data sheet' 0 'GPU              b300, 268.12 GiB'
sed -n '/^name: my-card/,/^\.fi/p' "$srcdir/sim/cli/kvsim-size.x" | grep -v '^\.fi' >"$scratch/my-card.yaml"
run size --model llama-3.1-8b --hardware ./my-card.yaml --max-model-len 8192
expect_line "the manual's hardware file is one" 0 'GPU              my-card, 94.97 GiB'
run run --model llama-3.1-8b --hardware ./my-card.yaml --max-model-len 8192 --trace trace.csv --quiet --out my-card
report "$status" 'and times steps too'
run run --model llama-3.1-8b --hardware ./card.yaml --trace trace.csv
expect 'what a run lacks is asked for at once' 64 <<END
kvsim: hardware my-card: not known: flops.bf16, memory_bandwidth, memory, by which step times go; give --hardware FILE that states them (kvsim-size(1), HARDWARE FILES), or --latency fixed:DURATION
END
run run --model llama-3.1-8b --hardware ./card.yaml --trace trace.csv --latency fixed:10ms
expect_line 'options that a run has stand in' 64 'the memory of my-card is not known, by which defaults go: give --max-num-seqs, --max-num-batched-tokens, and --kv-cache-memory-bytes or --num-gpu-blocks-override; or'
run run --model llama-3.1-8b --hardware h100-sxm --trace trace.csv --gpu-memory 80GiB
expect_line 'an option of size is no abbreviation' 64 'kvsim: --gpu-memory is an option of kvsim size: here the memory is that of the card'
run size --model llama-3.1-8b --gpu-memory 80GiB --max-model-len 8192 --length 60000 --sequences 2
expect 'requests longer than max_model_len never run' 64 <<END
kvsim: --length: 60000 tokens are more than max_model_len 8192, beyond which the engine refuses a request: raise --max-model-len or shorten --length
END
run size --model llama-3.1-8b --gpu-memory 80GiB --num-speculative-tokens 3
expect_line 'drafts need layers that draft' 64 'no prediction layers of its own'
run size --model llama-3.1-70b --gpu-memory 80GiB -tp 4 --speculative-config \
	'{"model": "llama-3.2-1b", "num_speculative_tokens": 3}'
expect_line 'a draft model is counted apart' 0 "  of them the drafter's layers       8192"
expect_line 'its weights too' 0 'draft weights                            -618'
printf 'name: old\ncompute_capability: 7.0\nmemory: 12GiB\n' >"$scratch/old.yaml"
run size --model llama-2-7b --hardware ./old.yaml --max-model-len 1024
report "$(! grep -q -e '--quantization fp8' "$scratch/out"; echo $?)" 'fp8 weights are not for cards before Ampere'
for config in '[1]|not a JSON object' '{"models": "x"}|did you mean '"'model'" '{"model": "llama-3.2-1b"}|num_speculative_tokens' \
	'{"model": "llama-3.2-1b", "num_speculative_tokens": 3, "method": "medusa"}|valid are draft_model, eagle, eagle3' \
	'{"method": "ngram", "num_speculative_tokens": 3}|has no model'; do
	run size --model llama-3.1-8b --gpu-memory 80GiB --speculative-config "${config%|*}"
	expect_line "a drafter that says ${config%|*}" 64 "${config#*|}"
done
run size --model llama-3.1-8b --gpu-memory 80GiB --engine sglang-2026-07 --speculative-config \
	'{"model": "llama-3.2-1b", "num_speculative_tokens": 3}'
expect_line 'drafters of other engines are refused' 64 'known for vLLM only'
run size --model llama-3.1-8b --gpu-memory 80GiB --kv-cache-dtype int4_g32
expect_line 'metadata are printed apart' 0 'of them scales and metadata      8192'
expect_line 'with a reminder' 0 'measure task accuracy again'
run size --model llama-3.1-8b --gpu-memory 80GiB --kv-cache-dtype-skip-layers 0
expect_line 'nothing to skip' 64 'all layers have the model'
run size --model llama-3.1-8b --gpu-memory 80GiB --kv-cache-dtype fp8 --kv-cache-dtype-skip-layers 0,40
expect_line 'a layer that is not there' 64 '--kv-cache-dtype-skip-layers: layer 40 is beyond the 32 layers'
run size --model deepseek-v4-flash --gpu-memory 180GiB -tp 8 --kv-cache-dtype fp8 --explain
expect_line 'compressed rows are explained' 0 '21 layers x (584 row + 132 indexer) bytes / 4 + 20 layers x 584 bytes / 128'
run size --model llama-3.1-8b --gpu-memory 80
expect_line 'sizes need units' 64 'kvsim: --gpu-memory: '
run size --model llama-3.1-8b --gpu-memory 80GiB --gpu-memory-utilization 1.1
expect_line 'utilisation above 1' 64 'gpu-memory-utilization'
run size --model llama-3.1-8b --gpu-memory 80GiB -tp 3
expect_line 'heads that do not split' 64 'kvsim: --tensor-parallel-size: 3 ranks do not divide the 32 query heads of llama-3.1-8b'
run size --model qwen3-next-80b-a3b --gpu-memory 80GiB --engine trtllm-2026-08
expect_line 'what is not known is refused' 64 'recurrent layers'

cat >"$scratch/config.json" <<END
{"model_type": "qwen3", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
 "num_key_value_heads": 2, "intermediate_size": 1024, "vocab_size": 1000}
END
run size --model config.json --gpu-memory 8GiB
expect_line 'a config without head_dim' 65 'add head_dim'
sed 's/qwen3/zephyrix/' "$scratch/config.json" >"$scratch/zephyrix.json"
run size --model zephyrix.json --gpu-memory 8GiB
expect_line 'of an unknown class no rule is claimed' 65 'model_type "zephyrix" is unknown here, so that no rule for it is known: add head_dim'
sed 's/qwen3/llama/' "$scratch/config.json" >"$scratch/llama.json"
run size --model llama.json --gpu-memory 8GiB --max-model-len 100
expect_line 'an assumption is told' 0 'head_dim is missing: 64 = hidden_size / num_attention_heads assumed'
{ printf '\357\273\277'; cat "$scratch/llama.json"; } >"$scratch/marked.json"
run size --model marked.json --gpu-memory 8GiB --max-model-len 100
expect_line 'a byte order mark is skipped' 0 'It starts.'
run size --model llama.json --hardware h100-sxm,h200 --max-model-len 100
expect_line 'a comparison tells assumptions too' 0 'Note: llama.json: head_dim is missing: 64'
cat >"$scratch/scales.json" <<END
{"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "head_dim": 64,
 "num_key_value_heads": 2, "intermediate_size": 1024, "vocab_size": 1000, "torch_dtype": "bfloat16",
 "tie_word_embeddings": false, "max_position_embeddings": 4096, "quantization_config": {"quant_method": "compressed-tensors",
 "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}},
 "kv_cache_scheme": {"num_bits": 8, "type": "float"}}}
END
run size --model scales.json --gpu-memory 8GiB
expect_line 'a checkpoint with scales for its cache has it in fp8' 0 'KV bytes a token and rank          1024 kept until the request ends'
expect_line 'and that is told' 0 'scales for an fp8 KV cache, so --kv-cache-dtype auto is fp8: --kv-cache-dtype bfloat16'
run size --model scales.json --gpu-memory 8GiB --kv-cache-dtype bfloat16
expect_line 'what is asked for counts more' 0 'KV bytes a token and rank          2048 kept until the request ends'
for profile in vllm-0.11 sglang-2026-07; do
	run size --model scales.json --gpu-memory 8GiB --engine "$profile"
	expect_line "$profile leaves the scales alone" 0 "which $profile leaves alone unless --kv-cache-dtype fp8 is given"
done
cat >"$scratch/sparse.json" <<END
{"model_type": "deepseek_v32", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "kv_lora_rank": 512,
 "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "index_n_heads": 64, "index_head_dim": 128,
 "intermediate_size": 1024, "vocab_size": 1000, "torch_dtype": "bfloat16", "max_position_embeddings": 4096}
END
run size --model sparse.json --gpu-memory 8GiB --explain
expect_line 'the indexer stands in the formula' 0 '4 layers x ((512 latent + 64 rope) x 2 + 132 indexer) bytes x 1 positions'
expect_line 'and in its result' 0 '= 5136 bytes'
run size --model sparse.json --gpu-memory 8GiB --kv-cache-dtype fp8 --explain
expect_line 'the rows of the sparse layout too' 0 '4 layers x (656 row + 132 indexer) bytes x 1 positions'
expect_line 'with bytes of a token' 0 'KV bytes a token and rank          3152 kept until the request ends'

# 61,064,245,248 bytes in all, of them 48 layers x 128 experts x 3 x 2048 x 768 x 2 = 57,982,058,496 of routed experts: vLLM
# leaves a quarter of these to each of four replicas, with expert parallelism or without; SGLang leaves all.
run size --model qwen3-30b-a3b --hardware h100-sxm -dp 4
expect_line 'routed experts are cut over replicas' 0 'weights                                -17577701376'
run size --model qwen3-30b-a3b --hardware h100-sxm -dp 4 --enable-expert-parallel
expect_line 'or spread whole' 0 'weights                                -17577701376'
run size --model qwen3-30b-a3b --hardware h100-sxm -dp 4 --engine sglang-2026-07
expect_line 'not by SGLang' 0 'weights                                -61064245248'
run size --model qwen3-30b-a3b --gpu-memory 60GiB --sequences 1
expect_line 'so that replicas let it start' 0 '--data-parallel-size 2'
run size --model llama-3.1-8b --gpu-memory 14GiB --sequences 1
report "$(! grep -q -e '--data-parallel-size 2 ' "$scratch/out"; echo $?)" 'which they do not for dense weights'

# vLLM: the quantization argument has to match the config's method; awq_marlin runs awq checkpoints.
cat >"$scratch/awq.json" <<END
{"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "head_dim": 64,
 "num_key_value_heads": 2, "intermediate_size": 1024, "vocab_size": 1000, "torch_dtype": "float16",
 "tie_word_embeddings": false, "max_position_embeddings": 4096,
 "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": true}}
END
run size --model awq.json --gpu-memory 8GiB
cp "$scratch/out" "$scratch/plain"
for method in awq awq_marlin; do
	run size --model awq.json --gpu-memory 8GiB --quantization "$method"
	report "$(cmp -s "$scratch/out" "$scratch/plain"; echo $?)" "$method changes nothing of an awq checkpoint"
done
for method in fp8 gptq awq_martin; do
	run size --model awq.json --gpu-memory 8GiB --quantization "$method"
	expect_line "$method is refused for it" 64 "--quantization: $method is not the method of awq.json, whose quantization_config says awq"
done

# 3 GiB are 1,536 blocks of 16 x 131,072 bytes, 24,576 tokens in each replica; 1,535 of them hold 5 requests of 256 blocks.
run size --model llama-3.1-8b --kv-cache-memory-bytes 3GiB --max-model-len 4096 --sequences 8
expect_line 'a replica logs its own pool' 0 \
	'# 24576 tokens as logged, 6.00x by each of 2 replicas, 12.00x on all, 10 requests of 4096 at once, 2 GPUs'

# Lengths of 1,100, 2,100 and 3,100 tokens: two are longer than 2,048, and 1,535 blocks hold 22.2 of 69.
run size --model llama-3.1-8b --kv-cache-memory-bytes 3GiB --max-model-len 2048 --trace trace.csv
expect_line 'what is refused is said first' 0 "2 of the trace's 3 requests are longer than max_model_len 2048: refused by the engine, and not counted as fitting."
expect_line 'the mean is that of the trace' 0 "Of the trace's 3 requests (mean 2100 tokens)"
expect_line 'the rest is the mix' 0 'at the mix of the others          22.2'
expect_line 'percentiles are its own too' 0 'if all were of p50,     2100 tokens    none: longer than max_model_len'
run size --model llama-3.1-8b --kv-cache-memory-bytes 3GiB --max-model-len 1024 --trace trace.csv
expect_line 'all may be too long' 0 'at the mix of the others           0.0'

# 27 MiB a layer for the graphs of 512 sequences, 2.11 GiB for 80 layers and 512; 2.10 GiB with several ranks: measured once.
run size --model llama-3.1-70b --hardware h200 -tp 4 --max-num-seqs 512
expect_line 'errors that are not known are told beside those that are' 0 \
	'without the errors of            runtime and CUDA graphs (4.21 GiB), which are not known'
run size --model llama-3.1-8b --hardware rtx-4090 --engine vllm-0.19 --max-model-len 8192
report "$(! grep -q 'without the errors of  *runtime' "$scratch/out"; echo $?)" 'a lone rank has a second measurement'

run size --model llama-3.1-8b --gpu-memory 0
expect_line 'no memory at all' 64 '--gpu-memory: 0 is out of range'
finish
