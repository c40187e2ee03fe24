# kvsim trace convert: replaying a trace or its translation gives the same bytes, and a translation is its own translation.
. "$srcdir/tests/cli/support.sh"

# same NAME FILE [FORMAT]: requests, events, timeline and summary of both.
same() {
	name=$1 file=$2 format=$3
	if [ ! -e "$file" ]; then
		skip "$name" "$(basename "$file") is not here"
		return
	fi
	"$kvsim" trace convert ${format:+--format "$format"} "$file" -o "$scratch/native.csv" >"$scratch/said" 2>&1
	status=$?
	for trace in "$file" "$scratch/native.csv"; do
		out=$scratch/translated
		[ "$trace" = "$file" ] && out=$scratch/original
		other=
		[ "$trace" = "$file" ] && [ -n "$format" ] && other="--format $format"
		"$kvsim" run --trace "$trace" $other --model llama-3.1-8b --hardware h100-sxm --events --quiet \
			--out "$out" --force >/dev/null 2>>"$scratch/said" || status=$?
	done
	# What was left out of the original is not in its translation to be left out again.
	for x in original translated; do
		sed '/"skipped_rows"/d' "$scratch/$x/summary.json" >"$scratch/$x/kept.json"
	done
	for x in requests.csv events.csv timeline.csv kept.json; do
		cmp "$scratch/original/$x" "$scratch/translated/$x" >>"$scratch/said" 2>&1 || status=1
	done
	"$kvsim" trace convert "$scratch/native.csv" -o "$scratch/again.csv" 2>>"$scratch/said" || status=$?
	cmp "$scratch/native.csv" "$scratch/again.csv" >>"$scratch/said" 2>&1 || status=1
	report "$status" "$name"
	[ "$status" -eq 0 ] || sed 's/^/# /' "$scratch/said"
}

samples=$srcdir/workloads/samples
traces=$KVSIM_SHARED/traces

cat >"$scratch/all.csv" <<END
request_id,arrival_s,prompt,prompt_tokens,output_tokens,max_tokens,tenant,salt,adapter,priority,retrieval_s,deadline_s,after,think_s
a,0,s:200 d:2000,2200,10,20,red,pepper,lora,-1,0.25,9,,
"b,c",0,s:200 d:1000 x:10,,5,,"a ""tenant""",,,2,,0.001,,
c,,s:200 d:2000 @a:10 y:14,,0,,,,,0,,,a,1.5
d,0.5,,33,7,,,,,,,,,
e,,,40,7,,,,,,,,a c,0
END
same 'the native format, all columns' "$scratch/all.csv"
cat >"$scratch/all.jsonl" <<END
{"arrival_s": 0, "prompt": [["s", 200], ["d d", 30]], "output_tokens": 3, "request_id": "a"}
{"prompt": [["s", 200], ["@a", 3], ["x", 1]], "output_tokens": 3, "after": "a", "think_s": 0.25, "priority": 3}
END
same 'JSON lines' "$scratch/all.jsonl"
same 'a sample' "$samples/chat.csv"
cat >"$scratch/large_ids.jsonl" <<END
{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": ["18446744073709551614", 7]}
{"timestamp": 900, "input_length": 1030, "output_length": 5, "hash_ids": ["18446744073709551614", "18446744073709551613", "8"]}
END
same 'ids beyond 2^63' "$scratch/large_ids.jsonl"
grep -q ',#18446744073709551614:512 #18446744073709551613:512 #8:6$' "$scratch/native.csv"
report $? 'ids beyond 2^63 are written as they are'
cat >"$scratch/bench.json" <<END
{"duration": 2, "input_lens": [100, 200], "output_lens": [10, 20], "start_times": [100.5, 100]}
{"duration": 2, "input_lens": [100, 200], "output_lens": [10, 20], "start_times": [1.5, 1]}
END
same 'results of vllm bench one after the other, on two clocks' "$scratch/bench.json"
call() {
	printf '{"timestamp": "2026-05-01T10:00:%sZ", "duration_ms": %s, "tokens": {"prompt": %s, "completion": 8, "cached": %s}}' "$@"
}
printf '{"session_id": "s", "turns": [{"llm_calls": [%s, %s]}]}\n{"session_id": "t", "turns": [{"llm_calls": [%s]}]}\n' \
	"$(call 10 2000 100 0)" "$(call 13.500 1000 120 104)" "$(call 40 10 50 0)" >"$scratch/copilot.jsonl"
same 'Copilot sessions, whose times are dates' "$scratch/copilot.jsonl"
grep -q '^3.5,s:1,.*,s:0,1.5$' "$scratch/native.csv"
report $? 'a call after another comes as long after the answer as recorded'
same 'Mooncake' "$traces/mooncake/synthetic_trace.jsonl"
same 'Azure' "$traces/azure2023/azure2023_code.last20_no_final_newline.csv"
same 'BurstGPT, rows left out' "$traces/burstgpt/burstgpt_1.first400.csv"
same 'a folder of sessions' "$traces/kv-cache-tester"
same 'TraceLab' "$traces/tracelab/tracelab_multi_session_large.csv"
same 'TraceLab rounds' "$traces/tracelab/tracelab_sanitized_round_trace.jsonl"
same 'RAGPulse' "$traces/ragpulse/ragpulse_trace.first600.jsonl"
same 'a measured run' "$traces/vllm-measured/sharegpt-llama-3.1-8b-300-sps10.blk16.jsonl"
same 'a ServeGen client' "$traces/servegen/servegen_deepseek-r1_chunk-17-trace.csv"
same 'lengths' "$traces/lengths/vattention_arxiv_sample_floats.first500.csv"

# unchanged NAME FILE: a native file whose numbers are written as kvsim writes them.
unchanged() {
	"$kvsim" trace convert "$2" -o "$scratch/again.csv" >"$scratch/said" 2>&1 && cmp "$2" "$scratch/again.csv" >>"$scratch/said"
	report $? "$1"
}

unchanged 'a sample, byte by byte' "$samples/chat.csv"
printf 'output_tokens,tenant,arrival_s,prompt\n1,"a, b",0.5,s:20 t:1\n' >"$scratch/order.csv"
printf '7,,0.25,s:20 @r0:1\n3," c ",1,*:4\n' >>"$scratch/order.csv"
unchanged 'columns in an order of its own' "$scratch/order.csv"
for preset in agents chat few-huge-among-many-small long-documents noisy-neighbour policy-revision rag summarise; do
	"$kvsim" trace generate "preset:$preset" --seed 7 -o "$scratch/drawn.csv" 2>"$scratch/said"
	unchanged "what preset:$preset gives" "$scratch/drawn.csv"
done
"$kvsim" trace convert --rows 2: "$scratch/order.csv" 2>&1 | grep -q '^3," c ",0,\*:4,r2$'
report $? 'rows that are left out do not change the names of others'
"$kvsim" trace convert --rows 1: "$scratch/order.csv" 2>&1 | grep -q 'what a request generates whose id is not in the rows before'
report $? 'what a request outside the rows generates cannot be written'

printf 'arrival_s,prompt_tokens,output_tokens\n0,5,1\n1,x,1\n' >"$scratch/bad.csv"
"$kvsim" trace convert "$scratch/bad.csv" -o "$scratch/none.csv" 2>/dev/null
[ $? -eq 65 ] && [ ! -e "$scratch/none.csv" ]
report $? 'a bad row leaves nothing behind'

printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:01,5,1\n2024-05-10 00:00:00,5,1\n' >"$scratch/late.csv"
"$kvsim" trace convert "$scratch/late.csv" 2>&1 >/dev/null | grep -q ':3: arrival: earlier than the first row'
report $? 'a date earlier than the first is an error'

printf 'Timestamp,Model,Request tokens,Response tokens\n1,ChatGPT,5,0\n2,ChatGPT,5,1\n3,ChatGPT,x,1\n' >"$scratch/left.csv"
"$kvsim" trace convert --skip-bad-rows "$scratch/left.csv" 2>&1 >/dev/null |
	grep -qx 'kvsim: 2 of 3 rows left out: not_a_number 1 failed_request 1'
report $? 'rows that are left out are told'
for option in --json --reorder-rows=5 --reorder-time=1s; do
	"$kvsim" trace convert "$option" "$scratch/left.csv" >/dev/null 2>&1
	[ $? -eq 64 ]
	report $? "$option, which would change nothing, is refused"
done

finish
