# metrics.om: filled into a real Prometheus, and queried there as dashboards do.
. "$srcdir/tests/cli/support.sh"
if ! command -v promtool >/dev/null || ! command -v prometheus >/dev/null; then
	echo 'ok 1 - metrics in Prometheus # SKIP prometheus is not installed'
	echo '1..1'
	exit 0
fi
cp "$srcdir/workloads/samples/long-documents.csv" "$srcdir/workloads/samples/long-documents.yaml" "$scratch"
run run --scenario long-documents.yaml --out run --quiet --openmetrics --start-time 2026-03-01T12:00:00Z
expect 'a run with --openmetrics' 0 </dev/null
report "$([ "$(tail -n 1 "$scratch/run/metrics.om")" = '# EOF' ]; echo $?)" 'the file ends as it must'
promtool tsdb create-blocks-from openmetrics "$scratch/run/metrics.om" "$scratch/data" >"$scratch/blocks" 2>&1
report $? 'promtool takes it'

# The server is ours: it listens on a port that nobody else has and ends with this script.
port=$((20000 + $$ % 20000))
: >"$scratch/prometheus.yml"
prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/data" --storage.tsdb.retention.time=100y \
	--web.listen-address="127.0.0.1:$port" >"$scratch/server.log" 2>&1 &
server=$!
trap 'kill "$server"; wait "$server"; rm -rf "$scratch"' EXIT
tries=0
until promtool query instant "http://127.0.0.1:$port" 1 >/dev/null 2>&1 || [ "$tries" -ge 100 ]; do
	tries=$((tries + 1))
	sleep 0.1
done

# At the end of the run: 1,660 s after the start.
ask() {
	promtool query instant --time 2026-03-01T12:27:40.2Z "http://127.0.0.1:$port" "$1" 2>&1
}

# number NAME EXPRESSION: the value of its only result.
number() {
	ask "$1" | sed -n 's/.*=> \([^ ]*\) @.*/\1/p'
}

fact() {
	sed -n "s/^ *\"$1\": \([^,]*\),*/\1/p" "$scratch/run/summary.json" | head -n 1
}

equal() {
	report "$(awk -v a="$2" -v b="$3" 'BEGIN { exit !(a != "" && b != "" && (a - b) ^ 2 <= (1e-6 * b) ^ 2) }'; echo $?)" "$1"
}

equal 'prefix cache hits are those of the summary' "$(number vllm:prefix_cache_hits_total)" "$(fact hit_tokens)"
equal 'prefix cache queries too' "$(number vllm:prefix_cache_queries_total)" "$(fact queried_tokens)"
equal 'generated tokens too' "$(number vllm:generation_tokens_total)" "$(fact total_output_tokens)"
equal 'finished requests too' "$(number 'sum(vllm:request_success_total)')" "$(fact completed)"
equal 'the mean of a histogram is the mean of the summary' \
	"$(number '1000 * vllm:time_to_first_token_seconds_sum / vllm:time_to_first_token_seconds_count')" "$(fact mean_ttft_ms)"
equal 'the pool is all there' "$(number 'round(sum(kvsim:kv_blocks), 0.001)')" "$(fact usable_blocks)"
report "$(awk -v p="$(number 'histogram_quantile(0.99, sum by (le) (vllm:time_to_first_token_seconds_bucket))')" \
	-v q="$(fact p99_ttft_ms)" 'BEGIN { exit !(p > 20 && p <= 40 && q > 20000 && q <= 40000) }'; echo $?)" \
	'a quantile lies in the bucket of the exact one'

# What the panels of vLLM's dashboards ask for.
empty=
for query in \
	'histogram_quantile(0.99, sum by(le) (rate(vllm:e2e_request_latency_seconds_bucket{model_name="llama-3.1-70b"}[10m])))' \
	'rate(vllm:e2e_request_latency_seconds_sum[10m]) / rate(vllm:e2e_request_latency_seconds_count[10m])' \
	'rate(vllm:prompt_tokens_total{model_name="llama-3.1-70b"}[10m])' 'rate(vllm:generation_tokens_total[10m])' \
	'histogram_quantile(0.9, sum by(le) (rate(vllm:inter_token_latency_seconds_bucket[10m])))' \
	'vllm:num_requests_running{model_name="llama-3.1-70b"}' 'vllm:num_requests_waiting' \
	'histogram_quantile(0.5, sum by(le) (rate(vllm:time_to_first_token_seconds_bucket[10m])))' \
	'vllm:kv_cache_usage_perc' 'sum by(le) (increase(vllm:request_prompt_tokens_bucket[10m]))' \
	'sum by(le) (increase(vllm:request_generation_tokens_bucket[10m]))' \
	'sum by(finished_reason) (increase(vllm:request_success_total[10m]))' 'rate(vllm:request_queue_time_seconds_sum[10m])' \
	'rate(vllm:request_prefill_time_seconds_sum[10m])' 'rate(vllm:request_decode_time_seconds_sum[10m])' \
	'rate(vllm:request_max_num_generation_tokens_sum[10m])' 'vllm:num_requests_waiting_by_reason{reason="capacity"}' \
	'rate(vllm:num_preemptions_total[10m])' 'rate(vllm:prompt_tokens_cached_total[10m])' 'vllm:cache_config_info' \
	'sum by(le) (rate(vllm:iteration_tokens_total_bucket[10m]))' 'vllm:gpu_cache_usage_perc' \
	'rate(vllm:time_per_output_token_seconds_sum[10m])' 'rate(vllm:request_prefill_kv_computed_tokens_sum[10m])'; do
	ask "$query" | grep -q '=>' || empty="$empty
# no data: $query"
done
report "$([ -z "$empty" ]; echo $?)" "queries of vLLM's dashboards return data"
[ -z "$empty" ] || echo "$empty"
finish
