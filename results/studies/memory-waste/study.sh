#!/bin/sh
# What contiguous reservation wastes of the KV cache: study.sh [KVSIM] >table.csv
# KVSIM is the program (default: kvsim). OPT-13B on an A100-40GB with 12 GiB of KV cache, as in the PagedAttention paper;
# lengths are made here (see README.md). A row a workload and way of allocating: shares of the pool in percent of time.
set -eu

kvsim=${1:-kvsim}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

value() {
	awk -v key="\"$2\":" '$1 == key { gsub(/,/, "", $2); print $2; exit }' "$1"
}

# lengths REQUESTS PROMPT_MEAN PROMPT_SIGMA OUTPUT_MEAN OUTPUT_SIGMA: lognormal, whole, prompts of 1 to 1,024 tokens, together at
# most 2,048; the location is chosen so that the mean of what was made is the given one. Normal deviates come from the
# golden-ratio sequence through Box and Muller: no generator, the same everywhere.
lengths() {
	awk -v n="$1" -v pm="$2" -v ps="$3" -v om="$4" -v os="$5" '
		function frac(x) { return x - int(x) }
		function u(i, k) { return frac((i + 0.5) * 0.6180339887498949 + k * 0.37) + 1e-12 }
		function v(i, k) { return frac((i + 0.5) * 0.7548776662466927 + k * 0.19) }
		function z(i, k) { return sqrt(-2 * log(u(i, k))) * cos(6.283185307179586 * v(i, k)) }
		function draw(mu, sigma, i, k, most, x) {
			x = int(exp(mu + sigma * z(i, k)) + 0.5)
			return x < 1 ? 1 : x > most ? most : x
		}
		function locate(mean, sigma, k, most, low, high, mu, sum, i, t) {
			low = -2; high = 12
			for (t = 0; t < 40; t++) {
				mu = (low + high) / 2; sum = 0
				for (i = 0; i < n; i++) sum += draw(mu, sigma, i, k, most)
				if (sum / n < mean) low = mu; else high = mu
			}
			return mu
		}
		BEGIN {
			pmu = locate(pm, ps, 1, 1024); omu = locate(om, os, 2, 1024)
			print "arrival_s,prompt_tokens,output_tokens"
			for (i = 0; i < n; i++) printf "%d,%d,%d\n", i, draw(pmu, ps, i, 1, 1024), draw(omu, os, i, 2, 1024)
		}'
}

# rows WORKLOAD RATE
rows() {
	"$kvsim" compare --trace "$scratch/$1.csv" --request-rate "$2" --seed 1 --model opt-13b --hardware a100-40gb \
		--engine orca-max --kv-cache-memory-bytes 12GiB --max-model-len 2048 --duration 1800s --warmup 300s \
		--variant max --variant pow2:allocation=contiguous-pow2 --variant oracle:allocation=contiguous-exact \
		--variant paged:allocation=paged,admission=prompt-fits --out "$scratch/out" --force --quiet
	for way in max pow2 oracle paged; do
		file=$scratch/out/$way/summary.json
		usable=$(value "$file" usable_blocks)
		printf '%s,%s,%s' "$1" "$2" $way
		for part in filled reserved waste free; do
			awk -v blocks="$(value "$file" "mean_${part}_blocks")" -v pool="$usable" 'BEGIN { printf ",%.1f", 100 * blocks / pool }'
		done
		printf ',%.2f,%s\n' "$(value "$file" mean_running)" "$(value "$file" preemptions)"
	done
}

echo 'workload,requests_per_s,allocation,token_states_percent,reservation_percent,internal_percent,external_percent,mean_batch,preemptions'
lengths 3600 161.31 1.1 337.99 0.8 >"$scratch/sharegpt-like.csv"
rows sharegpt-like 2
lengths 54000 19.31 0.6 58.45 0.9 >"$scratch/alpaca-like.csv"
rows alpaca-like 30
