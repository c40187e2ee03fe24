#!/bin/sh
# Hit ratios of every eviction policy against the size of the pool: eviction.sh DATA [KVSIM] writes hits.csv and hits.svg
# into the current folder. DATA holds traces/mooncake/ and traces/kv-cache-tester/; KVSIM is the program (default: kvsim).
set -eu

data=${1:?usage: eviction.sh DATA [KVSIM]}
kvsim=${2:-kvsim}
. "$(dirname "$0")/../support.sh"

policies='lru fifo lfu mru filo slru s3-fifo sieve arc ttl priority,head_tokens=2048,head=80 cost-aware
	tail-optimised belady'

evictions=
for policy in $policies; do
	evictions="$evictions --eviction $policy"
done

# curve TRACE BLOCK SIZES FILE [OPTION...]: a row a policy and size, for each unit of eviction
curve() {
	trace=$1 block=$2 sizes=$3
	shift 3
	for unit in leaf block; do
		# shellcheck disable=SC2086 # words of $evictions are arguments
		"$kvsim" trace cache "$@" --blocks "$sizes" --unit "$unit" $evictions >"$scratch/table"
		awk -v trace="$trace" -v unit="$unit" -v block="$block" '
			/^Eviction / { on = 1; next }
			on { sub(/,.*/, "", $1); print trace "," unit "," $1 "," $2 "," $2 * block "," $4 "," $8 "," $6 }' "$scratch/table"
	done
}

{
	echo trace,unit,policy,blocks,tokens,hit_percent,second_half_hit_percent,evicted_blocks
	curve conversation 512 500,1000,2000,5000,10000,20000,40000,80000 "$data/traces/mooncake/conversation_trace.jsonl"
	curve synthetic 512 250,500,1000,2000,4000,8000,16000,32000 "$data/traces/mooncake/synthetic_trace.jsonl"
	curve agents 64 1000,2000,4000,8000,16000,32000,64000,128000 "$data/traces/kv-cache-tester" --block-size 64
} >hits.csv

draw hits.svg <<'END'
set multiplot layout 1,3
set logscale x
set xlabel 'pool (tokens)'
set ylabel 'hit tokens, second half (%)'
set key below horizontal
set yrange [0:]
names = 'belady arc lru fifo cost-aware tail-optimised ttl s3-fifo sieve lfu slru priority filo mru'
do for [trace in 'conversation synthetic agents'] {
	set title trace
	plot for [i=1:words(names)] 'hits.csv' \
		using (strcol(1) eq trace && strcol(2) eq 'leaf' && strcol(3) eq word(names, i) ? $5 : 1/0):7 \
		with linespoints linetype i pointsize 0.5 title word(names, i)
}
END
