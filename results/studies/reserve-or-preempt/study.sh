#!/bin/sh
# Reserve room for whole answers, or start everybody and preempt: study.sh [KVSIM] writes table.csv, sweep.csv and
# figure.svg into the current folder. KVSIM is the program (default: kvsim). Llama-3.1-70B fp8 with fp8 KV cache on one
# H200; requests come all at once and are held back by the client's concurrency.
set -eu

kvsim=${1:-kvsim}
. "$(dirname "$0")/../support.sh"

# compare CONCURRENCY ARGUMENT...: the trace in scratch, results in scratch/out
compare() {
	concurrency=$1
	shift
	"$kvsim" compare --trace "$scratch/trace.csv" --model llama-3.1-70b --hardware h200 --quantization fp8 \
		--kv-cache-dtype fp8 --max-model-len 40960 --engine trtllm-guaranteed-no-evict --no-enable-prefix-caching \
		--max-concurrency "$concurrency" --variant reserve --variant preempt:admission=max-utilization "$@" \
		--out "$scratch/out" --force --quiet
}

# figures VARIANT KEY...: numbers of its summary, each after a comma
figures() {
	file=$scratch/out/$1/summary.json
	shift
	for key; do
		printf ',%.1f' "$(value "$file" "$key")"
	done
}

# pair WORKLOAD PROMPT ANSWER ALLOWED REQUESTS CONCURRENCY: a row for each of the two policies
pair() {
	burst "$5" "$2" "$3" "$4" >"$scratch/trace.csv"
	compare "$6"
	for policy in reserve preempt; do
		printf '%s,%s,%s,%s,%s' "$1" "$2" "$3" "$4" $policy
		figures $policy output_throughput median_ttft_ms mean_tpot_ms p99_tpot_ms mean_e2el_ms mean_running preemptions \
			recomputed_tokens
		echo
	done
}

# pool BLOCKS: the public measurement's requests in a pool of that size, and what starting in chunks would do there
pool() {
	compare 32 --num-gpu-blocks-override "$1" --variant chunk:admission=greedy \
		--variant chunk-reuse:admission=greedy,engine.enable_prefix_caching=true
	for rule in reserve preempt chunk chunk-reuse; do
		printf '%s,%s,%s' "$1" $(($1 * 32)) $rule
		figures $rule output_throughput median_ttft_ms p99_tpot_ms preemptions recomputed_tokens
		echo
	done
}

{
	echo workload,prompt_tokens,output_tokens,max_tokens,policy,output_throughput,median_ttft_ms,mean_tpot_ms,p99_tpot_ms,\
mean_e2el_ms,mean_running,preemptions,recomputed_tokens
	for factor in 1 2 4 8 16; do
		pair documents 16384 512 $((512 * factor)) 128 32
	done
	for factor in 1 2 4 8; do
		pair essays 512 4096 $((4096 * factor)) 512 256
	done
} >table.csv

{
	echo blocks,pool_tokens,rule,output_throughput,median_ttft_ms,p99_tpot_ms,preemptions,recomputed_tokens
	burst 128 16384 512 512 >"$scratch/trace.csv"
	for blocks in 10000 10500 11000 11500 12000 12579 13000 13500 14000 14500 15000 15500 16000 16500 17000; do
		pool $blocks
	done
} >sweep.csv

# change RULE RATE <TABLE: its rows by column RULE, with how the RATE differs from the last one of reserve before it, in
# percent
change() {
	awk -F, -v rule="$1" -v rate="$2" '
		$rule == "reserve" { base = $rate }
		NR > 1 { print $0 "," 100 * ($rate - base) / base }' | sort -s -t, -k"$1,$1"
}

change 5 6 <table.csv >"$scratch/turn"
change 3 4 <sweep.csv >"$scratch/sweep"
draw figure.svg <<END
turn = '$scratch/turn'
sweep = '$scratch/sweep'
set multiplot layout 1,2
set grid ytics
set key left top Left reverse
set ylabel 'output tokens/s against reserving (%)'
set title 'Preempting, as clients allow more than they use'
set xlabel 'tokens allowed / generated'
set logscale x 2
set xrange [0.9:18]
plot for [name in 'documents essays'] turn \
	using (strcol(1) eq name && strcol(5) eq 'preempt' ? \$4 / \$3 : 1/0):14 with linespoints title name
unset logscale x
set title 'Documents, allowed = generated: when may a prompt start?'
set xlabel 'pool (thousand tokens)'
set xrange [310:560]
set yrange [-80:40]
label(name) = name eq 'preempt' ? 'when all of it fits' : name eq 'chunk' ? 'when its first chunk fits' : \
	'when its first chunk fits, and paused ones find their blocks again'
plot for [name in 'preempt chunk chunk-reuse'] sweep \
	using (strcol(3) eq name ? \$2 / 1000 : 1/0):9 with linespoints title label(name), \
	-40.6 with lines dashtype 2 title 'public measurement'
END
