# kvsim calibrate: the worked example of the manual, bad rows by name, scores as JSON, exit statuses.
. "$srcdir/tests/cli/support.sh"

cat >"$scratch/my-card.yaml" <<'END'
name: my-card
memory: 96GiB
memory_bandwidth: 2.4TB/s
flops: {bf16: 500TFLOP/s, fp8: 1PFLOP/s}
link_bandwidth: 100GB/s
source: data sheet of 2026-08
END
cat >"$scratch/eight.csv" <<'END'
gpu,tp,model,p_tok,p_seq,p_ctx,d_seq,d_ctx,time_ms
my-card,1,llama-3.1-8b,0,0,0,1,1000,9.05
my-card,1,llama-3.1-8b,0,0,0,64,256000,24.1
my-card,1,llama-3.1-8b,256,1,0,0,0,15.2
my-card,1,llama-3.1-8b,8192,1,0,0,0,390.5
my-card,1,llama-3.1-8b,2048,1,2048,32,64000,104.9
my-card,2,llama-3.1-8b,0,0,0,1,1000,6.6
my-card,2,llama-3.1-8b,0,0,0,64,256000,14.3
my-card,2,llama-3.1-8b,8192,1,0,0,0,231.0
END

run calibrate --data eight.csv --hardware my-card.yaml --out measured.yaml
expect_line 'eight rows are fitted' 0 'constant      value         +- %'
expect_line 'what the data sheet leaves open is said' 0 'assumed of my-card: eb = 0.8 (default)'
cp "$scratch/measured.yaml" "$scratch/first.yaml"
run calibrate --data eight.csv --hardware my-card.yaml --out measured.yaml
report "$(cmp -s "$scratch/measured.yaml" "$scratch/first.yaml"; echo $?)" 'twice gives the same profile'
run calibrate --score eight.csv --hardware my-card.yaml --fail-above 5
expect_line 'the data sheet alone is off, and says so' 1 'prefill'
run calibrate --score eight.csv --hardware measured.yaml --fail-above 5
expect_line 'the measured profile is not' 0 'constants: my-card; engine: as calibrated'
run run --trace "$srcdir/workloads/samples/chat.csv" --model llama-3.1-8b --hardware measured.yaml --out a
expect_line 'and it runs' 0 'cross-validated'

# decode_only GPU...: one kind of row leaves most constants alone
sed -n '1,3p' "$scratch/eight.csv" >"$scratch/decode.csv"
run calibrate --data decode.csv --hardware my-card.yaml
expect_line 'constants that nothing speaks of are named' 0 'not informed by your data'

# Bad rows are named and leave the fit as it was.
{
	cat "$scratch/eight.csv"
	echo 'my-card,1,llama-3.1-8b,0,0,0,8,8000,0'
	echo 'my-card,1,llama-3.1-8b,0,0,0,8,8000,-4'
	echo 'my-card,1,llama-3.1-8b,0,0,0,8,8000,nan'
	echo 'my-card,1,llama-3.1-8b,0,0,0,8,8000,9800'
	echo 'my-card,1,llama-3.1-8b,0,0,0,8,8000,0.0098'
	echo 'my-card,1,llama-3.1-8b,0,0,0,8,8000,2.5'
	echo 'my-card,1,llama-3.1-8b,0,0,0,1,1000,9.05'
	echo 'my-card,1,llama-3.1-8b,4096,1,0,0,0,1500'
} >"$scratch/bad.csv"
run calibrate --data bad.csv --hardware my-card.yaml --out bad.yaml
for text in '10: not used: time_ms: 0; a time is above zero' '11: not used: time_ms: -4' "12: not used: time_ms: 'nan'" \
	'13: not used: time_ms: 9800' '14: not used: time_ms: 0.0098' '15: not used: time_ms: 2.5, but the data sheet allows' \
	'16: not used: the same as line 2' '17: not used: outlier: '; do
	expect_line "bad row: $text" 0 "bad.csv:$text"
done
report "$(grep -e efficiency -e overheads "$scratch/bad.yaml" >"$scratch/x"
	grep -e efficiency -e overheads "$scratch/measured.yaml" | cmp -s - "$scratch/x"; echo $?)" \
	'bad rows do not move the constants'

(cd "$scratch" && "$kvsim" calibrate --score - --hardware measured.yaml <eight.csv) >"$scratch/piped" 2>&1
run calibrate --score eight.csv --hardware measured.yaml
report "$(cmp -s "$scratch/piped" "$scratch/out"; echo $?)" 'measurements may come from standard input'

run calibrate --score bad.csv --hardware measured.yaml
for text in '10: not used: time_ms: 0' '13: not used: time_ms: 9800' '14: not used: time_ms: 0.0098' \
	'15: not used: time_ms: 2.5, but the data sheet allows' '16: not used: the same as line 2'; do
	expect_line "nor do they enter a score: $text" 0 "bad.csv:$text"
done
# The outlier does: a score that left out what it got wrong would be none.
report "$(awk '$1 == "prefill" && !seen++ { exit !($2 == 4 && $(NF - 3) > 15) }' "$scratch/out"; echo $?)" \
	'an outlier counts in a score'

# Kernel times lack the engine: a fit adds its 1 ms, a score of such rows leaves it out. Nor do they hold all-reduces.
run calibrate --data eight.csv --hardware my-card.yaml --kernel-times --out kernels.yaml
expect_line 'kernel times say nothing of links' 0 'en              0.6         50.0        0.6  not informed by your data'
cp "$scratch/out" "$scratch/fit"
run calibrate --score eight.csv --hardware kernels.yaml --kernel-times
report "$(awk '$1 == "decode" { print $(NF - 3) }' "$scratch/fit" | head -1 >"$scratch/x"
	awk '$1 == "decode" { print $(NF - 3) }' "$scratch/out" | head -1 | cmp -s - "$scratch/x"; echo $?)" \
	'a score of kernel times is the error of the fit to them'

# Matrix products of one layer.
printf 'gpu,tp,model,phase,batch,tokens,context,time_ms\nh100,1,llama-3.1-8b,layer_linear,,1,0,0.19\n' >"$scratch/layer.csv"
printf 'h100,1,llama-3.1-8b,layer_linear,,0,0,0.19\n' >>"$scratch/layer.csv"
run calibrate --score layer.csv
expect_line 'layers are scored' 0 'layer_linear                                          1'
expect_line 'a layer without tokens is not' 0 'layer.csv:3: not used: tokens: 0; a layer computes at least one'

run calibrate --score eight.csv --hardware my-card.yaml --json
expect_line 'JSON: rows' 0 '"rows": 8,'
expect_line 'JSON: phases' 0 '"phase": "prefill"'
for key in mape median_ape p90_ape bias by refused; do
	expect_line "JSON: $key" 0 "\"$key\":"
done

run calibrate --data eight.csv --hardware my-card.yaml --draw 4
expect_line 'draws print their seeds' 0 'seed 12: 4 rows, mean absolute error on the rest'

# A vLLM log names neither card nor model, and contexts only by the blocks in use.
{
	echo 'INFO 07-09 03:15:00 [core.py:1] Initializing an LLM engine'
	for i in 1 2 3 4 5 6; do
		echo "(EngineCore_DP0 pid=1) INFO 07-09 03:15:05 [core.py:359] Iteration($i): 0 context requests, 0 context tokens," \
			"$i generation requests, $i generation tokens, iteration elapsed time: 9.$i ms, GPU KV cache usage: $i.0%"
	done
	echo 'INFO Iteration(7): 1 context requests, 2048 context tokens, 0 generation requests, 0 generation tokens, iteration' \
		'elapsed time: 98.00 ms, GPU KV cache usage: 9.0%'
	echo 'INFO Iteration(8): 1 context requests, 1 context tokens, 0 generation requests, 0 generation tokens, iteration' \
		'elapsed time: 1.0 ms (dummy)'
} >"$scratch/engine.log"
run calibrate --score engine.log --hardware my-card.yaml --model llama-3.1-8b --num-gpu-blocks-override 10000 --json
expect_line 'a log of iterations is read' 0 '"rows": 7,'
expect_line 'its dummy steps are named' 0 'engine.log:9: not used: a dummy step'
run calibrate --data engine.log --hardware my-card.yaml --model llama-3.1-8b --mean-context 1000
expect_line 'and fitted, with a mean context' 0 'prefill'
run calibrate --data engine.log --hardware my-card.yaml --model llama-3.1-8b
expect_line 'contexts that nobody knows are asked for' 0 'engine.log:2: not used: nobody says how long its contexts are'
run calibrate --data engine.log --hardware my-card.yaml
expect_line 'so is the model' 64 'give --model and --hardware'

# Per-request results of a real run: fitting to them brings the replay close to them.
if [ -d "${KVSIM_SHARED:-/nonexistent}/traces/vllm-measured" ]; then
	measured=$KVSIM_SHARED/traces/vllm-measured/vllm_measured_RTXPRO6000_Llama-3.1-8B
	run calibrate --data "$measured" --hardware rtx-pro-6000 --num-gpu-blocks-override 33000 --out from-run.yaml
	expect_line 'a measured run is fitted' 0 '600 sums of steps from 300 requests'
	run calibrate --against "$measured" --hardware from-run.yaml --num-gpu-blocks-override 33000
	report "$(awk '$1 == "e2e" { exit !($8 < 3) }' "$scratch/out"; echo $?)" 'and replayed within 3 % a request'
	run calibrate --against "$measured" --hardware rtx-pro-6000
	expect_line 'a run that does not state its pool asks for it' 64 'give --num-gpu-blocks-override N'
	run calibrate --against "$measured" --hardware rtx-pro-6000 --num-gpu-blocks-override 33000
	cp "$scratch/out" "$scratch/as-it-ran"
	for other in '--kv-cache-dtype fp8' '--quantization fp8' '--model llama-2-7b' '--engine vllm-0.11' \
		'--tensor-parallel-size 2'; do
		# shellcheck disable=SC2086
		run calibrate --against "$measured" --hardware rtx-pro-6000 --num-gpu-blocks-override 33000 $other
		report "$([ "$status" -eq 0 ] && ! cmp -s "$scratch/out" "$scratch/as-it-ran"; echo $?)" "a run with another setting is another run: $other"
	done
else
	report 0 'a measured run is fitted # SKIP no shared data'
fi

# Served loads: the checkpoint's own types where a row names none; suffixes of checkpoints; memory that nobody states.
served() {
	printf 'backend,model_path,system,precision,mode,isl,osl,gemm_quant_mode,concurrency,tp_size,silicon_ttft_ms,silicon_tpot_ms\n'
	printf '%s\n' "$@"
}
served 'vllm,Qwen/Qwen3-32B,h100_sxm,,agg,1000,100,,4,2,120,17' 'vllm,x/Llama-3.1-8B-FP8,h100,fp8,agg,1000,100,fp8,2,1,40,5' \
	'vllm,Qwen/Qwen3-32B,h100,,agg,1000,100,,4,2,0,17' \
	>"$scratch/served.csv"
run calibrate --score served.csv
expect_line 'loads without a quantisation run, checkpoints with a suffix too' 0 'tpot                                                  2'
expect_line 'a measured zero is named' 0 'served.csv:4: not used: silicon_ttft_ms: 0; a measurement is above zero'
echo 'name: card-without-memory' >"$scratch/card.yaml"
run calibrate --score served.csv --hardware ./card.yaml
expect_line 'unknown memory is asked for' 65 'served.csv:2: not used: the memory of card-without-memory is not known: give --hardware FILE'

# Six rows of one reason are one line; each is named on demand, and in JSON.
{
	served 'vllm,Qwen/Qwen3-32B,h100_sxm,,agg,1000,100,,4,2,120,17'
	for _ in 1 2 3 4 5 6; do echo 'vllm,Qwen/Qwen3-32B,h100_sxm,,disagg,1000,100,,4,2,120,17'; done
} >"$scratch/disagg.csv"
run calibrate --score disagg.csv
expect_line 'rows of one reason are counted' 0 \
	"disagg.csv:3: not used: mode: 'disagg'; only agg can be simulated (and 5 more rows: --list-refused names them)"
report "$([ "$(grep -c 'not used' "$scratch/out")" -eq 1 ]; echo $?)" 'in one line'
run calibrate --score disagg.csv --list-refused
report "$([ "$(grep -c "disagg.csv:[3-8]: not used: mode: 'disagg'; only agg can be simulated\$" "$scratch/out")" -eq 6 ]; echo $?)" \
	'and named on demand'
run calibrate --score disagg.csv --where modes=agg
expect_line 'an unknown column of --where' 64 "disagg.csv: --where modes=agg: unknown column 'modes': did you mean 'mode'?"
run calibrate --score disagg.csv --where colour=red
expect_line 'or the valid ones' 64 "unknown column 'colour': valid are backend, model_path, system, precision, mode, isl, osl, "

run calibrate
expect_line 'one of three modes' 64 'say one of --data FILE (fit), --score FILE (compare) and --against RUN (replay)'
for option in '--out x' '--start x' '--leave-out tp' '--draw 4'; do
	# shellcheck disable=SC2086
	run calibrate --score eight.csv $option
	expect_line "not with a score: $option" 64 'goes with --data'
done
run calibrate --against x --where tp=1
expect_line 'not with a replay: --where' 64 '--where goes with --data or --score'
run calibrate --score nosuch.csv
expect 'a missing file' 66 <<END
kvsim: nosuch.csv: No such file or directory
END
run calibrate --score eight.csv
expect_line 'an unknown card without a profile' 64 "unknown hardware 'my-card'"
run calibrate --score eight.csv --hardware my-card.yaml --engine llama.cpp-2026-08
expect_line 'an engine without step times' 64 'engine profile llama.cpp-2026-08 has no step times'
run calibrate --score eight.csv --hardware my-card.yaml --where gpu=other
expect_line 'no row passes' 64 'no row passes --where'
finish
