#!/bin/sh
# Reproduces the table of step-time figures: scoreboard.sh DATA [KVSIM] >scoreboard.csv
# DATA holds groundtruth/*.calibrate.csv and traces/vllm-measured/; KVSIM is the program (default: kvsim).
# A line a figure: what, measured (% unless the name says otherwise), limit, "ok" or "over" (no limit: "-").
set -eu

data=${1:?usage: scoreboard.sh DATA [KVSIM]}
kvsim=${2:-kvsim}
truth=$data/groundtruth
runs=$data/traces/vllm-measured
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

steps=$truth/iter_fpm_b300_qwen3-32b.calibrate.csv
static=$truth/e2e_anl_static.calibrate.csv
splitwise=$truth/iter_splitwise.calibrate.csv
kernels=$truth/iter_llmservingsim_sum.calibrate.csv
served=$truth/e2e_aic_silicon.calibrate.csv
published=$truth/e2e_trtllm_throughput.calibrate.csv
layers=$truth/layer_vidur_linear.calibrate.csv

calibrate() {
	"$kvsim" calibrate "$@" 2>>"$scratch/named"
}

# mean PHASE [SECTION]: the mean error of a phase in the table on standard input (of the section whose title begins so)
mean() {
	awk -v phase="$1" -v section="${2:-}" '
		section != "" && index($0, section) == 1 { on = 1; next }
		(section == "" || on) && $1 == phase { print $(NF - 3); exit }'
}

# weighted PHASE FILE...: mean errors of a phase in several tables, weighted by rows
weighted() {
	phase=$1
	shift
	awk -v phase="$phase" '$1 == phase && !seen[FILENAME]++ { rows += $(NF - 4); sum += $(NF - 4) * $(NF - 3) }
		END { printf "%.2f\n", sum / rows }' "$@"
}

average() {
	echo "$@" | awk '{ for (i = 1; i <= NF; i++) sum += $i; printf "%.2f\n", sum / NF }'
}

# figure WHAT MEASURED LIMIT [LOWEST] (LIMIT '': none): numbers are compared by size, without sign
figure() {
	echo "$1,$2,$3,${4:-}" | awk -F, '{ m = $2 < 0 ? -$2 : $2 + 0
		verdict = $3 == "" ? "-" : m <= $3 && m >= $4 + 0 ? "ok" : "over"
		print $1 "," $2 "," ($4 == "" ? $3 : $4 " to " $3) "," verdict }'
}

echo 'figure,measured,limit,verdict'

calibrate --score "$steps" >"$scratch/score"
for phase in 'prefill 11' 'decode 4' 'mixed 5'; do
	set -- $phase
	figure "B300 vLLM steps; defaults: $1" "$(mean "$1" <"$scratch/score")" "$2"
done

calibrate --data "$steps" >"$scratch/fit"
for phase in 'prefill 3.5' 'decode 3' 'mixed 4'; do
	set -- $phase
	figure "B300 vLLM steps; cross-validated: $1" "$(mean "$1" 'unseen rows' <"$scratch/fit")" "$2"
done

figure 'B300; eight rows; the rest (mean of 12 draws; seeds 1 to 12)' \
	"$(calibrate --data "$steps" --draw 8 | sed -n 's/^mean of 12 draws: \(.*\) %$/\1/p')" 6
figure 'B300; one TP left out' "$(calibrate --data "$steps" --leave-out tp | mean all 'unseen rows')" 5

for gpu in h100-80gb a100-40gb; do
	for engine in anl-vllm anl-trtllm; do
		calibrate --data "$static" --where gpu=$gpu --where source=$engine --out "$scratch/$gpu-$engine.yaml" |
			sed -n '/^unseen rows/,$p' >"$scratch/static-$gpu-$engine"
	done
done
figure 'static batches; H100 and A100; cross-validated' "$(weighted e2e_static "$scratch"/static-*)" 6.5
figure 'H100 constants predict A100 (vLLM)' "$(calibrate --score "$static" --where gpu=a100-40gb \
	--where source=anl-vllm --hardware "$scratch/h100-80gb-anl-vllm.yaml" | mean e2e_static)" 8
figure 'A100 constants predict H100 (vLLM)' "$(calibrate --score "$static" --where gpu=h100-80gb \
	--where source=anl-vllm --hardware "$scratch/a100-40gb-anl-vllm.yaml" | mean e2e_static)" 8

for gpu in h100-80gb a100-80gb; do
	calibrate --data "$splitwise" --engine eager-2023 --where gpu=$gpu >"$scratch/splitwise-$gpu"
done
for phase in 'prefill 15' 'decode 9'; do
	set -- $phase
	figure "Splitwise; cross-validated; mean of A100 and H100: $1" \
		"$(average "$(mean "$1" 'unseen rows' <"$scratch/splitwise-h100-80gb")" \
			"$(mean "$1" 'unseen rows' <"$scratch/splitwise-a100-80gb")")" "$2"
done

for system in h100_sxm h200_sxm; do
	calibrate --score "$served" --where system=$system --where backend=vllm --where mode=agg --where osl=1024 \
		--where model_path=meta-llama/Llama-3.1-70B --where precision=fp8 --where 'concurrency>=4' \
		--where 'concurrency<=64' >"$scratch/served-$system"
done
figure 'closed loop; Llama-70B fp8; H100 and H200; defaults: TPOT' "$(weighted tpot "$scratch"/served-*)" 10
figure 'closed loop; Llama-70B fp8; H100 and H200; defaults: TTFT' "$(weighted ttft "$scratch"/served-*)" 13

calibrate --score "$published" --where model=llama3-8b >"$scratch/published-8b"
calibrate --score "$published" --where model=llama3-70b >"$scratch/published-70b"
figure 'TensorRT-LLM published throughput; 8B and 70B' "$(weighted throughput "$scratch"/published-*)" 9

# replay NAME GPU LIMITS...: constants from the kernel profile, then the measured run
replay() {
	name=$1
	gpu=$2
	ttft=$3 tpot=$4 e2e=$5 each=$6
	shift 6
	calibrate --data "$kernels" --where gpu="$gpu" --kernel-times --folds 0 --out "$scratch/$gpu.yaml" >"$scratch/$gpu"
	calibrate --against "$runs/vllm_measured_${name}_Llama-3.1-8B" --hardware "$scratch/$gpu.yaml" "$@" \
		>"$scratch/replay-$gpu"
	for metric in "ttft $ttft" "tpot $tpot" "e2e $e2e"; do
		set -- $metric
		figure "measured run on $gpu: mean $1" "$(awk -v m="$1" '$1 == m { print $4 }' "$scratch/replay-$gpu")" "$2"
	done
	figure "measured run on $gpu: per-request e2e" "$(awk '$1 == "e2e" { print $8 }' "$scratch/replay-$gpu")" "$each"
}

replay RTXPRO6000 rtxpro6000 5 2.5 3 5 --num-gpu-blocks-override 33000
replay RTX4090 rtx4090 7 5 5 5
figure 'measured run on rtx4090: seconds at 95 % of the cache or more' \
	"$(sed -n 's/^cache at.*simulated \([0-9]*\) of.*/\1/p' "$scratch/replay-rtx4090")" 158 150
figure 'measured run on rtx4090: most requests running' \
	"$(sed -n 's/^most running:.*simulated //p' "$scratch/replay-rtx4090")" 52

calibrate --score "$layers" >"$scratch/layers"
figure 'matrix products of single layers; A40 A100 H100; defaults' "$(mean layer_linear <"$scratch/layers")" ''
for gpu in a40 a100-80gb h100-80gb; do
	calibrate --data "$layers" --where gpu=$gpu --leave-out model >"$scratch/layers-$gpu"
	figure "matrix products of single layers; one model left out: $gpu" \
		"$(mean layer_linear 'unseen rows' <"$scratch/layers-$gpu")" ''
done
