#!/bin/sh
# How far modelled times of served loads are from measured ones: served.sh DATA [KVSIM [SYSTEM...]] >served.csv
# DATA holds groundtruth/e2e_aic_silicon.calibrate.csv; KVSIM is the program (default: kvsim); SYSTEM is one of the file's with a
# profile that knows its memory (default: all). A line a card, engine, model and width of weights with at least five loads of 4
# to 64 clients. These lines are the `served` figures of sim/profiles/hardware/.
set -eu

data=${1:?usage: served.sh DATA [KVSIM [SYSTEM...]]}/groundtruth/e2e_aic_silicon.calibrate.csv
kvsim=${2:-kvsim}
[ $# -lt 3 ] || shift 2
case ${1:-} in
*_sxm) ;;
*) set -- b200_sxm h100_sxm h200_sxm ;;
esac

# score SYSTEM BACKEND PRECISION: a line a model and number of GPUs, "card,engine,bits,model,phase rows mean median p90 bias"
score() {
	case $3 in
	fp8) bits=8 ;;
	fp4 | int4) bits=4 ;;
	*) bits=16 ;;
	esac
	"$kvsim" calibrate --score "$data" --where mode=agg --where "system=$1" --where "backend=$2" --where "precision=$3" \
		--where 'concurrency>=4' --where 'concurrency<=64' 2>/dev/null |
		sed -n "s/^[0-9]* x \([^,]*\), \(.*\), \(ttft\|tpot\) /$1,$2,$bits,\2,\3 /p"
}

echo 'card,engine,model,weight_bits,rows,ttft,ttft_bias,tpot,tpot_bias'
for system; do
	for backend in sglang trtllm vllm; do
		for precision in bf16 fp8 fp4 int4 ''; do
			score "$system" "$backend" "$precision" || true
		done
	done
done | awk -F '[ ,]+' '
	{
		card = $1 == "h100_sxm" ? "h100-sxm" : substr($1, 1, 4)
		model = tolower($4)
		sub(/.*\//, "", model)
		sub(/-instruct$/, "", model)
		sub(/deepseek-r1/, "deepseek-v3", model)    # one shape, other weights
		group = card "," $2 "," model "," $3
		rows[group, $5] += $6
		error[group, $5] += $6 * $7
		bias[group, $5] += $6 * $10
		groups[group]
	}
	END {
		for (g in groups) {
			n = rows[g, "ttft"]
			if (n >= 5)
				printf "%s,%d,%.1f,%.1f,%.1f,%.1f\n", g, n, error[g, "ttft"] / n, bias[g, "ttft"] / n,
					error[g, "tpot"] / n, bias[g, "tpot"] / n
		}
	}' | LC_ALL=C sort
