# kvsim compare: variants of one workload, their differences, what it refuses, and the same bytes whatever --jobs.
. "$srcdir/tests/cli/support.sh"
cp "$srcdir/workloads/samples/chat.csv" "$scratch/t.csv"
tiny='--trace t.csv --model llama-3.1-8b --latency fixed:20ms --num-gpu-blocks-override 400 --max-model-len 6000'

compare() {
	# shellcheck disable=SC2086
	run compare $tiny "$@"
}

compare --variant base --variant fifo:eviction=fifo --variant small:engine.max_num_seqs=4,admission=greedy --out a --jobs 1
expect_line 'the baseline is the first variant' 0 '## fifo against base'
expect_line 'settings are listed by their keys' 0 'small: engine.max_num_seqs=4, policies.admission=greedy.'
expect_line 'metrics are printed with differences' 0 '| TTFT P99 (ms)'
expect_line 'three runs have an overview' 0 '~ no difference within the interval.'
for file in comparison.json comparison.html manifest.json base/summary.json fifo/requests.csv small/timeline.csv; do
	report "$([ -s "$scratch/a/$file" ]; echo $?)" "$file is there"
done
report "$(grep -q '<h1>One workload, 3 variants</h1>' "$scratch/a/comparison.html"; echo $?)" 'the page says how many'
report "$(! grep -q 'from arrival' "$scratch/out"; echo $?)" 'where nobody waits before sending, no row counts it'
cp "$scratch/out" "$scratch/first"
mv "$scratch/a" "$scratch/kept"
compare --variant base --variant fifo:eviction=fifo --variant small:engine.max_num_seqs=4,admission=greedy --out a --jobs 3
report "$(cmp -s "$scratch/first" "$scratch/out"; echo $?)" 'three jobs print what one does'
report "$(diff -r "$scratch/kept" "$scratch/a" >"$scratch/diff"; echo $?)" 'and leave the same bytes'
run run --trace t.csv --model llama-3.1-8b --latency fixed:20ms --num-gpu-blocks-override 400 --max-model-len 6000 \
	--eviction fifo --out plain --quiet
report "$(cmp -s "$scratch/plain/requests.csv" "$scratch/a/fifo/requests.csv"; echo $?)" \
	'a variant is what kvsim run gives with the same settings'

compare --variant open --variant capped:max_concurrency=1 --out capped
expect_line 'under a cap, waits before sending have rows' 0 '| Wait before sending, mean (ms)'
expect_line 'and what latencies begin with is said' 0 'TTFT and E2EL begin when a request is sent'
report "$(awk -F'[|]' '/^[|] TTFT mean/ { sent = $7 } /^[|] TTFT from arrival, mean/ { arrived = $7 }
	END { exit !(sent ~ /better/ && arrived ~ /worse/) }' "$scratch/out"; echo $?)" \
	'so that a cap is better only where its wait does not count'

printf 'arrival_s,prompt_tokens,output_tokens,tenant\n0,64,2,a\n0,64,2,b\n1,64,2,b\n' >"$scratch/two.csv"
run compare --trace two.csv --model llama-3.1-8b --latency fixed:20ms --num-gpu-blocks-override 400 --max-model-len 6000 \
	--variant both --variant one:engine.max_num_seqs=1 --out tenants
# Two tokens take 40 ms: b's first one waits for a's. numpy: percentile([20, 60], 99) = 59.6
expect_line 'tenants stand side by side' 0 '| b                       |        2 | 20.00 | 59.60 |'

compare --variant base --variant same:eviction=lru --out b
expect_line 'equal runs are called identical' 0 'identical'
compare --variant base --variant fair:scheduling=fair-share,max_concurrency=9 --out last-words
expect_line 'the last word of a key is enough' 0 'fair: policies.scheduling=fair-share, workload.max_concurrency=9.'
compare --variant base --variant fifo:eviction=fifo --write requests --out few-files
expect_line 'a comparison needs no file but makes those that it reads' 0 '## fifo against base'
compare --variant base --variant approximate:profile=sglang-2026-07 --out warned
expect_line 'what a run warned of stands below' 0 '- approximate: profile sglang-2026-07 is approximate'
expect_line 'and that profiles are more than policies' 0 \
	'- approximate: profiles sglang-2026-07 and vllm-2026-08 differ in more than policies'
report "$(! grep -q 'differ in more than policies' "$scratch/a/comparison.json"; echo $?)" \
	'which variants of one profile do not'
compare --variant base --variant fifo:eviction=fifo --warmup 1h --out unmeasured
expect_line 'a comparison of no requests compares nothing' 0 '| TTFT mean (ms)                 |    - |    - |'
printf 'base:\ngreedy:\n  policies: {admission: greedy}\n' >"$scratch/v.yaml"
compare --variants v.yaml --out c --json
expect_line 'variants from a file' 0 '"settings": "policies.admission=greedy"'
report "$(cmp -s "$scratch/out" "$scratch/c/comparison.json"; echo $?)" '--json prints comparison.json'

# wrong NAME STATUS ERROR ARGUMENT...
wrong() {
	name=$1 wanted=$2 text=$3
	shift 3
	compare --out no "$@"
	expect "$name" "$wanted" <<END
kvsim: $text
END
	report "$([ ! -e "$scratch/no" ]; echo $?)" "$name leaves nothing behind"
}

wrong 'one variant' 64 '1 variant: give --variant NAME:key=value at least twice, or --variants FILE' --variant a
wrong 'equal names' 64 "variant 'a' is given twice: choose another name" --variant a --variant a:eviction=fifo
wrong 'a name that is no folder' 64 \
	"variant 'a/b': a name has 1 to 64 letters, digits, '.', '_' and '-', not '.' first" --variant a/b --variant c
wrong 'a name of a file of ours' 64 \
	"variant 'manifest.json': its folder would stand in the way of a file of the comparison: choose another name" \
	--variant a --variant manifest.json
wrong 'unknown key' 64 "variant b: unknown key 'evction': did you mean 'eviction'?" --variant a --variant b:evction=fifo
wrong 'unknown policy' 64 "variant b: eviction: unknown eviction policy 'fio': did you mean 'fifo'?" \
	--variant a --variant b:eviction=fio
wrong 'unknown parameter' 64 "variant b: unknown key 'seconds', and no parameter of ttl: kvsim list keys and kvsim list policies ttl show the valid ones" \
	--variant a --variant b:eviction=ttl,seconds=3
wrong 'no value' 64 "variant b: write key=value,key=value, found 'eviction'" --variant a --variant b:eviction
wrong 'key twice' 64 'variant b: engine.block_size is given twice' \
	--variant a --variant b:engine.block_size=16,block-size=32
wrong 'bad value' 64 "variant b: block-size: '16x' is not a whole number" --variant a --variant b:block-size=16x
wrong 'another workload' 64 'variant b: workload.request_rate cannot differ: all variants have the same workload, and their results lie in one folder' \
	--variant a --variant b:request-rate=3
wrong 'policies that do not go together' 64 'variant b: allocation contiguous-max does not go with prefix block-hash: a contiguous piece belongs to one request and cannot share blocks with another: add --no-enable-prefix-caching' \
	--variant a --variant b:allocation=contiguous-max
wrong 'a trace from a pipe' 64 '--trace -: every variant reads the trace for itself: name a file' \
	--trace - --variant a --variant b
printf 'a: {}\nb: {engine: {blok_size: 3}}\n' >"$scratch/bad.yaml"
wrong 'unknown key in a file' 64 "bad.yaml:2: unknown key 'engine.blok_size': did you mean 'engine.block_size'?" \
	--variants bad.yaml
mkdir "$scratch/mine" && echo keep >"$scratch/mine/notes"
compare --variant a --variant b --out mine
expect_line 'a folder that is not ours is refused' 64 mine


# A run and a comparison in one folder: what the earlier one left at its top would belong to nothing.
run run --scenario "$srcdir/workloads/samples/long-documents.yaml" --rows 0:5 --quiet --out both
compare --variant a --variant b --out both
report "$([ -e "$scratch/both/comparison.json" ] && [ ! -e "$scratch/both/summary.json" ]; echo $?)" \
	'a comparison replaces the files of a run'
run run --scenario "$srcdir/workloads/samples/long-documents.yaml" --rows 0:5 --quiet --out both
report "$([ ! -e "$scratch/both/comparison.json" ] && [ -e "$scratch/both/summary.json" ]; echo $?)" \
	'and a run those of a comparison'

finish
