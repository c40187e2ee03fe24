# kvsim run --warm: what another trace leaves in the cache is there at time zero, and nothing else of it.
. "$srcdir/tests/cli/support.sh"
tiny='--model llama-3.1-8b --latency fixed:10ms --num-gpu-blocks-override 201 --max-model-len 3000'

# The last warm request has a deadline, half a second after the clock of the run has begun.
cat >"$scratch/warm.csv" <<'end'
arrival_s,prompt,output_tokens,deadline_s
0,doc:1600,5,
7,doc:1600 q:70,2,0.51
end
cat >"$scratch/main.csv" <<'end'
arrival_s,prompt,output_tokens,retrieval_s
0,doc:1600 u:50,3,1
2,doc:1600 q:70 v:30,1,0
end

# hits FOLDER: request, when it arrived, got its first token and finished, and what it hit.
hits() {
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ print $at["request_id"], $at["status"], $at["arrival_s"], $at["first_token_s"], $at["finish_s"],
			$at["cached_tokens"] }' "$scratch/$1/requests.csv" >"$scratch/out"
	status=0
}

run run --trace main.csv $tiny --out cold
hits cold
expect 'cold, the first request computes all' 0 <<'end'
r0 finished 0 1.01 1.03 0
r1 finished 2 2.01 2.01 1600
end
report "$(grep -q '"initial_cache": {"state": "cold"}' "$scratch/cold/manifest.json" &&
	grep -q 'The cache starts cold' "$scratch/cold/report.html"; echo $?)" 'manifest and report say so'

# The document has 100 blocks, with the question it has 104 and 6 tokens.
run run --trace main.csv --warm warm.csv $tiny --out warm --events
expect_line 'the summary names what was replayed before' 0 \
	'The cache started warm: warm.csv was replayed before time zero and left 104 blocks in it.'
hits warm
expect 'warm, it hits what both files name; no request of the warm-up shows, and its deadline is gone' 0 <<'end'
r0 finished 0 1.01 1.03 1600
r1 finished 2 2.01 2.01 1664
end
report "$([ "$(grep -c ',arrive,' "$scratch/warm/events.csv")" -eq 2 ] && grep -q '"steps": 4,' "$scratch/warm/summary.json" &&
	grep -q '"queried_tokens": 3350,' "$scratch/warm/summary.json"; echo $?)" 'events and counters begin at time zero'

run run --trace warm.csv --warm warm.csv $tiny --out self
xxh=$(sed -n '/"trace": {/,/}/s/.*"xxh128": "\([0-9a-f]*\)".*/\1/p' "$scratch/self/manifest.json")
sed -n '/"initial_cache"/,/^  }/p' "$scratch/self/manifest.json" >"$scratch/out"
expect 'the manifest has file, fingerprint and what came of it' 0 <<end
  "initial_cache": {
    "state": "warm",
    "file": "warm.csv",
    "format": "kvsim",
    "xxh128": "$xxh",
    "skipped_rows": {},
    "finished_requests": 2,
    "cached_blocks": 104
  },
end
started="The cache starts warm: warm.csv (XXH128 $xxh) was replayed before time zero; 2 requests finished and left 104 blocks"
report "$(grep -qF "$started" "$scratch/self/report.html"; echo $?)" 'so does the report'

# The same requests in one file, the second part long after the first: equal durations and hits, with evictions.
sed 's/ @[^ ,]*//g' "$srcdir/workloads/samples/long-documents.csv" >"$scratch/all.csv"
awk 'NR <= 121' "$scratch/all.csv" >"$scratch/first.csv"
awk 'NR == 1 || NR > 121' "$scratch/all.csv" >"$scratch/second.csv"
{
	cat "$scratch/first.csv"
	awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "arrival_s") at = i; next }
		{ $at = sprintf("%.3f", $at + 1000000); print }' "$scratch/second.csv"
} >"$scratch/both.csv"

# durations FOLDER: of the requests of the second file
durations() {
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["arrival_s"] >= from { print $at["prompt_tokens"], $at["queue_s"], $at["ttft_s"], $at["e2e_s"],
			$at["cached_tokens"], $at["block_seconds"] }' from="$2" "$scratch/$1/requests.csv"
}
large='--model llama-3.1-8b --latency fixed:50ms --num-gpu-blocks-override 9000 --max-model-len 131072 --quiet'
for policy in lru arc s3-fifo cost-aware; do
	run run --trace both.csv $large --eviction $policy --out both
	run run --trace second.csv --warm first.csv $large --eviction $policy --check --out parts
	durations both 1000000 >"$scratch/wanted"
	durations parts 0 >"$scratch/got"
	report "$([ -s "$scratch/wanted" ] && cmp -s "$scratch/wanted" "$scratch/got"; echo $?)" \
		"$policy: as if the second file came long after the first"
done
cp -r "$scratch/parts" "$scratch/again"
run run --trace second.csv --warm first.csv $large --eviction cost-aware --check --out parts
report "$(diff -r "$scratch/parts" "$scratch/again" >"$scratch/out"; echo $?)" 'the same input gives the same bytes'

for policy in $("$kvsim" list policies | awk '$1 == "eviction" && $2 != "belady" { print $2 }'); do
	run run --trace main.csv --warm warm.csv $tiny --eviction "$policy" --check --out policy --quiet
	[ "$status" -eq 0 ] || echo "$policy" >>"$scratch/failed"
done
report "$([ ! -e "$scratch/failed" ]; echo $?)" 'every eviction policy can start warm'

run run --trace main.csv --warm warm.csv --set workload.warm_rows=0:1 $tiny --out rows
expect_line 'rows of it' 0 'left 100 blocks in it'
run run --trace main.csv --warm warm.csv $tiny --no-enable-prefix-caching --out none
expect_line 'without caching it is of no use' 0 'warning: the warm-up changes nothing'
printf 'arrival_s,prompt_tokens,output_tokens\n0,64,4\n' >"$scratch/unnamed.csv"
run run --trace main.csv --warm unnamed.csv $tiny --out unnamed
expect_line 'nor without names of content' 0 'its trace does not say what prompts share'

run run --trace main.csv --warm - $tiny --out piped <"$scratch/warm.csv"
expect_line 'it can come through a pipe' 0 'The cache started warm: standard input was replayed'

run run --trace main.csv --warm nowhere.csv $tiny
expect_line 'a file that does not exist' 66 'nowhere.csv'
printf 'arrival_s,prompt,output_tokens\n0,a:64,4\n1,a:64,x\n' >"$scratch/bad.csv"
run run --trace main.csv --warm bad.csv $tiny
expect_line 'a bad row' 65 'bad.csv:3: output_tokens'
run run --trace main.csv --warm bad.csv --skip-bad-rows $tiny --out skipped
sed -n '/"initial_cache"/,/^  }/p' "$scratch/skipped/manifest.json" >"$scratch/out"
report "$(grep -q '"skipped_rows": {"not_a_number": 1}' "$scratch/out"; echo $?)" \
	'that may be left out is counted apart'
printf 'arrival_s,prompt,output_tokens\n0,a:2900,400\n' >"$scratch/huge.csv"
run run --trace main.csv --warm huge.csv --model llama-3.1-8b --latency fixed:10ms --engine vllm-0.11 \
	--num-gpu-blocks-override 101 --max-model-len 9000
expect_line 'a warm-up that never ends' 65 "request 'r0' cannot run; it needs"
run run --trace main.csv --warm huge.csv --model llama-3.1-8b --latency fixed:10ms --max-model-len 9000 \
	--no-enable-chunked-prefill --max-num-batched-tokens 2000 --num-gpu-blocks-override 1001
expect_line 'or never begins, for another reason than the pool' 65 \
	"request 'r0' is never let in, though its 207 blocks fit the pool of 1000"
run run --trace - --warm - $tiny <"$scratch/main.csv"
expect_line 'two traces on one input' 64 '--trace and --warm cannot both be standard input'
run run --trace main.csv --warm warm.csv --set workload.warm_rows=x $tiny
expect_line 'rows that are none' 64 'workload.warm_rows'

finish
