# Every public trace is detected, validated, described and replayed by one command each, without options beyond model and
# hardware; every request that was read is finished, refused or follows one that was refused. What lies beside traces is
# named as what it is.
. "$srcdir/tests/cli/support.sh"

# count KEY FILE: the number behind a key of JSON, 0 where it is absent.
count() {
	sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$2" | head -n 1 | grep . || echo 0
}

# trace FILE FORMAT [LARGE]: large ones are not replayed in full.
trace() {
	file=$KVSIM_SHARED/traces/$1 format=$2 rows=${3:+--rows 0:$3}
	if [ ! -e "$file" ]; then
		skip "$1" "it is not here"
		return
	fi
	status=0
	"$kvsim" trace validate "$file" --json $rows >"$scratch/validate" 2>"$scratch/said" || status=1
	"$kvsim" trace info "$file" --json $rows >"$scratch/info" 2>>"$scratch/said" || status=1
	"$kvsim" run --trace "$file" $rows --model llama-3.1-8b --hardware h100-sxm --quiet --force --out "$scratch/out" \
		>>"$scratch/said" 2>&1 || status=1
	grep -q "\"format\": \"$format\"" "$scratch/validate" || status=1
	requests=$(count requests "$scratch/validate") summary=$scratch/out/summary.json
	ended=$(($(count completed "$summary") + $(count refused "$summary") + $(count dropped "$summary") +
		$(count unfinished "$summary") + $(count after_refusal "$scratch/out/manifest.json")))
	[ "$requests" -gt 0 ] && [ "$requests" -eq "$ended" ] && [ "$requests" -eq "$(count requests "$scratch/info")" ] || status=1
	report "$status" "$1 is $format, $requests requests"
	if [ "$status" -ne 0 ]; then
		echo "# $ended ended"
		sed 's/^/# /' "$scratch/said"
	fi
}

# beside FILE WHAT
beside() {
	if [ ! -e "$KVSIM_SHARED/traces/$1" ]; then
		skip "$1" "it is not here"
		return
	fi
	"$kvsim" trace validate "$KVSIM_SHARED/traces/$1" 2>&1 | grep -q "not a trace, but $2"
	report $? "$1 is $2"
}

for name in AzureLLMInferenceTrace_code AzureLLMInferenceTrace_conv azure2023_code.last20_no_final_newline; do
	trace "azure2023/$name.csv" azure
done
trace burstgpt/burstgpt_1.first400.csv burstgpt
trace burstgpt/burstgpt_3.first60_transcribed.csv burstgpt
trace kv-cache-tester kv-cache-tester
for session in kvct_trace_0012 kvct_trace_0016 kvct_trace_0019 kvct_trace_0021 kvct_trace_0291_with_subagent \
	trace_0048 trace_0053 trace_0073 trace_0112 trace_0127 trace_0135 trace_0143 trace_0209 trace_0236 trace_0253 \
	trace_0325 trace_0329 trace_0335 trace_0374 trace_0437 trace_0468 trace_0537 trace_0591 trace_0685 trace_0699 \
	trace_0736; do
	trace "kv-cache-tester/$session.json" kv-cache-tester
done
trace lengths/inference_perf_azure_trace.csv azure
trace lengths/splitwise_sim_test_trace.csv splitwise
for name in vattention_arxiv_long_offline vattention_arxiv_long_online.first2000 \
	vattention_arxiv_sample_floats.first500 vidur_arxiv_summarization.first2000 vidur_splitwise_conv.first2000; do
	trace "lengths/$name.csv" vidur
done
trace mooncake/conversation_trace.jsonl mooncake
trace mooncake/synthetic_trace.jsonl mooncake
trace ragpulse/ragpulse_trace.first600.jsonl ragpulse
for client in deepseek-r1_chunk-17 deepseek-r1_chunk-37 deepseek-r1_chunk-53 mm-image_chunk-0 mm-image_chunk-2 \
	mm-image_chunk-21; do
	trace "servegen/servegen_$client-trace.csv" servegen
done
trace servegen/servegen_m-large_chunk-57-trace.first2000.csv servegen 20000
trace servegen/servegen_m-large_chunk-76-trace.first2000.csv servegen 20000
trace servegen/servegen_offline_trace_a.first93_transcribed.jsonl servegen-offline
trace tracelab/tracelab_multi_session_example.csv tracelab
trace tracelab/tracelab_multi_session_large.csv tracelab
trace tracelab/tracelab_session_workload_example.csv tracelab
trace tracelab/tracelab_sanitized_round_trace.jsonl tracelab-rounds
trace vllm-measured/sharegpt-llama-3.1-8b-300-sps10.blk16.jsonl llmservingsim
trace vllm-measured/vllm_measured_RTX4090_Llama-3.1-8B_requests.jsonl llmservingsim
trace vllm-measured/vllm_measured_RTXPRO6000_Llama-3.1-8B_requests.jsonl llmservingsim

for table in 1_sys_prompt 2_passages 3_history 4_user_input 5_web_search; do
	beside "ragpulse/ragpulse_$table.referenced.jsonl" 'a table of RAGPulse chunk lengths'
done
for client in deepseek-r1_chunk-17 m-large_chunk-57 mm-image_chunk-21; do
	beside "servegen/servegen_$client-dataset.json" 'the length distributions of a ServeGen client'
done
for card in RTX4090 RTXPRO6000; do
	beside "vllm-measured/vllm_measured_${card}_Llama-3.1-8B_meta.json" 'the settings of a measured run'
	beside "vllm-measured/vllm_measured_${card}_Llama-3.1-8B_timeseries.csv" 'samples of a measured run'
done

finish
