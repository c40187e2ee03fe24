# No dead options: every option that kvsim size --help shows changes what it prints, for some input.
. "$srcdir/tests/cli/support.sh"
printf 'arrival_s,prompt_tokens,output_tokens\n0,1000,100\n1,2000,100\n9,3000,100\n3,x,100\n' >"$scratch/bad.csv"
printf 'arrival_s,prompt_tokens,output_tokens\n0,1000,100\n1,2000,100\n' >"$scratch/good.csv"
printf 'engine: {block_size: 32}\n' >"$scratch/other.yaml"

plain='--model llama-3.1-8b --gpu-memory 80GiB'
hybrid='--model qwen3-next-80b-a3b --gpu-memory 80GiB -tp 4'
draft="'{\"model\": \"llama-3.2-1b\", \"num_speculative_tokens\": 3}'"
seen=' '

# knob OPTION BASE CHANGE [STATUS]
knob() {
	seen="$seen$1 "
	(cd "$scratch" && eval "\"$kvsim\" size $2") >"$scratch/before" 2>&1
	(cd "$scratch" && eval "\"$kvsim\" size $2 $3") >"$scratch/after" 2>&1
	[ $? -eq "${4:-0}" ] && ! cmp -s "$scratch/before" "$scratch/after"
	report $? "$1 changes something"
}

knob model "$plain" '--model llama-3.2-3b'
knob hardware '--model llama-3.1-8b --hardware l40s' '--hardware h200'
knob scenario "$plain" '--scenario other.yaml'
knob set "$plain" '--set engine.block_size=32'
knob engine "$plain" '--engine vllm-0.11'
knob dtype "$plain" '--dtype float32'
knob quantization "$plain" '--quantization fp8'
knob tensor-parallel-size "$plain" '-tp 2'
knob pipeline-parallel-size "$plain" '-pp 2'
knob data-parallel-size "$plain" '-dp 2'
knob max-model-len "$plain" '--max-model-len 4096'
knob max-num-seqs "$plain" '--max-num-seqs 64'
knob max-num-batched-tokens "$plain" '--max-num-batched-tokens 16384'
knob block-size "$plain" '--block-size 32'
knob gpu-memory-utilization "$plain" '--gpu-memory-utilization 0.8'
knob kv-cache-dtype "$plain" '--kv-cache-dtype int4_g32'
knob kv-cache-dtype-skip-layers "$plain --kv-cache-dtype fp8" '--kv-cache-dtype-skip-layers 0'
knob kv-cache-memory-bytes "$plain" '--kv-cache-memory-bytes 20GiB'
knob num-gpu-blocks-override "$plain" '--num-gpu-blocks-override 9999'
knob enable-prefix-caching "$hybrid" '--enable-prefix-caching'
knob no-enable-prefix-caching "$hybrid --enable-prefix-caching" '--no-enable-prefix-caching'
knob enable-chunked-prefill "$plain --no-enable-chunked-prefill" '--enable-chunked-prefill'
knob no-enable-chunked-prefill "$plain" '--no-enable-chunked-prefill'
knob trace "$plain" '--trace good.csv'
knob format "$plain --trace good.csv" '--format azure' 65
knob rows "$plain --trace good.csv" '--rows 0:1'
knob skip-bad-rows "$plain --trace bad.csv" '--skip-bad-rows'
knob gpu-memory "$plain" '--gpu-memory 90GiB'
knob weights-bytes "$plain" '--weights-bytes 9GiB'
knob activation-bytes "$plain" '--activation-bytes 9GiB'
knob reserve-bytes "$plain" '--reserve-bytes 9GiB'
knob headroom-bytes "$plain" '--headroom-bytes 9GiB'
knob sequences "$plain" '--sequences 5'
knob length "$plain" '--length 1000'
knob enable-expert-parallel '--model qwen3-30b-a3b --gpu-memory 80GiB -tp 1 -dp 4 --engine sglang-2026-07' '--enable-expert-parallel'
knob num-speculative-tokens '--model deepseek-v3 --gpu-memory 180GiB -tp 8' '--num-speculative-tokens 1'
knob speculative-config "$plain" "--speculative-config $draft"
knob async-scheduling '--model gemma-3-27b --gpu-memory 80GiB' '--async-scheduling'
knob disable-hybrid-kv-cache-manager '--model gemma-3-27b --gpu-memory 80GiB' '--disable-hybrid-kv-cache-manager'
knob sensitivity "$plain" '--sensitivity'
knob explain "$plain" '--explain'
knob json "$plain" '--json'
knob fail-unless-fits "$plain --sequences 1000" '--fail-unless-fits' 1

"$kvsim" size --help | sed -nE 's/^ +(-[a-zA-Z?], )?--([a-z-]+).*/\2/p' | sort -u >"$scratch/shown"
for option in $(cat "$scratch/shown"); do
	case "$seen help usage version " in
	*" $option "*) ;;
	*) report 1 "$option of the help is tried here" ;;
	esac
done
report "$([ "$(wc -l <"$scratch/shown")" -gt 35 ]; echo $?)" 'the help was read'
finish
