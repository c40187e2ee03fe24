# kvsim check-log: agreement, explanations, differences, and what is no log.
. "$srcdir/tests/cli/support.sh"

cat >"$scratch/good.log" <<'END'
(EngineCore pid=243) INFO Initializing a V1 LLM engine (v0.19.0) with config: model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=16384, tensor_parallel_size=1, quantization=None, kv_cache_dtype=auto
(EngineCore pid=243) INFO Model loading took 14.99 GiB memory and 14.429680 seconds
(EngineCore pid=243) INFO Available KV cache memory: 58.11 GiB
(EngineCore pid=243) INFO GPU KV cache size: 476,016 tokens
(EngineCore pid=243) INFO Maximum concurrency for 16,384 tokens per request: 29.05x
END
run check-log good.log
expect 'a log that agrees' 0 <<'END'
vLLM 0.19.0, meta-llama/Llama-3.1-8B-Instruct

 line  what                                    printed       computed  verdict    rule
    2  weights                                   14.99          14.96  agrees     from the config, tensor by tensor, within 2 %
    3  KV cache memory                           58.11          58.11  agrees     29751 blocks x 2097152 bytes
    4  KV cache tokens                          476016         476016  agrees     blocks x 16 (N = 29751)
    5  concurrency                               29.05          29.05  agrees     29751 blocks / 1024 of one request

4 agree, 0 explained, 0 differ
END

sed 's/476,016/576,016/' "$scratch/good.log" >"$scratch/bad.log"
run check-log bad.log
expect_line 'a difference without a rule exits with 1' 1 'DIFFERS'

cat >"$scratch/ranks.log" <<'END'
Available KV cache memory: 8.11 GiB
GPU KV cache size: 178,880 tokens
END
run check-log ranks.log --model qwen3-235b-a22b -tp 4
expect_line 'a rule that explains exits with 0' 0 'minimum over ranks'

run check-log --json ranks.log --model qwen3-235b-a22b -tp 4
expect_line 'JSON' 0 '"verdict": "explained"'

(cd "$scratch" && "$kvsim" check-log - <good.log >out 2>&1; echo $? >status)
status=$(cat "$scratch/status")
expect_line 'standard input' 0 '4 agree'

: >"$scratch/empty.log"
run check-log empty.log
expect_line 'an empty log' 65 'empty.log: empty: 0 lines'
echo 'Server listening on port 80' >"$scratch/other.log"
run check-log other.log
expect_line 'a log of another program' 65 'none of which vLLM, SGLang, TensorRT-LLM or llama.cpp prints'
echo 'Available KV cache memory: 8.11 GiB' >"$scratch/short.log"
run check-log short.log
expect_line 'a truncated log' 65 'nothing to compare'
run check-log no.log
expect_line 'no such file' 66 'no.log'
run check-log good.log --model no-such-model
expect_line 'an unknown model' 64 'unknown model'
run check-log good.log -tp 0
expect_line 'no ranks' 64 '--tensor-parallel-size: 0 is out of range: 1 to 1024 is allowed'
finish
