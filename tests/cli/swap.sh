# Preemption by swap on the command line: what it asks for, and that the figures of all files agree.
. "$srcdir/tests/cli/support.sh"
cp "$srcdir/workloads/samples/chat.csv" "$scratch"
tiny='--trace chat.csv --model llama-3.1-8b --latency fixed:10ms --num-gpu-blocks-override 61 --max-model-len 900'
swap='--preemption latest,mode=swap'

run run $tiny $swap
expect_line 'host memory has to be given' 64 'preemption latest,mode=swap copies to host memory: give --swap-space BYTES, for each GPU'
run run $tiny $swap --swap-space 1
expect_line 'and so has the link, without a card' 64 \
	'how fast blocks get to host memory is not known without --hardware: give --swap-bandwidth RATE'
run run $tiny $swap --swap-space 1 --hardware b300 --max-num-seqs 64 --max-num-batched-tokens 2048
expect_line 'or with one whose host link is not known' 64 'is not known of b300: give --swap-bandwidth RATE'
run run $tiny $swap --swap-space 1MiB --swap-bandwidth 25GB/s
expect_line 'less than a block is nothing' 64 'swap-space: 1.00 MiB hold no block: one takes 2.00 MiB on each rank'
run run $tiny $swap --swap-space 1 --swap-bandwidth 25
expect_line 'a rate has a unit' 64 "'25' is not a rate of bytes"
run run $tiny $swap --swap-space 1 --swap-bandwidth 25GB/s --allocation contiguous-max --no-enable-prefix-caching
expect_line 'contiguous pieces are not swapped' 64 'preemption latest does not go with allocation contiguous-max: mode=swap'
run run $tiny $swap --swap-space 1 --swap-bandwidth 25GB/s --model gemma-3-27b --num-gpu-blocks-override 900
expect_line 'nor windowed layers' 64 'preemption latest does not go with this model: mode=swap'
run run $tiny --swap-space 1 --out unused
expect_line 'host memory that nobody uses is remarked' 0 'nothing is swapped to host memory: that takes --preemption latest,mode=swap'
run list policies fewest-outputs
expect_line 'the parameter is listed with every preemption policy' 0 'recompute|swap'

run run $tiny $swap --hardware a100-40gb --swap-space 0.05 --out swap --check --events
expect_line 'preemptions are counted apart' 0 '  by swap to host memory:'
report "$(grep -q "copies to host memory reach 0.8 of the 32 GB/s of a100-40gb's host link" "$scratch/swap/manifest.json"
	echo $?)" 'the assumption about the link is stated'
number() {
	sed -n "s/^ *\"$1\": \([0-9.]*\),*\$/\1/p" "$scratch/swap/summary.json" | head -n 1
}
# agree NAME CONDITION over the numbers of the summary's swap, as awk reads it
agree() {
	awk -v out="$(number out_blocks)" -v back="$(number in_blocks)" -v found="$(number found_blocks)" \
		-v dropped="$(number dropped_blocks)" -v peak="$(number peak_blocks)" -v space="$(number space_blocks)" \
		-v copies="$(number copy_s)" -v swaps="$(number preemptions_by_swap)" -v all="$(number preemptions)" \
		-v recomputes="$(number preemptions_by_recompute)" -v rows="$3" "BEGIN { exit !($2) }"
	report $? "$1"
}
# total COLUMN of requests.csv
total() {
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ sum += $at } END { printf "%.9f", sum }' "$scratch/swap/requests.csv"
}
agree 'some go to host memory, some do not fit it' 'swaps > 0 && recomputes > 0 && swaps + recomputes == all'
agree 'what went out came back, was found or dropped' 'out > 0 && out == back + found + dropped'
agree 'host memory holds what it can' 'space == 25 && peak > 0 && peak <= space'
agree 'copies take bytes over 80 % of 32 GB/s' '(copies - (out + back) * 2097152 / 25.6e9) ^ 2 < 1e-12'
agree 'requests.csv has the same swaps' 'swaps == rows' "$(total swaps)"
agree 'events.csv too' 'swaps == rows' "$(grep -c ,swap_out, "$scratch/swap/events.csv")"
agree 'a host_full stands for each that did not fit' 'recomputes == rows' "$(grep -c ,host_full "$scratch/swap/events.csv")"
awk -F, -v wanted="$(total swapped_s)" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "swapped_mean") at = i; next }
	{ sum += $at * ($2 - $1) } END { d = sum - wanted; exit !(wanted > 0 && d * d < 1e-6 * wanted * wanted) }' \
	"$scratch/swap/timeline.csv"
report $? 'the timeline has the same time swapped out'
finish
