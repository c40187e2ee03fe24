#!/bin/sh
# What contiguous reservation wastes of the KV cache: study.sh [KVSIM] writes table.csv and figure.svg into the current
# folder. KVSIM is the program (default: kvsim). OPT-13B on an A100-40GB with 12 GiB of KV cache, as in the PagedAttention
# paper; the loads are described in *-like.yaml, the paper's figures stand in paper.csv. A row a load and way of
# allocating: shares of the pool in percent of time.
set -eu

kvsim=${1:-kvsim}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support.sh"

# share FILE PART: mean blocks of that part, in percent of the pool
share() {
	awk -v blocks="$(value "$1" "mean_$2_blocks")" -v pool="$(value "$1" usable_blocks)" \
		'BEGIN { printf ",%.1f", 100 * blocks / pool }'
}

# rows LOAD
rows() {
	"$kvsim" compare --scenario "$here/$1.yaml" --variant max --variant pow2:allocation=contiguous-pow2 \
		--variant oracle:allocation=contiguous-exact --variant paged:allocation=paged,admission=prompt-fits \
		--out "$scratch/out" --force --quiet
	for way in max pow2 oracle paged; do
		file=$scratch/out/$way/summary.json
		printf '%s,%s' "$1" $way
		for part in filled reserved waste free; do
			share "$file" $part
		done
		printf ',%.2f,%s\n' "$(value "$file" mean_running)" "$(value "$file" preemptions)"
	done
}

{
	echo workload,allocation,token_states_percent,reservation_percent,internal_percent,external_percent,mean_batch,\
preemptions
	rows sharegpt-like
	rows alpaca-like
} >table.csv

# Each way of the paper beside ours, for the figure.
paste -d '\n' "$here/paper.csv" table.csv |
	awk -F, -v OFS=, 'NR > 2 { $2 = $2 (NR % 2 ? " (paper)" : ""); print }' >"$scratch/both"
tail -n +2 table.csv >"$scratch/ours"
tail -n +2 "$here/paper.csv" >"$scratch/paper"
draw figure.svg <<END
set multiplot layout 1,2
set style data histograms
set style fill solid 0.8
set boxwidth 0.8
set xtics rotate by -30
set key below
set grid ytics
set title 'ShareGPT-like, 2 requests/s: shares of the pool'
set ylabel '%'
set yrange [0:100]
set style histogram rowstacked
plot for [i=1:4] '$scratch/both' every ::0::7 using i+2:xtic(2) title word('states reserved internal external', i)
set title 'Mean batch'
set ylabel 'requests'
set yrange [0:*]
set style histogram clustered
set key inside top left
plot newhistogram 'ShareGPT-like' lt 1, \
	'$scratch/ours' every ::0::3 using 7:xtic(2) title 'kvsim', '$scratch/paper' every ::0::3 using 7 title 'paper', \
	newhistogram 'Alpaca-like' lt 1, \
	'$scratch/ours' every ::4::7 using 7:xtic(2) notitle, '$scratch/paper' every ::4::7 using 7 notitle
END
