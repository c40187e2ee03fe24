# Step times as users meet them in a run, against sums worked by hand.
. "$srcdir/tests/cli/support.sh"
llama='--model llama-3.1-8b --hardware h100-sxm --max-model-len 40000 --quiet'

# of COLUMN FILE: that column of the first request
of() {
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } NR == 2 { print $at }' "$2"
}

# near NAME VALUE WANTED TOLERANCE
near() {
	report "$(awk -v a="$2" -v b="$3" -v t="$4" 'BEGIN { d = a - b; exit !(d <= t && d >= -t) }'; echo $?)" "$1"
}

# simulate PROMPT OUTPUT ARGUMENT...
simulate() {
	printf 'arrival_s,prompt_tokens,output_tokens\n0,%s,%s\n' "$1" "$2" >"$scratch/t.csv"
	shift 2
	rm -rf "$scratch/kvsim-out"
	# shellcheck disable=SC2086
	run run --trace t.csv $llama "$@"
}

# c0 1 ms, 32 layers of 20 us, 6 us a sequence; sqrt(22.767^2 + 5.600^2) for compute and weights; attention at .60 of 1000 /
# 2500 of the peak: 26.195 ms. Then two steps of one token: 7.299 ms.
simulate 1000 3
near 'an idle request gets its first token after its prefill' "$(of ttft_s "$scratch/kvsim-out/requests.csv")" 0.026195225 1e-8
near 'and its others after a decode step each' "$(of tpot_s "$scratch/kvsim-out/requests.csv")" 0.007298791 1e-8

simulate 1000 3 --latency-data steps.csv
report "$(grep -q 'nothing goes by the measured steps in steps.csv: that takes latency linear or table' \
	"$scratch/kvsim-out/manifest.json"; echo $?)" 'measured steps that nothing goes by are no secret'

simulate 8192 1
one=$(of ttft_s "$scratch/kvsim-out/requests.csv")
simulate 16384 1
two=$(of ttft_s "$scratch/kvsim-out/requests.csv")
report "$(awk -v a="$one" -v b="$two" 'BEGIN { exit !(b > 2 * a) }'; echo $?)" \
	'a prompt of two chunks takes more than twice as long as one of one'

simulate 1000 3 -tp 2
report "$(awk -v a="$(of ttft_s "$scratch/kvsim-out/requests.csv")" 'BEGIN { exit !(a < .026195 && a > .0131) }'; echo $?)" \
	'two GPUs take more than half of the time of one, and less than all of it'

# Both decode in steps that the long prefill shares: the same gap for both.
printf 'arrival_s,prompt_tokens,output_tokens\n0,100,200\n0,100,200\n0.2,8000,1\n' >"$scratch/t.csv"
rm -rf "$scratch/kvsim-out"
# shellcheck disable=SC2086
run run --trace t.csv $llama
report "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "finish_s") at = i }
	$1 == "r0" { a = $at } $1 == "r1" { b = $at } END { exit !(a > 0 && a == b) }' "$scratch/kvsim-out/requests.csv"; echo $?)" \
	'a step is as long for all of its members'

# Of models that were not compared, and cards: others of their kind were, and the range of those is the warning.
# range COLUMN MODEL|ENGINE: of served.csv, rounded
range() {
	awk -F, -v at="$1" -v of="$2" 'NR > 1 && "," $2 "," $3 "," ~ of {
		if (least == "" || $at < least) least = $at
		if ($at > most) most = $at
	} END { printf "%d to %d", least + .5, most + .5 }' "$srcdir/results/studies/latency/served.csv"
}
far() {
	simulate 1000 3 --max-model-len 4000 --hardware a100-80gb "$@"
	grep 'no forecast' "$scratch/out"
}
llama='--hardware h100-sxm --max-model-len 40000'
report "$(far --model mixtral-8x7b -tp 4 | grep -q "a mixture of experts.* $(range 6 ',(deepseek-v3|gpt-oss-120b|minimax-m2.5|qwen3-235b-a22b),') % off in TTFT, nearly all too short, and $(range 8 ',(deepseek-v3|gpt-oss-120b|minimax-m2.5|qwen3-235b-a22b),') % in TPOT"; echo $?)" \
	'experts are warned of'
report "$(far --model deepseek-v2-lite | grep -q "latent attention.* $(range 6 ',deepseek-v3,') % off in TTFT, nearly all too short, and $(range 8 ',deepseek-v3,') % in TPOT"; echo $?)" \
	'latent attention is warned of'
report "$(far --model llama-3.1-8b --engine sglang-2026-07 | grep -q "SGLang.* $(range 6 ',sglang,') % off in TTFT, nearly all too short, and $(range 8 ',sglang,') % in TPOT"; echo $?)" \
	'SGLang is warned of'
llama='--model llama-3.1-8b --hardware h100-sxm --max-model-len 40000 --quiet'

# The terminal, both JSON files and the page say what was compared, of the model that ran.
served='qwen3-32b with 16-bit weights, vllm, 72 loads: TTFT 29 % (bias -29), TPOT 9 % (bias -8)'
printf 'arrival_s,prompt_tokens,output_tokens\n0,100,3\n' >"$scratch/t.csv"
rm -rf "$scratch/kvsim-out"
run run --trace t.csv --model qwen3-32b --hardware h100-sxm -tp 2
expect_line 'a run says how far its own model was off' 0 "Step time, error:                        $served"
for file in summary.json manifest.json report.html; do
	report "$(grep -qF "$served" "$scratch/kvsim-out/$file"; echo $?)" "so does $file"
done

simulate 1000 3 --hardware gb300 --max-num-seqs 8 --max-num-batched-tokens 2048 --kv-cache-memory-bytes 8G
expect_line 'a card without rates asks for them' 64 'hardware gb300: not known: flops.bf16, memory_bandwidth, by which step times go'
simulate 1000 3 --latency linear
expect_line 'a line needs data' 64 'give --latency-data FILE'
finish
