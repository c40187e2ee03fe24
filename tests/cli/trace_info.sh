# kvsim trace info: the published figures of public traces come out, and small ones by hand.
. "$srcdir/tests/cli/support.sh"

# lines NAME FILE PATTERN...: the output of info on the file has a line that matches each pattern (blanks count as one).
lines() {
	name=$1 file=$2
	shift 2
	if [ ! -r "$file" ]; then
		skip "$name" "$(basename "$file") is not here"
		return
	fi
	"$kvsim" trace info "$file" 2>&1 | tr -s ' ' >"$scratch/out"
	for pattern; do
		if ! grep -qxF -e "$pattern" "$scratch/out"; then
			report 1 "$name"
			echo "# missing: $pattern"
			sed 's/^/# /' "$scratch/out"
			return
		fi
	done
	report 0 "$name"
}

# Rows 0 and 1 share 30 tokens; row 2 repeats row 0 and what it generated, and asks on.
cat >"$scratch/small.csv" <<END
request_id,arrival_s,prompt,output_tokens
a,0,s:20 d:20,10
b,1,s:20 d:10 x:10,5
c,4,s:20 d:20 @a:10 y:14,5
END
lines 'a trace counted by hand' "$scratch/small.csv" 'Rate (1/s) 0.5' 'Tokens 80 of 144 0.5556 80 of 104 0.7692' \
	'Whole prompts 0 of 3 0.0000 0 of 2 0.0000' 'Blocks of 16 4 of 8 0.5000 4 of 6 0.6667' \
	'Tokens, at any place 80 of 144 0.5556 80 of 104 0.7692'

# Steps of 2, 2 and 8 ms: 4 ms on average.
printf 'arrival_s,prompt_tokens,output_tokens\n0,9,1\n0.002,9,1\n0.004,9,1\n0.012,9,1\n' >"$scratch/short.csv"
lines 'means of short times have their digits' "$scratch/short.csv" 'Time steps (s) 0.002 0.002 0.008 0.008 0.008 0.008 0.004'

printf 'arrival_s,prompt,output_tokens\n0,a:9,1\n0,b:9,1\n0,c:9,1\n' >"$scratch/burst.csv"
lines 'all at once has no rate' "$scratch/burst.csv" 'Arrivals all at once' 'Distinct times 1, at most 3 requests at one'
report "$(! grep -q 'Rate\|Gaps\|Time steps\|Blocks of 128' "$scratch/out"; echo $?)" 'nor gaps, steps or all sizes of blocks'
run trace info burst.csv --json
report "$(grep -q '"rate": null' "$scratch/out" && grep -q '"gap_cv": null' "$scratch/out" && grep -q '"block_size": 128' "$scratch/out"; echo $?)" \
	'JSON says that too, and has all sizes'

# Two windows of 600 s at .01 and .02 a second are 6 and 12 requests, none of which is a row of the file.
printf '0,0.01,1,Gamma,1,1\n600,0.02,1,Gamma,1,1\n' >"$scratch/two-trace.csv"
printf '{"0": {"input_tokens": "{9: 1}", "output_tokens": "{1: 1}"}}' >"$scratch/two-dataset.json"
lines 'rows that are drawn are not read' "$scratch/two-trace.csv" 'Rows drawn 18' 'Requests 18'

# Equal text under two salts or adapters is not reusable: only the third row may find what the first left, 1000 tokens or 62
# blocks of 16, 2 s later.
for key in salt adapter; do
	printf 'arrival_s,prompt,output_tokens,%s\n0,doc:1000,1,x\n1,doc:1000,1,y\n2,doc:1000,1,x\n' $key >"$scratch/keys.csv"
	lines "equal text under another $key" "$scratch/keys.csv" 'Tokens 1000 of 3000 0.3333 1000 of 2000 0.5000' \
		'Tokens in blocks of 16 992 of 3000 0.3307 992 of 2000 0.4960' 'Whole prompts 1 of 3 0.3333 1 of 2 0.5000' \
		'Tokens, at any place 1000 of 3000 0.3333 1000 of 2000 0.5000' 'Reuse after (s) 2 2 2 2 2 2 2'
done
printf 'arrival_s,prompt,output_tokens,salt\n0,doc:1000,1,x\n1,doc:1000,1,\n2,doc:1000,1,\n' >"$scratch/keys.csv"
lines 'no salt is a key too' "$scratch/keys.csv" 'Tokens 1000 of 3000 0.3333 1000 of 2000 0.5000'
# What a request generates belongs to its own key: row 2 continues row 0 under the same salt, row 3 under another one.
printf 'request_id,arrival_s,prompt,output_tokens,salt\na,0,s:20,10,x\nb,1,s:20,5,y\nc,2,s:20 @a:10 z:2,5,x\nd,3,s:20 @a:10 z:2,5,y\n' \
	>"$scratch/keys.csv"
lines 'what was generated under another salt' "$scratch/keys.csv" 'Tokens 50 of 104 0.4808 50 of 64 0.7812'

traces=$KVSIM_SHARED/traces
lines 'Mooncake conversation' "$traces/mooncake/conversation_trace.jsonl" \
	'Tokens 54098411 of 144793823 0.3736 27038068 of 67915607 0.3981' \
	'Prompt tokens 891 6909 27367 39552 85401 126195 12035.1' 'Gaps, CV 3.034' 'Dispersion, 1 s / 10 s 7.89 / 2.09' \
	'Distinct times 1180, at most 28 requests at one' 'Whole prompts 118 of 12031 0.0098 73 of 6016 0.0121' \
	'Rate (1/s) 3.4012'
lines 'Mooncake synthetic' "$traces/mooncake/synthetic_trace.jsonl" 'Gaps, CV 1.011' 'Rate (1/s) 3.906' \
	'Tokens 39852661 of 61194628 0.6512 31535563 of 36552394 0.8627' 'Dispersion, 1 s / 10 s 1.09 / 1.37'
lines 'Azure code' "$traces/azure2023/AzureLLMInferenceTrace_code.csv" 'Gaps, CV 13.151' 'Rate (1/s) 2.5664' \
	'Dispersion, 1 s / 10 s 13.18 / 71.30' 'Prompt tokens 3 1469 5194 7315 7436 7437 2047.8' \
	'Prefix identity no: every prompt is replayed as unique'
lines 'Azure conv' "$traces/azure2023/AzureLLMInferenceTrace_conv.csv" 'Gaps, CV 1.094' 'Rate (1/s) 5.5301' \
	'Dispersion, 1 s / 10 s 1.39 / 4.00'
lines 'BurstGPT, failures left out' "$traces/burstgpt/burstgpt_1.first400.csv" ' failed_request 17' 'Requests 383'
# Chained and position-independent, counted by an independent program.
lines 'RAGPulse, both definitions' "$traces/ragpulse/ragpulse_trace.first600.jsonl" \
	'Tokens 570792 of 1808928 0.3155 284959 of 903797 0.3153' \
	'Tokens, at any place 1125115 of 1808928 0.6220 600797 of 903797 0.6647'
lines 'a kv-cache-tester session' "$traces/kv-cache-tester/trace_0053.json" 'Blocks of 64 120527 of 126023 0.9564 65043 of 66398 0.9796'
lines 'another one' "$traces/kv-cache-tester/kvct_trace_0012.json" 'Requests 14' 'Requests without output 0'

# Token ids: the second prompt has its first three blocks of two in common with the first, not the fourth.
cat >"$scratch/tokens.jsonl" <<END
{"input_toks": 8, "output_toks": 1, "arrival_time_ns": 0, "input_tok_ids": [5, 6, 7, 8, 9, 10, 11, 12]}
{"input_toks": 9, "output_toks": 1, "arrival_time_ns": 5, "input_tok_ids": [5, 6, 7, 8, 9, 10, 11, 13, 14]}
END
"$kvsim" trace convert --format llmservingsim,block=2 "$scratch/tokens.jsonl" -o "$scratch/tokens.csv"
lines 'token ids are hashed in blocks with all that precedes them' "$scratch/tokens.csv" 'Tokens 6 of 17 0.3529 6 of 9 0.6667'

# Seconds where milliseconds belong.
i=0
while [ $i -lt 60 ]; do
	echo "{\"timestamp\": $((i * 3000)), \"input_length\": 5, \"output_length\": 1, \"hash_ids\": [$i]}"
	i=$((i + 1))
done >"$scratch/ms.jsonl"
run trace info --format mooncake,unit=s ms.jsonl
expect_line 'milliseconds taken for seconds are noticed' 0 'are milliseconds taken for seconds?'

# Ids that are equal in their lower 32 bits alone.
cat >"$scratch/wide.jsonl" <<END
{"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [7]}
{"timestamp": 5, "input_length": 512, "output_length": 1, "hash_ids": [4294967303]}
{"timestamp": 5, "input_length": 512, "output_length": 1, "hash_ids": [4294967303]}
END
lines 'ids keep 64 bits' "$scratch/wide.jsonl" 'Blocks of the trace 1 of 3 0.3333 1 of 2 0.5000'

# The same id partial and full: 100 tokens are shared, no more, and nobody is left to believe otherwise.
cat >"$scratch/tails.jsonl" <<END
{"timestamp": 0, "input_length": 612, "output_length": 1, "hash_ids": [1, 2]}
{"timestamp": 5, "input_length": 1024, "output_length": 1, "hash_ids": [1, 2]}
END
lines 'an id that is partial in one row and full in another' "$scratch/tails.jsonl" 'Ids of two lengths 1' \
	'Tokens 612 of 1636 0.3741 612 of 1024 0.5977' \
	'Warning the trace has block ids that stand for two lengths, taken to agree as far as both go: is the block size right?'

finish
