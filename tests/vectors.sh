#!/bin/sh
# The decisions of real engines, file by file, on both engines (replay_vectors). TAP on stdout.
files="vllm.jsonl vllm-hybrid.jsonl mooncake-conv0.json mooncake-conv0_tight.json mooncake-synth0.json sglang-radix.jsonl"
echo 1..12
number=0
for file in $files; do
	for engine in production oracle; do
		number=$((number + 1))
		if [ ! -f "$KVSIM_SHARED/vectors/$file" ]; then
			echo "ok $number - $file on $engine # SKIP no vectors: configure --with-shared=DIR"
		elif said=$("$builddir/replay_vectors" --engine="$engine" "$KVSIM_SHARED/vectors/$file"); then
			echo "ok $number - $file on $engine: $said"
		else
			echo "not ok $number - $file on $engine"
			echo "$said" | cut -c 1-2000 | sed 's/^/# /'
		fi
	done
done
