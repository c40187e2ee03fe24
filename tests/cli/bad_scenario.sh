# Wrong flags and scenario files: each error names where it stands, what was found and what is allowed.
. "$srcdir/tests/cli/support.sh"
cp "$srcdir/workloads/samples/chat.csv" "$scratch/t.csv"

# wrong NAME STATUS ERROR ARGUMENT...
wrong() {
	name=$1 wanted=$2 text=$3
	shift 3
	run run --trace t.csv --model llama-3.1-8b --hardware h100-sxm "$@"
	expect "$name" "$wanted" <<END
kvsim: $text
END
	if [ -e "$scratch/kvsim-out" ]; then
		report 1 "$name leaves nothing behind"
		rm -rf "$scratch/kvsim-out"
	fi
}

wrong 'missing scenario file' 66 'no.yaml: No such file or directory' --scenario no.yaml
: >"$scratch/empty.yaml"
wrong 'empty scenario file' 65 'empty.yaml:1: the file is empty' --scenario empty.yaml
printf 'engine:\n  blok_size: 16\n' >"$scratch/key.yaml"
wrong 'unknown key' 64 "key.yaml:2: unknown key 'engine.blok_size': did you mean 'engine.block_size'?" --scenario key.yaml
printf 'seed: 1\nengine: {block_size: -4}\n' >"$scratch/range.yaml"
wrong 'negative number' 64 'range.yaml:2: engine.block_size: -4 is out of range: 1 to 1048576 is allowed' \
	--scenario range.yaml
printf 'engine: {watermark: .nan}\n' >"$scratch/nan.yaml"
wrong 'not a number' 64 "nan.yaml:1: engine.watermark: '.nan' is not a fraction: write 0.92 or 92%" --scenario nan.yaml
printf 'seed: 1\nseed: 2\n' >"$scratch/twice.yaml"
wrong 'key given twice' 65 "twice.yaml:2: key 'seed' stands here twice (first in line 1)" --scenario twice.yaml
printf 'model: [\n' >"$scratch/broken.yaml"
wrong 'broken YAML' 65 'broken.yaml:2: not YAML: did not find expected node content while parsing a flow node' \
	--scenario broken.yaml
printf 'seed: "1\\0"\n' >"$scratch/nul.yaml"
wrong 'NUL byte' 65 'nul.yaml:1: a NUL character is not allowed' --scenario nul.yaml
printf '{"policies": {"eviction": "lur"}}' >"$scratch/policy.json"
wrong 'unknown policy in JSON' 64 \
	"policy.json:1: policies.eviction: unknown eviction policy 'lur': did you mean 'lru'?" --scenario policy.json

wrong 'unknown policy' 64 "--prefix: unknown prefix policy 'clock': valid are none, block-hash, radix, partial-block, position-independent" --prefix clock
wrong 'parameter of a policy without any' 64 "--eviction: lru takes no parameters, found 'depth'" --eviction lru,depth=3
wrong 'number with rubbish behind it' 64 "--block-size: '16x' is not a whole number" --block-size 16x
wrong 'huge number' 64 '--max-num-seqs: 99999999999999999999999 is out of range: 1 to 1000000 is allowed' \
	--max-num-seqs 99999999999999999999999
wrong 'fraction above one' 64 '--gpu-memory-utilization: 1.5 is out of range: 0.01 to 1 is allowed' \
	--gpu-memory-utilization 1.5
wrong 'duration without unit' 64 \
	"--duration: '5' is not a duration: write a number with a unit, such as 250ms, 1.5s, 10min or 1h" --duration 5
wrong 'unknown key of --set' 64 "--set engine.blok_size: unknown key 'engine.blok_size': did you mean 'engine.block_size'?" \
	--set engine.blok_size=16
wrong '--set without value' 64 "--set: write path.to.key=value, found 'seed'" --set seed
wrong 'unknown step time' 64 "--latency: unknown backend 'guess': valid are roofline, linear, table, fixed:DURATION" --latency guess
wrong 'unknown file to write' 64 "--write: 'pdf' is not one of summary, requests, timeline, manifest, report" --write pdf
wrong 'bad range of rows' 64 "--rows: 'x' is no range; allowed: A:B with A below B, data rows A to B-1 counted from 0; \
either may be left out" --rows x
wrong 'a rate and a scale' 64 "a request rate replaces the trace's times, so a time scale has nothing to stretch: leave \
--request-rate or --time-scale out" --request-rate 2 --time-scale 0.5
wrong 'a limit of prompts in mixed steps' 64 "--max-prefill-tokens: only steps of prompts alone have such \
a limit: it goes with step_order prefill-first, and this run's is mixed" --max-prefill-tokens 100
wrong 'chunks that are no blocks' 64 "--max-num-batched-tokens: 100 tokens are no whole number of \
blocks of 16, which prompts are cut into where they go first" --step-order prefill-first --chunked-prefill-size 100
wrong 'swap among prompts' 64 "preemption latest,mode=swap does not go with step_order prefill-first: what comes \
back would decode among prompts: leave mode=swap out" --step-order prefill-first --preemption latest,mode=swap --swap-space 1GiB
wrong 'unknown order of steps' 64 "--step-order: unknown value 'prefill': valid are mixed, prefill-first" \
	--step-order prefill
wrong 'unknown format' 64 "unknown trace format 'mooncacke': did you mean 'mooncake'?" --format mooncacke
run run --trace nosuch.csv --model llama-3.1-8b --hardware h100-sxm
expect_line 'missing trace' 66 'kvsim: nosuch.csv: No such file or directory; a trace is a file (formats: kvsim, mooncake, '
wrong 'unknown engine' 64 "--engine: unknown engine profile 'vllm-2026-09': did you mean 'vllm-2026-08'?" \
	--engine vllm-2026-09
wrong 'unknown model' 64 "--model: unknown model 'lama-3.1-8b': did you mean 'llama-3.1-8b'?" --model lama-3.1-8b
wrong 'pool without blocks' 64 'the pool has no usable block: 1 in all with the null block, 2.00 MiB each' \
	--num-gpu-blocks-override 1
wrong 'zero blocks' 64 '--num-gpu-blocks-override: 0 is out of range: 1 to 4000000000 is allowed' \
	--num-gpu-blocks-override 0
wrong 'pool too small for one request' 64 'one request of max_model_len 131072 takes 8192 blocks and the pool has 100, so the '\
'engine would not start: the largest --max-model-len that fits is 1600' --num-gpu-blocks-override 100
wrong 'contradiction' 64 '--set: engine.scheduler_reserve_full_isl=true asks for policies.admission=prompt-fits, but '\
'policies.admission=greedy is given (--admission): leave one of them out' --admission greedy \
	--set engine.scheduler_reserve_full_isl=true
wrong 'parts of blocks of a contiguous piece' 64 'allocation contiguous-pow2 does not go with prefix partial-block: a contiguous '\
'piece belongs to one request and cannot share blocks with another: add --no-enable-prefix-caching' \
	--allocation contiguous-pow2 --prefix partial-block
wrong 'a parameter out of range' 64 '--eviction: s3-fifo,small: 2 is out of range: 0 to 1 is allowed' --eviction s3-fifo,small=2
wrong 'policies that do not go together' 64 'allocation contiguous-max does not go with prefix block-hash: a contiguous piece '\
'belongs to one request and cannot share blocks with another: add --no-enable-prefix-caching' --allocation contiguous-max
wrong 'a model that cannot be run' 64 'jamba-v0.1 has layers of kind state, which run does not simulate: it runs models with '\
'full, mla and sliding_window layers' --model jamba-v0.1 -tp 8

printf '{"num_hidden_layers": 2, "hidden_size": 64}' >"$scratch/config.json"
run run --trace t.csv --model config.json --hardware h100-sxm
expect_line 'a config without the fields that are needed' 65 'config.json'

finish
