#!/bin/sh
# Reserve room for whole answers, or start everybody and preempt: study.sh [KVSIM] >table.csv
# KVSIM is the program (default: kvsim). Llama-3.1-70B fp8 with fp8 KV cache on one H200; requests all at once, held back
# by the client's concurrency. A row a pair of runs: prompt, answer, what the client allows, who reserves against who does not.
set -eu

kvsim=${1:-kvsim}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# value FILE KEY: the first number of that name in a summary
value() {
	awk -v key="\"$2\":" '$1 == key { gsub(/,/, "", $2); print $2; exit }' "$1"
}

# pair WORKLOAD PROMPT ANSWER CAP REQUESTS CONCURRENCY
pair() {
	awk -v n="$5" -v row="0,$2,$3,$4" \
		'BEGIN { print "arrival_s,prompt_tokens,output_tokens,max_tokens"; while (n-- > 0) print row }' >"$scratch/trace.csv"
	"$kvsim" compare --trace "$scratch/trace.csv" --model llama-3.1-70b --hardware h200 --quantization fp8 \
		--kv-cache-dtype fp8 --max-model-len 40960 --engine trtllm-guaranteed-no-evict --no-enable-prefix-caching \
		--max-concurrency "$6" --variant reserve --variant preempt:admission=max-utilization --out "$scratch/out" \
		--force --quiet
	for policy in reserve preempt; do
		file=$scratch/out/$policy/summary.json
		printf '%s,%s,%s,%s,%s' "$1" "$2" "$3" "$4" "$policy"
		for key in output_throughput median_ttft_ms mean_tpot_ms p99_tpot_ms mean_e2el_ms mean_running preemptions \
			recomputed_tokens; do
			printf ',%.1f' "$(value "$file" $key)"
		done
		echo
	done
}

echo 'workload,prompt_tokens,output_tokens,max_tokens,policy,output_throughput,median_ttft_ms,mean_tpot_ms,p99_tpot_ms,mean_e2el_ms,mean_running,preemptions,recomputed_tokens'
for factor in 1 2 4 8 16; do
	pair documents 16384 512 $((512 * factor)) 128 32
done
for factor in 1 2 4 8; do
	pair essays 512 4096 $((4096 * factor)) 512 256
done
