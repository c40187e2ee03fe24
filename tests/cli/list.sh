# kvsim list: every topic, one policy, unknown names.
. "$srcdir/tests/cli/support.sh"

run list engines
expect 'engines' 0 <<END
name                        summary
eager-2023                  an eager engine of 2023 (step times only)
llama.cpp-2026-08           llama.cpp of 2026-08 (sizing only)
orca-max                    Orca, reserving the longest context for every request
orca-oracle                 Orca, reserving exactly the output (oracle)
orca-pow2                   Orca, reserving the output rounded up to a power of two (oracle)
sglang-2026-07              SGLang, main branch of 2026-07-20 (approximate)
static-batching             static batches, reserving the longest context for every request
trtllm-2024                 TensorRT-LLM of 2024 (step times only)
trtllm-2026-08              TensorRT-LLM of 2026-08 (sizing only)
trtllm-guaranteed-no-evict  TensorRT-LLM 1.x, GUARANTEED_NO_EVICT
trtllm-max-utilization      TensorRT-LLM 1.x, MAX_UTILIZATION
vllm-0.11                   vLLM 0.11 of October 2025
vllm-0.19                   vLLM 0.19 of April 2026
vllm-0.5                    vLLM 0.4 and 0.5 of 2024 (step times only)
vllm-2026-08                vLLM, main branch of 2026-08-17
END

run list engines trtllm-guaranteed-no-evict
expect_line 'one profile with the policies that it bundles' 0 '  admission: no-evict'
run list engines trtllm
expect_line 'an unknown profile' 64 "unknown engine profile 'trtllm'"
run list models meta-llama/Llama-3.1-8B-Instruct
expect_line 'one model by any of its names' 0 '"max_position_embeddings": 131072'
run list hardware h100
expect_line 'one card, with what its figures come from' 0 'memory: 81559MiB'
run list hardware h1000
expect_line 'an unknown card' 64 "unknown hardware 'h1000'"
printf 'name: mine\n' >"$scratch/mine.yaml"
run list hardware ./mine.yaml
expect_line 'a file is not built in' 64 'mine is a file of yours'
run list presets chat
expect_line 'one preset' 0 'Chat: conversations of a few turns'
run list presets chatt
expect_line 'an unknown preset' 64 "unknown preset 'chatt': did you mean 'chat'?"
run list keys seed
expect_line 'topics without details take no name' 64 "unexpected argument 'seed'"

run list models
for model in llama-3.1-8b llama-3.1-70b gemma-3-27b deepseek-v3 gpt-oss-120b; do
	expect_line "models: $model" 0 "$model"
done

run list hardware
for card in 'a100-80gb       79.53 GiB' h100-sxm h200 b200 rtx-4090; do
	expect_line "hardware: $card" 0 "$card"
done

run list policies
for policy in 'allocation  paged' 'admission   prompt-fits' 'scheduling  fcfs' 'preemption  latest' \
	'prefix      block-hash' 'eviction    lru'; do
	expect_line "policies: $policy" 0 "$policy"
done

run list policies lru
expect 'one policy' 0 <<END
kind        eviction
name        lru
summary     least recently released first, tail before beginning
source      vLLM V1 free block queue
oracle      no
parameters  none
END

run list policies ttl
expect_line 'times of its parameters have their units' 0 'ttl   1ns or more        300s'
run list policies clock
expect_line 'an unknown policy lists the valid ones' 64 "unknown policy 'clock': valid are paged, contiguous-max"

run list formats
expect_line 'formats' 0 mooncake

run list formats bailian
expect_line 'one format with its rules' 0 'rules       Times are seconds. Ids are global hashes of 16 tokens'
expect_line 'and its parameters' 0 'unit        s|ms|us|ns'

run list formats balian
expect 'an unknown format' 64 <<END
kvsim: unknown trace format 'balian': did you mean 'bailian'?
END

run list presets
expect_line 'presets' 0 'policy-revision'

run list keys
expect_line 'keys' 0 'engine.block_size'

run list --json engines
expect_line 'as JSON' 0 '"name": "vllm-2026-08"'

run list modles
expect 'an unknown topic suggests the nearest' 64 <<END
kvsim: unknown topic 'modles': did you mean 'models'?
END

run list
expect_line 'a topic is needed' 64 'say what to list'

(cd "$scratch" && "$kvsim" list engines >/dev/full) 2>"$scratch/out"
status=$?
expect 'a full disk is an I/O error' 74 <<END
kvsim: standard output: write failed: No space left on device
END

finish
