# Engine profiles as bundles of policies: TensorRT-LLM's own unit test on its profiles (two requests of 10 + 80 tokens on ten
# blocks of ten), every profile that runs, and what a profile says of itself.
. "$srcdir/tests/cli/support.sh"
cp "$srcdir/workloads/samples/chat.csv" "$scratch"
printf 'arrival_s,prompt_tokens,output_tokens,max_tokens\n0,10,80,80\n0,10,80,80\n' >"$scratch/two.csv"

# steps ENGINE BLOCKS WANTED
steps() {
	run run --trace two.csv --model llama-3.1-8b --latency fixed:10ms --engine "$1" --block-size 10 \
		--num-gpu-blocks-override "$2" --max-model-len 90 --out "out-$1" --force --quiet
	report "$(grep -q "\"steps\": $3," "$scratch/out-$1/summary.json"; echo $?)" "$1: $3 steps on $2 blocks"
}

steps trtllm-max-utilization 10 119
steps trtllm-guaranteed-no-evict 10 160
steps trtllm-max-utilization 20 80
steps trtllm-guaranteed-no-evict 20 80

for engine in orca-max orca-oracle orca-pow2 sglang-2026-07 static-batching trtllm-guaranteed-no-evict \
	trtllm-max-utilization vllm-0.11 vllm-0.19 vllm-2026-08; do
	run run --trace chat.csv --model llama-3.1-8b --hardware a100-40gb --engine "$engine" --max-model-len 8192 \
		--out "all-$engine"
	expect_line "$engine runs" 0 'Successful requests:                     600'
	cp "$scratch/out" "$scratch/$engine"
done

report "$(grep -q ' wasted, 8192 pinned$' "$scratch/orca-max"; echo $?)" \
	'a request that reserves 8,192 tokens pins 8,192'
report "$(awk '/"mean_running"/ { gsub(/[^0-9.]/, ""); if (!a) a = $0; b = $0 } END { exit !(a > 0 && a == b) }' \
	"$scratch/all-orca-max/summary.json"; echo $?)" 'what was admitted stands beside what division promised'
report "$(grep -q 'warning: profile sglang-2026-07 is approximate: ' "$scratch/sglang-2026-07"; echo $?)" \
	'a profile that is only near its engine says so'
report "$(grep -q 'its step loop is not in our sources (steps of prompts alone go first, then steps of decodes)' \
	"$scratch/sglang-2026-07"; echo $?)" 'and how its steps are known'
for engine in orca-oracle orca-pow2; do
	report "$(grep -q 'This run is an oracle' "$scratch/$engine"; echo $?)" "$engine says that it knows the future"
done

printf 'workload: {trace: two.csv}\nengine: {profile: vllm-2026-08}\npolicies: {admission: greedy, eviction: lru}\n' \
	>"$scratch/greedy.yaml"
two='--model llama-3.1-8b --latency fixed:10ms --max-model-len 90 --num-gpu-blocks-override 20 --scenario greedy.yaml --force --out kept'
kept='warning: greedy.yaml:3 sets admission greedy, which stays: profile trtllm-guaranteed-no-evict has no-evict'
run run $two --engine trtllm-guaranteed-no-evict
expect_line 'a policy of the file stays where an option changes the profile, and the run says so' 0 "$kept"
report "$(! grep -q 'sets eviction lru' "$scratch/out"; echo $?)" 'but not where the profile has the same'
run run $two
report "$([ "$status" -eq 0 ] && ! grep -q 'which stays' "$scratch/out"; echo $?)" 'nor where the file chooses both'
run compare $two --quiet --variant vllm --variant trt:engine.profile=trtllm-guaranteed-no-evict
report "$(grep -q 'greedy.yaml:3 sets admission greedy, which stays' "$scratch/kept/comparison.json"; echo $?)" \
	'a variant that changes the profile says so too'

finish
