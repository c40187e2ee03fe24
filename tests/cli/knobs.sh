# No dead knobs: every key of kvsim list keys changes what a run prints or writes, for some input.
. "$srcdir/tests/cli/support.sh"
cp "$srcdir/workloads/samples/chat.csv" "$scratch/t.csv"
cp "$srcdir/workloads/samples/long-documents.csv" "$scratch/long.csv"
printf 'arrival_s,prompt_tokens,output_tokens,tenant,prompt\n0,64,4,a,x:64\n9,64,4,b,x:64\n5,64,4,a,x:64\n' >"$scratch/late.csv"
printf 'arrival_s,prompt_tokens,output_tokens\n0,64,4\n1,x,4\n2,64,4\n' >"$scratch/bad.csv"
printf 'arrival_s,prompt_tokens,output_tokens,priority\n0,300,60,1\n0,300,60,5\n0,300,60,0\n0,200,60,3\n0,300,60,2\n' \
	>"$scratch/queue.csv"
printf 'arrival_s,prompt_tokens,output_tokens,priority\n0,300,60,5\n0,300,60,4\n0.05,300,60,0\n' >"$scratch/late_boss.csv"
printf 'request_id,arrival_s,prompt,output_tokens\na,0,s:100,60\nb,20,s:100 @a:60 u:40,9\n' >"$scratch/turns.csv"

printf 'request_id,arrival_s,prompt_tokens,output_tokens,after,think_s\na,0,64,4,,\nb,9,64,4,a,1\nc,0,2000,4,,\nd,5,64,4,c,1\n' \
	>"$scratch/follow.csv"
printf 'requests: 5\narrivals: "poisson,rate=1"\n' >"$scratch/load.yaml"

steps='gpu,tp,model,p_tok,p_seq,p_ctx,d_seq,d_ctx,time_ms'
printf '%s\nl4,1,llama3-8b,0,0,0,1,100,60\nl4,1,llama3-8b,0,0,0,8,8000,70\n' "$steps" >"$scratch/slow.csv"
printf '%s\nl4,1,llama3-8b,0,0,0,1,100,6\nl4,1,llama3-8b,0,0,0,8,8000,7\n' "$steps" >"$scratch/fast.csv"

tiny='--model llama-3.1-8b --latency fixed:10ms --num-gpu-blocks-override 61 --max-model-len 900'
small='--trace t.csv --model llama-3.1-8b --hardware l4 --max-model-len 8192'
queue="--trace queue.csv $tiny"
swap="$queue --preemption latest,mode=swap --swap-space 1 --swap-bandwidth 1GB/s"
seen=' '

# What a run with these arguments comes to, in one file. Of engine and policies only what happened to requests and blocks
# counts, since their names are printed anyway; of the rest all files but the manifest's account of the settings.
outcome() {
	rm -rf "$scratch/kvsim-out" "$scratch/other"
	(cd "$scratch" && eval "\"$kvsim\" run $1") >"$scratch/text" 2>&1
	echo "status $?" >>"$scratch/text"
	(cd "$scratch" && for file in text kvsim-out/* other/*; do
		case $key:$file in
		engine.*requests.csv | engine.*timeline.csv | policies.*requests.csv | policies.*timeline.csv) cat "$file" ;;
		engine.*:* | policies.*:*) ;;
		*manifest.json) sed -e '/"scenario": {/,/^  }/d' -e '/"command"/d' "$file" ;;
		*report.html) grep -v '<h3>Made by</h3>' "$file" ;;
		*'*') ;;
		*) echo "$file" && cat "$file" ;;
		esac
	done) >"$2"
}

# knob KEY BASE CHANGE
knob() {
	key=$1
	seen="$seen$1 "
	outcome "$2" "$scratch/before"
	outcome "$2 $3" "$scratch/after"
	cmp -s "$scratch/before" "$scratch/after"
	report "$([ $? -eq 1 ]; echo $?)" "$1 changes something"
}

knob model "$small" '--model llama-3.2-3b'
knob hardware "$small" '--hardware l40s'
knob engine.profile "$small" '--engine vllm-0.11'
knob engine.dtype "$small" '--dtype float32'
knob engine.quantization "$small" '--quantization fp8'
knob engine.tensor_parallel_size "$small --hardware a100-80gb" '-tp 2'
knob engine.pipeline_parallel_size "$small --hardware a100-80gb" '-pp 2'
knob engine.max_model_len "$small" '--max-model-len 2000'
knob engine.max_num_seqs "$small" '--max-num-seqs 2'
knob engine.step_order "$small" '--step-order prefill-first'
knob engine.max_num_batched_tokens "$small" '--max-num-batched-tokens 256'
knob engine.max_prefill_tokens "$small --engine sglang-2026-07 --no-enable-chunked-prefill" '--max-prefill-tokens 100'
knob engine.block_size "$small" '--block-size 64'
knob engine.gpu_memory_utilization "$small" '--gpu-memory-utilization 0.85'
knob engine.kv_cache_dtype_skip_layers "$small --kv-cache-dtype fp8" '--kv-cache-dtype-skip-layers 0,1,2,3'
knob engine.kv_cache_dtype "$small" '--kv-cache-dtype fp8'
knob engine.kv_cache_memory_bytes "$small" '--kv-cache-memory-bytes 1100M'
knob engine.num_gpu_blocks_override "$small" '--num-gpu-blocks-override 600'
knob engine.enable_prefix_caching "$small" --no-enable-prefix-caching
knob engine.enable_chunked_prefill "$queue --max-num-batched-tokens 400" --no-enable-chunked-prefill
knob engine.long_prefill_token_threshold "$small" '--long-prefill-token-threshold 64'
knob engine.watermark "$queue" '--watermark 0.5'
knob engine.swap_space "$swap" '--swap-space 4MiB'
knob engine.swap_bandwidth "$swap" '--swap-bandwidth 25GB/s'
knob engine.scheduler_reserve_full_isl "$queue --max-num-batched-tokens 64" '--set engine.scheduler_reserve_full_isl=false'
knob engine.prefix_cache_retention_interval '--trace turns.csv --model gemma-3-27b --hardware h200' \
	'--set engine.prefix_cache_retention_interval=none'
knob engine.cache_scope "--trace late.csv $tiny" '--set engine.cache_scope=tenant'
knob engine.refuse_impossible "--trace queue.csv $tiny --engine vllm-0.11 --num-gpu-blocks-override 19" \
	'--set engine.refuse_impossible=true'
knob engine.frontend "$small" '--set engine.frontend=20ms'
knob policies.allocation "$queue --no-enable-prefix-caching" '--allocation contiguous-pow2'
knob policies.admission "$queue" '--admission no-evict'
knob policies.scheduling "$queue" '--scheduling-policy shortest-prompt'
knob policies.preemption "--trace late_boss.csv $tiny --scheduling-policy priority --preemption latest" '--preemption priority'
knob policies.prefix "$small" '--prefix none'
knob policies.eviction "$small --num-gpu-blocks-override 600" '--eviction fifo'
knob workload.trace "$small" '--trace long.csv'
knob workload.generate "$small" '--set workload.generate=load.yaml'
knob workload.open_loop "--trace follow.csv $tiny" --open-loop
knob workload.go_on_after_refusal "--trace follow.csv $tiny" --go-on-after-refusal
knob workload.retries "$queue --max-num-seqs 1 --admission queue-limit,requests=1" '--retries 3'
knob workload.retry_backoff "$queue --max-num-seqs 1 --admission queue-limit,requests=1 --retries 3" '--retry-backoff 10s'
knob workload.format "$small" '--format azure'
knob workload.rows "$small" '--rows 10:20'
knob workload.warm "$small" '--warm queue.csv'
knob workload.warm_format "$small --warm queue.csv" '--set workload.warm_format=azure'
knob workload.warm_rows "$small --warm queue.csv" '--set workload.warm_rows=0:1'
knob workload.time_scale "$small" '--time-scale 0.5'
knob workload.request_rate "$small" '--request-rate 3'
knob workload.burstiness "$small --request-rate 3" '--burstiness 0.3'
knob workload.skip_bad_rows "--trace bad.csv $tiny" --skip-bad-rows
knob workload.reorder_time "--trace late.csv $tiny" '--set workload.reorder_time=1s'
knob workload.reorder_rows "--trace late.csv $tiny" '--set workload.reorder_rows=0'
knob workload.max_concurrency "$small" '--max-concurrency 2'
knob workload.default_max_tokens "$queue" '--default-max-tokens 10'
knob latency.backend "$small" '--latency fixed:30ms'
knob latency.data "$small --latency table --latency-data slow.csv" '--latency-data fast.csv'
knob seed "$small --request-rate 3" '--seed 1'
knob duration "$small" '--duration 100s'
knob warmup "$small" '--warmup 100s'
knob start_time "$small" '--start-time 2026-02-03'
knob output.dir "$small" '--out other'
knob output.write "$small" '--write summary'
knob output.events "$queue" --events
knob output.openmetrics "$small" --openmetrics
knob output.chrome_trace "$queue" --chrome-trace
knob output.timeline_interval "$small" '--timeline-interval 7s'
knob output.metric_percentiles "$small" '--metric-percentiles 42'
knob output.goodput "$small" '--goodput ttft:100'
knob output.save_result "$small" --save-result

# Invariants cost time and change nothing, as long as they hold.
key=check
seen="$seen$key "
outcome "$queue" "$scratch/before"
outcome "$queue --check" "$scratch/after"
report "$(cmp -s "$scratch/before" "$scratch/after"; echo $?)" 'check changes nothing'

"$kvsim" list keys | sed -n '2,$s/ .*//p' >"$scratch/keys"
while read -r key; do
	case $seen in
	*" $key "*) ;;
	*) report 1 "$key has no case here" ;;
	esac
done <"$scratch/keys"

finish
