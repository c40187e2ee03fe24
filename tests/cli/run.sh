# kvsim run: what it leaves behind, where values come from, and that the same input gives the same bytes.
. "$srcdir/tests/cli/support.sh"
samples=$srcdir/workloads/samples
cp "$samples/chat.csv" "$samples/long-documents.csv" "$samples/long-documents.yaml" "$scratch"

run run --scenario "$samples/long-documents.yaml" --out a
expect_line 'a scenario names a trace that lies beside it' 0 'Successful requests:                     299'
expect_line 'every line of the memory budget is printed with its source' 0 \
	'activation peak'
for file in summary.json requests.csv timeline.csv manifest.json; do
	report "$([ -s "$scratch/a/$file" ]; echo $?)" "$file is there"
done

run run --scenario long-documents.yaml --out b --json --events
report "$([ "$status" -eq 0 ] && cmp -s "$scratch/a/summary.json" "$scratch/b/summary.json"; echo $?)" \
	'events do not change the summary'
report "$(grep -v '^kvsim: warning: ' "$scratch/out" | cmp -s - "$scratch/b/summary.json"; echo $?)" \
	'--json prints the summary file'
report "$(cmp -s "$scratch/a/requests.csv" "$scratch/b/requests.csv"; echo $?)" 'nor the requests'
report "$(cmp -s "$scratch/a/timeline.csv" "$scratch/b/timeline.csv"; echo $?)" 'nor the timeline'

run run --scenario long-documents.yaml --out c --quiet -tp 8 --set engine.block_size=32
expect '--quiet prints nothing' 0 </dev/null
report "$(grep -q '"engine.tensor_parallel_size": {"value": 8, "source": "--tensor-parallel-size"}' \
	"$scratch/c/manifest.json"; echo $?)" 'flags override the file, and the manifest says so'
report "$(grep -q '"engine.block_size": {"value": 32, "source": "--set"}' "$scratch/c/manifest.json"; echo $?)" \
	'--set overrides the profile'
report "$(grep -q '"engine.max_model_len": {"value": 131072, "source": "long-documents.yaml:11"}' \
	"$scratch/c/manifest.json"; echo $?)" 'the file is named with its line'
report "$(grep -q '"engine.watermark": {"value": 0.0, "source": "profile vllm-2026-08"}' "$scratch/c/manifest.json"
	echo $?)" 'the profile is named too'

mkdir "$scratch/mine"
echo keep >"$scratch/mine/notes"
run run --scenario long-documents.yaml --out mine
expect_line 'a folder that is not ours is refused' 64 mine
report "$(grep -q keep "$scratch/mine/notes"; echo $?)" 'and left alone'

run run --trace - --model llama-3.1-8b --hardware l4 --max-model-len 8192 --out d --write summary <"$scratch/chat.csv"
expect_line 'a trace on standard input' 0 'Successful requests:                     600'

run run --trace chat.csv --model llama-3.1-8b --latency fixed:20ms --kv_cache_memory_bytes=8G --max_model_len=8k --out e
expect_line 'vLLM spellings of options and numbers' 0 'Pool size from:                          kv_cache_memory_bytes'

run run --trace chat.csv --model llama-3.1-8b --latency fixed:20ms --num-gpu-blocks-override 2000 --max-model-len 30000 \
	--max-num-batched-tokens 4096 --duration 60s --out f
expect_line 'a run can be cut' 0 'Requests unfinished:'

(
	cd "$scratch" || exit 99
	trap '' XFSZ
	ulimit -f 16
	"$kvsim" run --scenario long-documents.yaml --out g --quiet
) >"$scratch/out" 2>&1
status=$?
expect_line 'a disk that is full is an I/O error' 74 'File too large'
report "$([ ! -e "$scratch/g/requests.csv" ]; echo $?)" 'and leaves no file under its final name'

# The first one's two steps take 2 ms for 9 prompt tokens; as many more are expected to take 2 ms too, and not the 1 ms allowed.
printf 'arrival_s,prompt_tokens,output_tokens,deadline_s\n0,9,2,\n1,9,2,0.001\n' >"$scratch/hasty.csv"
run run --trace hasty.csv --model llama-3.1-8b --latency fixed:1ms --num-gpu-blocks-override 100 --max-model-len 64 \
	--admission deadline --retries 1 --retry-backoff 1ms --out hasty
report "$(grep -q '^Sent again after refusals: *1 *$' "$scratch/out" && grep -q '^  reason deadline: *2 *$' "$scratch/out" &&
	grep -q '^Requests refused: *2 *$' "$scratch/out" &&
	"$builddir/kvsim" run --help | tr -s ' \n' ' ' | grep -q 'turned away (queue_full, rate, deadline)'; echo $?)" \
	'a refusal for the deadline is sent again, as the help says'
printf 'arrival_s,prompt_tokens,output_tokens\n0,500,1\n' >"$scratch/long.csv"
run run --trace long.csv --model llama-3.1-8b --hardware h100-sxm --no-enable-chunked-prefill --max-num-batched-tokens 64 --out never
expect_line 'a prompt longer than a step is not said to lack blocks' 0 'STALLED: request r0 is never let in, though its 32 blocks fit'
expect_line 'and why, in words' 0 'The run stopped: request r0 is never let in, though its blocks fit the pool.'

printf 'arrival_s,request_id,prompt_tokens,output_tokens,after,think_s\n0,a,200000,1,,\n0,b,10,1,a,4\n' >"$scratch/refused.csv"
run run --trace refused.csv --model llama-3.1-8b --hardware h100-sxm --out refused
expect_line 'rows that follow a refused one are counted by that reason' 0 'Requests never sent, as the one before had failed, after_refusal: 1'
report "$(grep -q '^ *"after_refusal": 1,' "$scratch/refused/summary.json"; echo $?)" \
	'in the summary as well'
for case in 'scheduling priority:priority' 'scheduling earliest-deadline:deadline' 'scheduling fair-share:tenant' \
	'admission deadline:deadline'; do
	policy=${case%:*} need=${case#*:}
	for row in 'arrival_s,prompt_tokens,output_tokens\n0,9,2\n' \
		'arrival_s,prompt_tokens,output_tokens,priority,deadline_s,tenant\n0,9,2,1,5,a\n'; do
		# shellcheck disable=SC2059
		printf "$row" >"$scratch/row.csv"
		run run --trace row.csv --model llama-3.1-8b --latency fixed:1ms --num-gpu-blocks-override 100 \
			--max-model-len 64 --set "policies.${policy% *}=${policy#* }" --out idle
		cp "$scratch/out" "$scratch/with"
		[ "$row" = "${row%tenant*}" ] && cp "$scratch/out" "$scratch/without"
	done
	text="warning: $policy goes by the $need of requests, and none of this run has one"
	report "$(grep -q "$text" "$scratch/without" && ! grep -q 'none of this run' "$scratch/with"; echo $?)" \
		"$policy without any $need is warned of, and only then"
done
run run --trace chat.csv --model llama-3.1-8b --latency fixed:1ms --num-gpu-blocks-override 9000 --max-model-len 8192 \
	--warmup 1h --out unmeasured
expect_line 'a run that measured no request says so' 0 'Nothing was measured: no request arrived after --warmup.'

printf 'arrival_s,prompt_tokens,output_tokens\n0,9,2\n0,9,2\n0,9,2\n0,9,2\n' >"$scratch/crowd.csv"
run run --trace crowd.csv --model llama-3.1-8b --latency fixed:1ms --num-gpu-blocks-override 100 --max-model-len 64 \
	--max-num-seqs 1 --admission queue-limit,requests=1 --retries 9 --retry-backoff 1ms --out crowd
again=$(sed -n 's/.*"sent_again": \([0-9]*\).*/\1/p' "$scratch/crowd/summary.json")
expect_line 'all are served in the end' 0 'Successful requests:                     4'
report "$([ "$again" -gt 0 ] && [ "$(wc -l <"$scratch/crowd/requests.csv")" -eq $((1 + 4 + again)) ] &&
	grep -q "\"sent_again\": $again" "$scratch/crowd/manifest.json" &&
	grep -q "^Sent again after refusals: *$again *$" "$scratch/out"; echo $?)" \
	'what is sent again is counted apart, so that sendings are requests and those'
# Each takes 2 ms alone; back-offs of 1, 2 and 4 ms: waits of 0, 1, 3 and 7 ms, first tokens after 1, 3, 5 and 8 ms.
report "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	NR > 1 && $at["status"] == "finished" {
		wait[$1] = $at["retry_wait_s"]
		good += $at["retry_wait_s"] + $at["client_wait_s"] + $at["ttft_s"] - $at["first_token_s"]
	}
	END { exit !(good == 0 && wait["r0"] == 0 && wait["r1"] == .001 && wait["r2"] == .003 && wait["r3"] == .007) }' \
	"$scratch/crowd/requests.csv"; echo $?)" 'the wait for a later sending is told by request'
report "$(grep -A1 '"retry_wait"' "$scratch/crowd/summary.json" | grep -q '"mean_ms": 2.75' &&
	grep -A1 '"ttft_from_arrival"' "$scratch/crowd/summary.json" | grep -q '"mean_ms": 4.25' &&
	grep -q '^Retries (before this sending) *2.75 ' "$scratch/out" &&
	grep -q '^TTFT after the first arrival, all these *4.25 ' "$scratch/out" &&
	grep -q 'First token after the first arrival' "$scratch/crowd/report.html"; echo $?)" 'and in all, with the first token'

run run --trace crowd.csv --model llama-3.1-8b --latency fixed:1ms --num-gpu-blocks-override 100 --max-model-len 64 \
	--max-num-seqs 1 --admission queue-limit,requests=1 --retries 1 --retry-backoff 1ms --out impatient
# Those of which no row is finished, by the rows.
lost=$(awk -F, 'NR > 1 { all[$1]; if ($3 == "finished") good[$1] } END { print length(all) - length(good) }' \
	"$scratch/impatient/requests.csv")
report "$([ "$lost" -gt 0 ] && grep -q "\"failed_for_good\": $lost," "$scratch/impatient/summary.json" &&
	grep -q "^Requests that failed for good: *$lost *$" "$scratch/out" &&
	grep -q "^Who got no answer? $lost of 4 requests" "$scratch/out" &&
	grep -q "$lost of 4 requests" "$scratch/impatient/report.html"; echo $?)" \
	'requests that failed for good are counted apart from sendings that failed'
printf 'arrival_s,prompt_tokens,output_tokens\n0,500,1\n0,501,1\n' >"$scratch/long.csv"
run run --trace long.csv --model llama-3.1-8b --latency fixed:1ms --num-gpu-blocks-override 100 --max-model-len 64 --out lost
expect_line 'a run that lost all its requests says so first' 0 \
	'Who got no answer? 2 of 2 requests (100.0 %). 2 too long for max_model_len (max_model_len is 64, the longest prompt has 501'

printf 'arrival_s,prompt_tokens,output_tokens\n0,20,0\n0,20,0\n' >"$scratch/silent.csv"
run run --trace silent.csv --model llama-3.1-8b --latency fixed:1ms --num-gpu-blocks-override 100 --max-model-len 64 \
	--max-num-seqs 1 --out silent
expect_line 'without output there is no first token' 0 'No finished request has a first token (TTFT): its 0.00 above stands for none.'
# The second waits for the first, 1 ms.
expect_line 'but the queue is there' 0 '     + queue                                   0.50       0.50       0.99'

printf 'request_id,arrival_s,prompt_tokens,output_tokens,after,think_s\na,0,9,2,,\nb,5,9,2,a,1\n' >"$scratch/follow.csv"
# loop WORDS OPTION...: the terminal, the manifest and the page have the sentence
loop() {
	words=$1
	shift
	run run --trace follow.csv --model llama-3.1-8b --latency fixed:1ms --num-gpu-blocks-override 100 --max-model-len 64 \
		--out loop "$@"
	report "$(grep -qx "$words" "$scratch/out" && grep -q "\"arrivals\": \"$words\"" "$scratch/loop/manifest.json" &&
		grep -q "$words" "$scratch/loop/report.html"; echo $?)" "${words%%:*} is told"
}
loop 'Closed loop: 1 requests arrive a think time after others have ended.'
loop 'Open loop: 1 requests that follow others arrive at their recorded times instead.' --open-loop

# idle KEY NEEDED OPTION...: said where it changes nothing, and not where what it needs is given as well
idle() {
	text="warning: workload.$1 changes nothing without $2"
	shift 2
	run run --trace follow.csv --model llama-3.1-8b --latency fixed:1ms --num-gpu-blocks-override 100 --max-model-len 64 \
		--out idle "$1" "$2"
	cp "$scratch/out" "$scratch/without"
	run run --trace follow.csv --model llama-3.1-8b --latency fixed:1ms --num-gpu-blocks-override 100 --max-model-len 64 \
		--out idle "$@"
	report "$(grep -q "$text" "$scratch/without" && ! grep -q 'changes nothing without' "$scratch/out"; echo $?)" "$text"
}
idle burstiness 'a finite workload.request_rate' --burstiness 2 --request-rate 5
idle retry_backoff workload.retries --retry-backoff 5s --retries 1
idle warm_rows workload.warm --set workload.warm_rows=:1 --warm chat.csv

# Seven groups: 8192 / 16 blocks, and six times (1023 + 2048) / 16 rounded up and one more: 512 + 6 x 193 = 1670.
run run --model gemma-3-27b --hardware h100-sxm --latency fixed:10ms --num-gpu-blocks-override 5010 --max-model-len 8192 \
	--max-num-batched-tokens 2048 --trace chat.csv --rows :20 --out windows
expect_line 'concurrency goes by the windows, as engines print it' 0 'Blocks / those of one max_model_len:     3.00       (of 8192 tokens)'

# One block of 9000 (less the null block) as long as the run lasts: 1 / 8999.
printf 'arrival_s,prompt_tokens,output_tokens\n0,9,1\n' >"$scratch/alone.csv"
run run --trace alone.csv --model llama-3.1-8b --latency fixed:1ms --num-gpu-blocks-override 9000 --max-model-len 64 --out alone
expect_line 'small factors keep the digits that multiply' 0 '  x share of the pool pinned             0.000111 '
report "$(grep -q 'pinned_share">0.000111<' "$scratch/alone/report.html"; echo $?)" 'in the report too'
finish
