# An engine that serves one request at a time, in steps of a millisecond, is an M/G/1 queue: mean waiting times lie within the
# 99 % confidence interval of Pollaczek and Khinchine's formula, W = lambda E[S^2] / (2 (1 - rho)).
. "$srcdir/tests/cli/support.sh"

# queue NAME OUTPUT E[S] E[S^2] in milliseconds; load 0.7. The interval is that of the means of 20 batches (t of 19 degrees).
queue() {
	rate=$(awk -v s="$3" 'BEGIN { printf "%.9f", 0.7 / s * 1000 }')
	cat >"$scratch/queue.yaml" <<END
model: llama-3.1-8b
latency: {backend: "fixed:1ms"}
engine: {max_num_seqs: 1, max_model_len: 8192, num_gpu_blocks_override: 1000}
workload:
  generate: {requests: 60000, arrivals: "poisson,rate=$rate", message: 1, output: "$2"}
output: {write: requests}
seed: 3
END
	run run --scenario queue.yaml --out q --force --quiet
	awk -F, -v s="$3" -v s2="$4" -v rate="$rate" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "queue_s") column = i; next }
		{ batch[int((NR - 2) / 3000)] += $column / 3000 }
		END {
			for (i = 0; i < 20; i++) mean += batch[i] / 20
			for (i = 0; i < 20; i++) variance += (batch[i] - mean) ^ 2 / 19
			wanted = rate * s2 / 1e6 / (2 * (1 - rate * s / 1000))
			half = 2.861 * sqrt(variance / 20)
			printf "# mean wait %.5f +- %.5f s, formula %.5f s\n", mean, half, wanted
			exit !(mean - half <= wanted && wanted <= mean + half && half < 0.1 * wanted)
		}' "$scratch/q/requests.csv" >"$scratch/said"
	report $? "$1"
	cat "$scratch/said"
}

# The moments of max(1, n) where n is rounded from a distribution with function F.
moments() {
	awk -v kind="$1" -v a="$2" -v b="$3" '
		function F(x) {
			if (kind == "exponential") return x <= 0 ? 0 : 1 - exp(-x / a)
			return x <= a ? 0 : x >= b ? 1 : (x - a) / (b - a)
		}
		BEGIN {
			for (n = 0; n < 3000; n++) {
				p = F(n + 0.5) - F(n - 0.5)
				s = n > 1 ? n : 1
				m += p * s
				m2 += p * s * s
			}
			printf "%.6f %.6f\n", m, m2
		}'
}

queue 'M/D/1' 50 50 2500
queue 'M/M/1' exponential,mean=50 $(moments exponential 50)
queue 'M/G/1, uniform' uniform,min=1,max=199 $(moments uniform 1 199)

finish
