#include "config.h"

#include <string.h>

#include "sim/sizing/log_check.h"
#include "tests/support.h"

static struct kv_log *parse(const char *text)
{
	struct kv_error err;
	struct kv_log *log = kv_log_parse(text, strlen(text), "log", &err);

	ck_assert_msg(log != NULL, "%s", err.text);
	return log;
}

#define VLLM_019 \
	"(EngineCore pid=243) INFO 04-22 01:47:25 [core.py:105] Initializing a V1 LLM engine (v0.19.0) with config: " \
	"model='meta-llama/Llama-3.1-8B-Instruct', speculative_config=None, dtype=torch.bfloat16, max_seq_len=16384, " \
	"tensor_parallel_size=1, pipeline_parallel_size=1, quantization=None, kv_cache_dtype=auto, device_config=cuda\n" \
	"(EngineCore pid=243) INFO [gpu_model_runner.py:4820] Model loading took 14.99 GiB memory and 14.42 seconds\n" \
	"(EngineCore pid=243) DEBUG Memory profiling takes 17.96 seconds. Total non KV cache memory: 17.12GiB; torch " \
	"peak memory increase: 1.89GiB; non-torch forward increase memory: 0.25GiB; weights memory: 14.99GiB.\n" \
	"(EngineCore pid=243) INFO [gpu_worker.py:436] Available KV cache memory: 58.11 GiB\n" \
	"(EngineCore pid=243) INFO [kv_cache_utils.py:1319] GPU KV cache size: 476,016 tokens\n" \
	"(EngineCore pid=243) INFO Maximum concurrency for 16,384 tokens per request: 29.05x\n" \
	"(EngineCore pid=243) DEBUG Free memory on device (78.68/79.19 GiB) on startup. Desired GPU memory utilization " \
	"is (0.95, 75.23 GiB). Actual usage is 14.99 GiB for weight, 1.89 GiB for peak activation, 0.25 GiB for " \
	"non-torch memory, and 0.91 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with " \
	"`--kv-cache-memory=61258029056` (57.05 GiB) to fit into requested memory, or `--kv-cache-memory=64959076352` " \
	"(60.5 GiB) to fully utilize gpu memory. Current kv cache memory in use is 58.11 GiB.\n"

#define VLLM_V0 \
	"INFO 03-25 21:32:47 model_runner.py:1116] Loading model weights took 14.9888 GB\n" \
	"INFO 03-25 21:32:48 worker.py:266] the current vLLM instance can use total_gpu_memory (22.07GiB) x " \
	"gpu_memory_utilization (0.90) = 19.86GiB\n" \
	"INFO 03-25 21:32:48 worker.py:266] model weights take 14.99GiB; non_torch_memory takes 0.05GiB; PyTorch " \
	"activation peak memory takes 0.22GiB; the rest of the memory reserved for KV Cache is 4.60GiB.\n" \
	"INFO 03-25 21:32:48 executor_base.py:108] # CUDA blocks: 2356, # CPU blocks: 2048\n" \
	"INFO 03-25 21:32:48 executor_base.py:113] Maximum concurrency for 131072 tokens per request: 0.29x\n" \
	"ERROR 03-25 21:32:48 engine.py:387] The model's max seq len (131072) is larger than the maximum number of " \
	"tokens that can be stored in KV cache (37696). Try increasing `gpu_memory_utilization`\n"

START_TEST(numbers_are_found_by_their_wording)
{
	struct kv_log *log = parse(VLLM_019);

	ck_assert_int_eq(log->engine, KV_LOG_VLLM);
	ck_assert_str_eq(log->version, "0.19.0");
	ck_assert_str_eq(log->model, "meta-llama/Llama-3.1-8B-Instruct");
	ck_assert_double_eq(kv_log_get(log, KV_FACT_TOKENS)->number, 476016);
	ck_assert_double_eq(kv_log_get(log, KV_FACT_KV)->number, 58.11);
	ck_assert_double_eq_tol(kv_log_get(log, KV_FACT_KV)->half, 0.005, 1e-9);
	ck_assert_double_eq(kv_log_get(log, KV_FACT_MAX_LEN)->number, 16384);
	ck_assert_uint_eq(kv_log_get(log, KV_FACT_TOKENS)->line, 5);
	kv_log_free(log);
}
END_TEST

START_TEST(colours_carriage_returns_and_ranks_do_not_hide_them)
{
	struct kv_log *log = parse("\033[1;36m(Worker_TP1 pid=448)\033[0;0m INFO \033[32mAvailable KV cache memory: 6.87 "
	                           "GiB\033[0m\r\n(Worker_TP0 pid=447) INFO Available KV cache memory: 6.90 GiB");

	ck_assert_uint_eq(log->count[KV_FACT_KV], 2);
	ck_assert_str_eq(log->value[KV_FACT_KV][0].rank, "TP1");
	ck_assert_str_eq(log->value[KV_FACT_KV][1].rank, "TP0");
	ck_assert_double_eq(kv_log_smallest(log, KV_FACT_KV)->number, 6.87);
	kv_log_free(log);
}
END_TEST

#define QWEN3_14B(gib, tokens, concurrency) \
	"Available KV cache memory: " gib " GiB\nGPU KV cache size: " tokens " tokens\n" \
	"Maximum concurrency for 32,768 tokens per request: " concurrency "x\n"

/* A log or a part of one, the model, and what the checks must say. */
static const struct {
	const char *text, *model, *cache;
	uint32_t tp;
	unsigned agree, explained, differ;
	const char *rule;
} logs[] = {
	{VLLM_019, "llama-3.1-8b", NULL, 0, 8, 0, 0, "29751 blocks x 2097152 bytes"},
	{VLLM_019, NULL, NULL, 0, 5, 0, 0, "150 MiB"},
	{VLLM_V0, NULL, NULL, 0, 5, 0, 0, "4 GiB of swap"},
	{VLLM_V0, "llama-3.1-8b", NULL, 0, 8, 0, 0, "the longest request whose blocks fit"},
	/* a number that was changed by hand */
	{"Available KV cache memory: 58.11 GiB\nGPU KV cache size: 576,016 tokens\n", "llama-3.1-8b", NULL, 0, 0, 0, 1,
	 "no rule that is known"},
	{"Available KV cache memory: 8.11 GiB\nGPU KV cache size: 178,880 tokens\n", "qwen3-235b-a22b", NULL, 4, 0, 2, 0,
	 "minimum over ranks"},
	{"max seq len (221000), (10.12 GiB KV cache is needed, which is larger than the available KV cache memory (5.59 "
	 "GiB). Based on the available memory, the estimated maximum model length is 122080.",
	 "qwen3-30b-a3b", NULL, 0, 2, 1, 0, "the KV cache is fp8"},
	{"Available KV cache memory: 0.71 GiB\nGPU KV cache size: 5,632 tokens\n", "llama-3.1-8b", NULL, 0, 0, 2, 0,
	 "blocks of 256 tokens"},
	/* 15.6 times the latent: 27 layers x 16 heads x (192 + 192) x 2 bytes */
	{"Available KV cache memory: 10.13 GiB\nGPU KV cache size: 32,784 tokens\n", "deepseek-v2-lite", NULL, 0, 0, 2, 0,
	 "MLA is not recognised"},
	{"Available KV cache memory: 5.38 GiB\nGPU KV cache size: 78,384 tokens\n", "gpt-oss-120b", NULL, 0, 2, 0, 0,
	 "blocks // 2 groups x 16, as logged before 0.21"},
	{"Add 3 padding layers, may waste at most 6.25% KV cache memory\nSetting attention block size to 1600 tokens "
	 "to\nAvailable KV cache memory: 11.05 GiB\nGPU KV cache size: 623,873 tokens\nMaximum concurrency for 262,144 "
	 "tokens per request: 2.38x\n",
	 "qwen3.5-27b", "fp8", 2, 5, 0, 0, "426 blocks / 179 of one request"},
	{"Estimated CUDA graph memory: 0.37 GiB total\nCUDA graph memory profiling is enabled (default since v0.21.0). The "
	 "current --gpu-memory-utilization=0.9500 is equivalent to --gpu-memory-utilization=0.9417 without CUDA graph "
	 "memory profiling. To maintain the same effective KV cache size as before, increase --gpu-memory-utilization to "
	 "0.9583.",
	 NULL, NULL, 0, 1, 0, 0, "graphs take"},
	{"Free memory on device (61.13/61.28 GiB) on startup. Desired GPU memory utilization is (0.9, 55.15 GiB). Actual "
	 "usage: 1.13 GiB for weights, 0.22 GiB for peak activation, 0.01 GiB for non-torch memory, 0.1 GiB for NPU graph "
	 "memory. Current KV cache memory: 53.78 GiB.",
	 NULL, NULL, 0, 2, 0, 0, "requested - weights"},
	{"[2025-03-08 12:29:21 TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=6.09 GB, mem "
	 "usage=15.54 GB.\n[2025-03-08 12:29:21 TP0] KV Cache is allocated. #tokens: 46611, K size: 1.42 GB, V size: 1.42 "
	 "GB\n",
	 "qwen2.5-32b", NULL, 4, 3, 0, 0, "half the bytes of a token"},
	{"[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 22.18 GiB, available: "
	 "1.42 GiB\n[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 82\n[TensorRT-LLM][INFO] Number of "
	 "tokens per block: 64.\n[TensorRT-LLM][INFO] [MemUsageChange] Allocated 1.28 GiB for max tokens in paged KV cache "
	 "(5248).\n",
	 NULL, NULL, 0, 2, 0, 0, "0.9 x what is free"},
	{"llama_kv_cache: size = 1152.00 MiB (131072 cells, 8 layers, 1/1 seqs), K (q4_0):  576.00 MiB, V (q4_0):  576.00 "
	 "MiB\nprint_info: n_embd_k_gqa     = 1024\n",
	 NULL, NULL, 0, 2, 0, 0, "layers x cells x width"},
	{"llama_context: n_ctx     = 4096\nllama_context: n_ubatch  = 1024\nprint_info: n_swa = 512\nllama_kv_cache: size "
	 "=   60.00 MiB (  1536 cells,  20 layers,  1/1 seqs), K (f16):   30.00 MiB, V (f16):   30.00 MiB\n",
	 NULL, NULL, 0, 2, 0, 0, "windowed cells"},
	/* vllm-project/vllm#44376: release 0.22, before pages of compressed layers were packed by size */
	{"To serve at least one request with the model's max seq len (30000), (6.66 GiB KV cache is needed, which is "
	 "larger than the available KV cache memory (5.44 GiB). Based on the available memory, the estimated maximum model "
	 "length is 13528.",
	 "deepseek-v4-flash", "fp8", 2, 2, 1, 0, "in tuples, as until 2026-06"},
	/* #10511: a table with tabs */
	{"worker.py:243] total_gpu_memory\t 79.22GiB\nworker.py:243] gpu_memory_utilization\t 0.90\nworker.py:243] the "
	 "current vLLM instance can use\t 71.29GiB\nworker.py:243] model weights take\t 14.96GiB\nworker.py:243] "
	 "non_torch_memory\t 1.79GiB\nworker.py:243] PyTorch activation peak memory\t 1.26GiB\nworker.py:243] "
	 "available_kv_cache_memory\t 53.29GiB\n",
	 "llama-3.1-8b", NULL, 0, 3, 0, 0, "requested - weights"},
	/* #10517, where the first sign of a line was lost */
	{"kv_cache_size=3.81GiB gpu_memory_utilization=0.90\nGPU blocks: 1952, # CPU blocks: 2048\nMaximum concurrency for "
	 "20000 tokens per request: 1.56x\n",
	 "llama-3.1-8b", NULL, 0, 3, 0, 0, "1952 blocks / 1250"},
	/* #12569 and OpenRLHF/OpenRLHF#336: blocks alone */
	{"Loading model weights took 67.7229 GB\n# GPU blocks: 1381\nMaximum concurrency for 2048 tokens per request: "
	 "10.79x\n",
	 NULL, NULL, 0, 1, 0, 0, "tokens / maximum length"},
	{"(LLMRayActor pid=20770) INFO # GPU blocks: 378, # CPU blocks: 1638\nmodel's max seq len (8192) is larger than "
	 "the maximum number of tokens that can be stored in KV cache (6048).",
	 "llama-3.1-70b", NULL, 2, 3, 0, 0, "4 GiB of swap"},
	/* #27508: 1,024 batched tokens */
	{"models's max seq len (131072), (4.54 GiB KV cache is needed, which is larger than the available KV cache memory "
	 "(1.71 GiB).",
	 "gpt-oss-120b", NULL, 0, 2, 0, 0, "blocks of one request x page"},
	/* #25760: an fp8 cache, two draft tokens and the prediction layer */
	{"(Worker_TP2_EP2 pid=67) Available KV cache memory: 1.53 GiB\n(Worker_TP0_EP0 pid=65) Available KV cache memory: "
	 "1.53 GiB\nAdd 3 padding layers, may waste at most 8.33% KV cache memory\nGPU KV cache size: 61,600 tokens\n",
	 "qwen3-next-80b-a3b", NULL, 4, 1, 2, 0, "blocks // 4 groups x 560"},
	/* #34076, #32105 (without its model) */
	{"models's max seq len (262144), (24.0 GiB KV cache is needed, which is larger than the available KV cache memory "
	 "(3.18 GiB). Based on the available memory, the estimated maximum model length is 34736.",
	 "qwen3-30b-a3b", NULL, 0, 3, 0, 0, "the longest request whose blocks fit"},
	{"models's max seq len (202752), (71.16 GiB KV cache is needed, which is larger than the available KV cache memory "
	 "(28.57 GiB). Based on the available memory, the estimated maximum model length is 81392.",
	 NULL, NULL, 0, 1, 0, 0, "whole blocks"},
	/* sgl-project/sglang#18263, noonghunna/club-3090#1261 (with the drafter's pool), sglang#18039 */
	{"KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1669816, K size: 76.44 GB, V size: 76.44 GB\n",
	 "qwen3-30b-a3b", NULL, 0, 2, 0, 0, "half the bytes of a token"},
	{"[TP0] KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 454112, K size: 3.46 GB, V size: 3.46 "
	 "GB\n[TP0] KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 454112, K size: 1.08 GB, V size: 1.08 GB\n",
	 "qwen3.5-27b", NULL, 2, 2, 0, 0, "half the bytes of a token"},
	{"Use sliding window memory pool. full_layer_tokens=375360, swa_layer_tokens=300288\nKV Cache is allocated. "
	 "#tokens: 300288, K size: 8.38 GB, V size: 5.59 GB\n",
	 NULL, NULL, 0, 1, 1, 0, "0.8 x the tokens of full layers"},
	/* NVIDIA/TensorRT-LLM#2268 (Qwen1.5-7B has Qwen-7B's attention), #1400 */
	{"Memory usage when calculating max tokens in paged kv cache: total: 39.39 GiB, available: 21.89 GiB\nNumber of "
	 "blocks in KV cache primary pool: 631\n",
	 "qwen-7b", NULL, 0, 0, 1, 0, "if it has 64 tokens"},
	{"Allocate 69524783104 bytes for k/v cache. \nUsing 132608 tokens in paged KV cache.\n", "llama-2-7b", NULL, 0, 1,
	 0, 0, "tokens x bytes of a token"},
	{"Allocate 69524783104 bytes for k/v cache. \nUsing 132608 tokens in paged KV cache.\n", NULL, NULL, 0, 1, 0, 0,
	 "whole bytes a token"},
	{"Max KV cache blocks per sequence: 65 [window size=2051], tokens per block=32, primary blocks=116617, secondary "
	 "blocks=0\nNumber of tokens per block: 32.\nAllocated 78.30 GiB for max tokens in paged KV cache (3731744).\n",
	 NULL, NULL, 0, 1, 0, 0, "blocks x 32"},
	/* ggml-org/llama.cpp#11200, over two devices, and with one of them missing */
	{"llama_kv_cache_init: layer 4: n_embd_k_gqa = 1024, n_embd_v_gqa = 1024\nllama_kv_cache_init: kv_size = 32768, "
	 "offload = 1, type_k = 'q8_0', type_v = 'q8_0', n_layer = 64, can_shift = 1\nllama_kv_cache_init:      CUDA0 KV "
	 "buffer size =  2788.00 MiB\nllama_kv_cache_init:      CUDA1 KV buffer size =  1564.00 "
	 "MiB\nllama_new_context_with_model: KV self size  = 4352.00 MiB, K (q8_0): 2176.00 MiB, V (q8_0): 2176.00 MiB\n",
	 NULL, NULL, 0, 3, 0, 0, "spread over devices"},
	{"llama_kv_cache_init:      CUDA0 KV buffer size =  2788.00 MiB\nllama_new_context_with_model: KV self size  = "
	 "4352.00 MiB, K (q8_0): 2176.00 MiB, V (q8_0): 2176.00 MiB\n",
	 NULL, NULL, 0, 1, 1, 0, "lines of other devices are missing"},
	/* #15928: one line a rank, none named */
	{"[kv_cache_utils.py:566] GPU KV cache size: 107,824 tokens\n[kv_cache_utils.py:569] Maximum concurrency for "
	 "32,768 tokens per request: 3.29x\n[kv_cache_utils.py:566] GPU KV cache size: 107,312 "
	 "tokens\n[kv_cache_utils.py:569] Maximum concurrency for 32,768 tokens per request: "
	 "3.27x\n[kv_cache_utils.py:566] GPU KV cache size: 107,392 tokens\n[kv_cache_utils.py:569] Maximum concurrency "
	 "for 32,768 tokens per request: 3.28x\n",
	 "deepseek-v3", NULL, 8, 2, 1, 0, "6707 blocks / 2048 of one request"},
	/* two data parallel engines; a start that a second one follows */
	{"(EngineCore_DP0 pid=11) GPU KV cache size: 42,656 tokens\n(EngineCore_DP0 pid=11) Maximum concurrency for 32,768 "
	 "tokens per request: 1.30x\n(EngineCore_DP1 pid=12) GPU KV cache size: 58,976 tokens\n(EngineCore_DP1 pid=12) "
	 "Maximum concurrency for 32,768 tokens per request: 1.80x\n",
	 "qwen3-14b", NULL, 0, 2, 0, 0, "2666 blocks / 2048 of one request"},
	{"Initializing a V1 LLM engine (v0.15.0) with config: model='m'\nAvailable KV cache memory: 9.00 GiB\nGPU KV cache "
	 "size: 58,976 tokens\nInitializing a V1 LLM engine (v0.15.0) with config: model='m'\nAvailable KV cache memory: "
	 "6.51 GiB\nGPU KV cache size: 42,656 tokens\n",
	 "qwen3-14b", NULL, 0, 2, 0, 0, "2666 blocks x 2621440 bytes"},
	/* SergiioB/intel-arc-pro-b70-inference-cookbook#4 (wrapped by a terminal), kaito-project/kaito#2132 */
	{"max seq len (100000), (4.26 GiB KV cach\ne is needed, which is larger than the available KV cache memory (4.25 "
	 "GiB). Based on the available memory, the estimated maximum model length is 99648.",
	 NULL, NULL, 0, 1, 0, 0, "whole blocks"},
	{"model's max seq len (1048576),\n22.5 GiB KV cache is needed, which is larger than the available KV cache memory "
	 "(17.39 GiB).\nBased on the available memory, the estimated maximum model length is 810208.",
	 NULL, NULL, 0, 1, 0, 0, "whole blocks"},
	/* hybrid models of club-3090, four lines of 72 columns; without the model only that it is one can be said */
	{"models's max seq len (64000),\n(2.23 GiB KV cache is needed, which is larger than the available KV cache "
	 "memory\n(2.13 GiB). Based on the available memory, the estimated maximum model length\nis 59136.\n",
	 NULL, NULL, 0, 0, 1, 0, "hybrid"},
	/* thousands by no-break spaces (narrow and wide), points and underscores; a decimal comma */
	{"Available KV cache memory: 6,51 GiB\r\nGPU KV cache size: 42\u202f656 tokens\r\nMaximum concurrency for "
	 "32\u00a0768 tokens per request: 1.30x\r\n",
	 "qwen3-14b", NULL, 0, 3, 0, 0, "2666 blocks / 2048"},
	{"GPU KV cache size: 42.656 tokens\nMaximum concurrency for 32_768 tokens per request: 1.30x\n", "qwen3-14b", NULL,
	 0, 2, 0, 0, "2666 blocks / 2048"},
	{"{\"message\":\"\\u001b[36mAvailable KV cache memory: 6.51 GiB\\u001b[0m\"}\n{\"message\":\"GPU KV cache size: "
	 "42,656 tokens\"}\n",
	 "qwen3-14b", NULL, 0, 2, 0, 0, "2666 blocks x 2621440 bytes"},
	/* TensorRT-LLM 1.x, PyTorch backend: (119.70 - 113.65 + 0.56) x 0.9; its blocks hold 86720 tokens of 73,728 bytes
	 */
	{"Peak memory during memory usage profiling (torch + non-torch): 113.65 GiB, available KV cache memory when "
	 "calculating max tokens: 5.95 GiB, fraction is set 0.8999999761581421, kv size is 73728. device total memory "
	 "119.70 GiB, , tmp kv_mem 0.56 GiB\nEstimated max memory in KV cache : 5.95 GiB\nNumber of tokens per block: "
	 "32.\nAllocated 5.95 GiB for max tokens in paged KV cache (86720).\n",
	 NULL, NULL, 0, 4, 0, 0, "peak + KV cache of the profiling run"},
	{"Memory usage when calculating max tokens in paged kv cache: total: 22.18 GiB, available: 1.42 GiB\nAllocated "
	 "1.21 GiB for max tokens in paged KV cache (4960).\n",
	 NULL, NULL, 0, 0, 1, 0, "0.85 x what is free"},
	/* eight sequences with cells of their own: DeepSeek-Coder-V2-Lite, 27 layers x 16 heads x (192 + 128) x 2,048 x 8
	 */
	{"print_info: n_embd_k_gqa     = 3072\nllama_kv_cache: size = 4320.00 MiB (  2048 cells,  27 layers,\n 8/8 seqs), "
	 "K (f16): 2592.00 MiB, V (f16): 1728.00 MiB\n",
	 NULL, NULL, 0, 2, 0, 0, "layers x cells x width"},
	/* #13061: the other rank has 1.2 GiB less; #13596; #17122 */
	{"(VllmWorkerProcess pid=1786) Loading model weights took 13.9476 GB\nmodel weights take 13.95GiB; "
	 "non_torch_memory takes 0.25GiB; PyTorch activation peak memory takes 0.19GiB; the rest of the memory reserved "
	 "for KV Cache is 8.69GiB.\nThe model's max seq len (131072) is larger than the maximum number of tokens that can "
	 "be stored in KV cache (81536).",
	 "qwen2.5-14b", NULL, 2, 2, 1, 0, "5096 blocks x 1572864 bytes: blocks are the minimum over ranks"},
	{"# GPU blocks: 127626\nMaximum concurrency for 2048 tokens per request: 997.08x\nGPU KV cache size: 2,042,016 "
	 "tokens\nMaximum concurrency for 2,048 tokens per request: 997.08x\n",
	 NULL, NULL, 0, 2, 0, 0, "blocks x 16"},
	{"Model loading took 14.9889 GiB and 3.652170 seconds\nGPU KV cache size: 158,656 tokens\nMaximum concurrency for "
	 "32,768 tokens per request: 4.84x\n",
	 "llama-3.1-8b", NULL, 0, 3, 0, 0, "9916 blocks / 2048 of one request"},
	/* #16118: chunked layers held whole contexts then; #14447: DeepSeek-R1 in AWQ over 16 ranks */
	{"models's max seq len (1048576), (24.00 GiB KV cache is needed, which is larger than the available KV cache "
	 "memory (9.97 GiB).",
	 "llama-4-scout", NULL, 8, 1, 1, 0, "the hybrid manager is off"},
	{"(VllmWorkerProcess pid=507) the current vLLM instance can use total_gpu_memory (23.58GiB) x "
	 "gpu_memory_utilization (0.99) = 23.35GiB\n(VllmWorkerProcess pid=507) model weights take 21.21GiB; "
	 "non_torch_memory takes 0.20GiB; PyTorch activation peak memory takes 0.37GiB; the rest of the memory reserved "
	 "for KV Cache is 1.57GiB.\n",
	 "deepseek-v3", NULL, 16, 2, 1, 0, "4 bits (AWQ)"},
	/* four stages of 20 layers, 29.00 GiB / (20 x 4,096 x 16 bytes) = 23,756 blocks */
	{"LLM engine (v0.15.0) with config: model='m', tensor_parallel_size=1, pipeline_parallel_size=4,\n(Worker_PP0 "
	 "pid=10) Available KV cache memory: 30.00 GiB\n(Worker_PP3 pid=13) Available KV cache memory: 29.00 "
	 "GiB\n(Worker_PP1 pid=11) Available KV cache memory: 30.50 GiB\nGPU KV cache size: 380,096 tokens\n",
	 "llama-3.1-70b", NULL, 0, 2, 0, 0, "23756 blocks x 1310720 bytes"},
	/* 10.00 GiB / 1,124,352 = 9,549 blocks, of which eight ranks hold different tokens; said and not said */
	{"LLM engine (v0.15.0) with config: tensor_parallel_size=8, decode_context_parallel_size=8,\nAvailable KV cache "
	 "memory: 10.00 GiB\nGPU KV cache size: 1,222,272 tokens\n",
	 "deepseek-v3", NULL, 0, 2, 0, 0, "8 ranks that share a context"},
	{"Available KV cache memory: 10.00 GiB\nGPU KV cache size: 1,222,272 tokens\n", "deepseek-v3", NULL, 8, 0, 2, 0,
	 "decode context parallelism"},
	{"Available KV cache memory: 10.00 GiB\nOverriding num_gpu_blocks=5120 with num_gpu_blocks_override=1000\nGPU KV "
	 "cache size: 16,000 tokens\n",
	 "llama-3.1-8b", NULL, 0, 1, 0, 0, "N = 1000"},
	/* two ranks in turn, each with its own memory */
	{"(Worker_TP0 pid=1) Initial free memory: 79.00 GiB; Requested memory: 0.90 (util), 71.10 GiB\n(Worker_TP1 pid=2) "
	 "Initial free memory: 78.00 GiB; Requested memory: 0.90 (util), 70.10 GiB\n(Worker_TP0 pid=1) Total non KV cache "
	 "memory: 20.00GiB; torch peak memory increase: 1.00GiB; non-torch forward increase memory: 0.25GiB; weights "
	 "memory: 18.75GiB.\n(Worker_TP1 pid=2) Available KV cache memory: 50.10 GiB\n(Worker_TP1 pid=2) Total non KV "
	 "cache memory: 20.00GiB; torch peak memory increase: 1.00GiB; non-torch forward increase memory: 0.25GiB; weights "
	 "memory: 18.75GiB.\n(Worker_TP0 pid=1) Available KV cache memory: 51.10 GiB\n",
	 NULL, NULL, 0, 1, 0, 0, "requested - weights"},
	/* ai-dynamo's guide (a Llama-3.1-8B shape); DeepSeek-Coder-V2-Lite and Qwen3.6-27B (row 77) in llama.cpp */
	{"Number of tokens per block: 64.\n[MemUsageChange] Allocated 26.91 GiB for max tokens in paged KV cache "
	 "(220480).\n",
	 "llama-3.1-8b", NULL, 0, 2, 0, 0, "tokens x bytes of a token"},
	{"Allocated 13.46 GiB for max tokens in paged KV cache (220480).\n", "llama-3.1-8b", NULL, 0, 0, 1, 0,
	 "fp8 or int8"},
	{"llama_kv_cache: size = 4320.00 MiB (  2048 cells,  27 layers,  8/8 seqs), K (f16): 2592.00 MiB, V (f16): 1728.00 "
	 "MiB\n",
	 "deepseek-v2-lite", NULL, 0, 1, 1, 0, "keys and values of every head"},
	{"llama_kv_cache: size = 16384.00 MiB (262144 cells,  16 layers,  4/1 seqs), K (f16): 8192.00 MiB, V (f16): "
	 "8192.00 MiB\nllama_memory_recurrent: size =  598.50 MiB (     4 cells,  64 layers,  4 seqs), R (f32):   22.50 "
	 "MiB, S (f32):  576.00 MiB\n",
	 "qwen3.5-27b", NULL, 0, 5, 0, 0, "sequences x recurrent states"},
	/* the same model with two states more for drafted tokens: 3 x 149.625 MiB; a third part of the state */
	{"llama_memory_recurrent: size =  448.88 MiB (     1 cells,  64 layers,  1 seqs  2 rs_seq), R (f32):   16.88 MiB, "
	 "S (f32):  432.00 MiB\n",
	 "qwen3.5-27b", NULL, 0, 3, 0, 0, "sequences x recurrent states"},
	{"llama_memory_recurrent: size =    24.00 MiB (     2 cells,  36 layers,  2 seqs  2 rs_seq), R (f32):    12.00 "
	 "MiB, S (f32):    10.00 MiB, P (f32):     2.00 MiB\n",
	 NULL, NULL, 0, 1, 0, 0, "R + S"},
	/* SGLang: 36 layers x 49 x 32 heads x 128 x 128 x 4 bytes = 3.445 GiB; 18 layers x 8 heads x 64 x 2 bytes of keys a
	   token */
	{"Mamba Cache is allocated. max_mamba_cache_size: 48, conv_state size: 0.08GB, ssm_state size: 3.45GB\nKV Cache is "
	 "allocated. #tokens: 2618868, K size: 29.97 GB, V size: 29.97 GB\n",
	 "qwen3-next-80b-a3b", NULL, 0, 4, 0, 0, "(slots + 1) x recurrent"},
	{"Use sliding window memory pool. full_layer_tokens=1000000, swa_layer_tokens=800000\nKV Cache is allocated. "
	 "#tokens: 800000, K size: 13.73 GB, V size: 13.73 GB\nKV Cache is allocated. #tokens: 1000000, K size: 17.17 GB, "
	 "V size: 17.17 GB\n",
	 "gpt-oss-120b", NULL, 0, 4, 0, 0, "a token of windowed layers"},
	{"KV Cache is allocated. #tokens: 367404, K size: 4.12 GB, V size: 4.12 GB\n", "qwen3-235b-a22b", NULL, 4, 1, 1, 0,
	 "the KV cache is fp8"},
	/* 32,768 x 196,608 bytes of swap are 6 GiB; ranks of a pipeline of which one is not in the paste: 5,302 x 4 GiB /
	   7,767 */
	{"the rest of the memory reserved for KV Cache is 3.63GiB.\n# cuda blocks: 19813, # CPU blocks: 32768\n", NULL,
	 NULL, 0, 0, 1, 0, "6 GiB of swap"},
	{"the rest of the memory reserved for KV Cache is 5.71GiB.\n(RayWorkerWrapper pid=627, ip=10.0.0.1) the rest of "
	 "the memory reserved for KV Cache is 3.58GiB.\n# cuda blocks: 5302, # CPU blocks: 7767\n",
	 NULL, NULL, 0, 0, 1, 0, "has 2.73 GiB for KV"},
	/* a budget below zero; QwenLM/Qwen3#295; guoqingbao/xinfer#195 */
	{"Available KV cache memory: -0.53 GiB\nValueError: No available memory for the cache blocks.\n", "llama-3.1-8b",
	 NULL, 0, 1, 0, 0, "refuses to start"},
	{"The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in KV cache "
	 "(7344).",
	 "qwen-7b", NULL, 0, 1, 0, 0, "459 of them are 3.59 GiB"},
	{"The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in KV cache "
	 "(7344).",
	 NULL, NULL, 0, 1, 0, 0, "whole blocks of 16 (N = 459)"},
	{"KVCache Allocation: 8192 GPU blocks (48.00 GB), max usable kvcache tokens 524288, scheduling limits [2 seqs x "
	 "262144 tokens]\n",
	 "qwen3-30b-a3b", NULL, 0, 0, 3, 0, "blocks of 64 tokens"},
	/* Llama-3.1-8B with an EAGLE head: 33 layers; Qwen3.5-27B with its prediction layer since 0.21, 936 blocks of 17
	   layers x 1,600 */
	{"Available KV cache memory: 51.63 GiB\nGPU KV cache size: 410,128 tokens\nMaximum concurrency for 131,072 tokens "
	 "per request: 3.13x\n",
	 "llama-3.1-8b", NULL, 0, 0, 3, 0, "a drafter's layer"},
	{"Available KV cache memory: 48.6 GiB\nAdd 3 padding layers, may waste at most 6.25% KV cache memory\nGPU KV cache "
	 "size: 1,394,129 tokens\nMaximum concurrency for 262,144 tokens per request: 5.32x\n",
	 "qwen3.5-27b", "fp8", 0, 4, 0, 0, "936 blocks / 176"},
	/* suggestions of 150 MiB less, where weights and non-torch memory are told together */
	{"Free memory on device (94.41/94.97 GiB) on startup. Desired GPU memory utilization is (0.97, 92.12 GiB). Actual "
	 "usage is 81.7 GiB for consumed memory (weights + non-torch), 1.78 GiB for peak activation, and 0.28 GiB for "
	 "CUDAGraph memory. Replace gpu_memory_utilization config with `--kv-cache-memory=8820325233` (8.21 GiB) to fit "
	 "into requested memory, or `--kv-cache-memory=11273977344` (10.5 GiB) to fully utilize gpu memory. Current kv "
	 "cache memory in use is 8.64 GiB.\nGPU KV cache size: 315,039 tokens, Maximum concurrency for 262,144 tokens per "
	 "request: 1.20x\n",
	 NULL, NULL, 0, 5, 0, 0, "150 MiB"},
	/* TensorRT-LLM with an fp8 cache (8,219 x 32 x 65,536 bytes), with 0.99 of what is free, and a first pool to
	   profile with */
	{"Memory usage when calculating max tokens in paged kv cache: total: 31.84 GiB, available: 17.83 GiB\nNumber of "
	 "blocks in KV cache primary pool: 8219\nNumber of tokens per block: 32.\nAllocated 16.05 GiB for max tokens in "
	 "paged KV cache (263008)\n",
	 "llama-3.1-8b", NULL, 0, 3, 1, 0, "fp8 or int8"},
	{"Number of blocks in KV cache primary pool: 8119\nNumber of tokens per block: 32.\nAllocated 16.05 GiB for max "
	 "tokens in paged KV cache (263008)\n",
	 "llama-3.1-8b", NULL, 0, 0, 1, 1, "blocks x 32"},
	{"Memory usage when calculating max tokens in paged kv cache: total: 79.10 GiB, available: 63.62 GiB\nNumber of "
	 "blocks in KV cache primary pool: 4607\nNumber of tokens per block: 64.\nAllocated 62.99 GiB for max tokens in "
	 "paged KV cache (294848).\n",
	 "mixtral-8x22b", NULL, 0, 2, 2, 0, "0.99 x what is free / bytes of a block"},
	{"[batchmgr][RANK 0] [window size=8224], tokens per block=32, primary blocks=257, secondary blocks=0, max sequence "
	 "length=9193\nAllocated 0.56 GiB for max tokens in paged KV cache (8224).\n[batchmgr][RANK 0] [window size=9193], "
	 "tokens per block=32, primary blocks=18711, secondary blocks=0, max sequence length=9193\nAllocated 41.11 GiB for "
	 "max tokens in paged KV cache (598752).\n",
	 NULL, NULL, 0, 1, 0, 0, "blocks x 32"},
	/* SGLang: Kimi's latents; DeepSeek-V3 with an fp8 cache that the line does not name */
	{"[TP0] Using KV cache dtype: torch.bfloat16\n[TP6] KV Cache is allocated. #tokens: 2454421, KV size: 160.63 "
	 "GB\n[TP2] KV Cache is allocated. #tokens: 2454421, KV size: 160.63 GB\n",
	 "kimi-k2", NULL, 8, 1, 0, 0, "tokens x bytes of a token"},
	{"[DP0 TP0 EP0] KV Cache is allocated. #tokens: 524288, KV size: 17.16 GB\n", "deepseek-v3", NULL, 8, 0, 1, 0,
	 "cache is fp8"},
	/* 6.51 GiB in MiB, and in GB of 10^9 bytes */
	{"Available KV cache memory: 6666.24 MiB\nGPU KV cache size: 42,656 tokens\n", "qwen3-14b", NULL, 0, 2, 0, 0,
	 "2666 blocks x 2621440 bytes"},
	{"Available KV cache memory: 6.99 GB\nGPU KV cache size: 42,656 tokens\n", "qwen3-14b", NULL, 0, 0, 2, 0,
	 "GB of 10^9 bytes"},
	/* Qwen3-Next on two H200, vLLM 0.10.2: 7,162 blocks // 4 x 544; suggestions and memory in bytes */
	{"Setting attention block size to 544 tokens to ensure that attention page size is >= mamba page "
	 "size.\n(EngineCore_DP0 pid=1) Initializing a V1 LLM engine (v0.10.2) with config: dtype=torch.bfloat16, "
	 "max_seq_len=262144, tensor_parallel_size=2,\n(Worker_TP1 pid=3) Model loading took 74.2812 GiB and 215.969277 "
	 "seconds\n(Worker_TP1 pid=3) Available KV cache memory: 44.59 GiB\n(Worker_TP0 pid=2) Available KV cache memory: "
	 "44.59 GiB\n(EngineCore_DP0 pid=1) GPU KV cache size: 973,760 tokens\n(EngineCore_DP0 pid=1) Maximum concurrency "
	 "for 262,144 tokens per request: 14.77x\n(Worker_TP1 pid=3) Free memory on device (139.21/139.81 GiB) on startup. "
	 "Desired GPU memory utilization is (0.9, 125.83 GiB). Actual usage is 74.28 GiB for weight, 5.58 GiB for peak "
	 "activation, 1.38 GiB for non-torch memory, and 2.37 GiB for CUDAGraph memory. Replace gpu_memory_utilization "
	 "config with `--kv-cache-memory=45175492096` to fit into requested memory, or `--kv-cache-memory=59540753920` to "
	 "fully utilize gpu memory. Current kv cache memory in use is 47878721024 bytes.\nvllm cache_config_info with "
	 "initialization after num_gpu_blocks is: 7162\n",
	 "qwen3-next-80b-a3b", NULL, 0, 10, 0, 0, "blocks // 4 groups x 544"},
	{"INFO CPU KV cache size:  65,536 tokens, Maximum concurrency for 8,192 tokens per request: 8.00x", "llama-3.1-8b",
	 NULL, 0, 2, 0, 0, "4096 blocks / 512"},
	/* Gemma-4-31B of vLLM 0.26 on one card: 74,700 blocks, 8,192 tokens in a step, asynchronous */
	{"Initializing a V1 LLM engine (v0.26.0) with config: model='google/gemma-4-31B-it', dtype=torch.bfloat16, "
	 "max_seq_len=16384,\nModel loading took 58.99 GiB memory and 91.155902 seconds\nEstimated CUDA graph memory: 0.76 "
	 "GiB total\nAvailable KV cache memory: 182.37 GiB\nCUDA graph memory profiling is enabled (default since "
	 "v0.21.0). The current --gpu-memory-utilization=0.9200 is equivalent to --gpu-memory-utilization=0.9172 without "
	 "CUDA graph memory profiling. To maintain the same effective KV cache size as before, increase "
	 "--gpu-memory-utilization to 0.9228.\nGPU KV cache size: 217,116 tokens\nMaximum concurrency for 16,384 tokens "
	 "per request: 13.25x\nFree memory on device (267.08/267.69 GiB) on startup. Desired GPU memory utilization is "
	 "(0.92, 246.27 GiB). Actual usage is 58.99 GiB for weight, 3.9 GiB for peak activation, 0.25 GiB for non-torch "
	 "memory, and 0.7 GiB for CUDAGraph memory.\n",
	 "gemma-4-31b", NULL, 0, 7, 1, 0, "74700 blocks / 5637 of one request"},
	/* DeepSeek-V2.5 over two nodes of eight, vLLM 0.8.3: 30 layers a stage, and a rank whose memory is not in the
	 * paste; a crash that repeats the config is no new start */
	{"Initializing a V0 LLM engine (v0.8.3) with config: model='m', max_seq_len=8192, tensor_parallel_size=8, "
	 "pipeline_parallel_size=2,\nthe rest of the memory reserved for KV Cache is 5.71GiB.\n(RayWorkerWrapper pid=627, "
	 "ip=10.0.0.1) model weights take 28.48GiB; non_torch_memory takes 2.15GiB; PyTorch activation peak memory takes "
	 "1.35GiB; the rest of the memory reserved for KV Cache is 3.58GiB.\n# cuda blocks: 5302, # CPU blocks: "
	 "7767\nMaximum concurrency for 8192 tokens per request: 10.36x\nDumping input data for V1 LLM engine (v0.8.3) "
	 "with config: model='m'\n",
	 "deepseek-v2", NULL, 0, 2, 3, 0, "5302 blocks x 552960 bytes"},
	/* gpt-oss-20b over four devices, 256 cells = 128 + 128; the same with four slots that share cells, and with two of
	   their own */
	{"llama_context: n_ctx         = 8192\nllama_context: n_ubatch      = 128\nprint_info: n_swa            = "
	 "128\nllama_kv_cache:       HTP1 KV buffer size =    25.50 MiB\nllama_kv_cache:       HTP3 KV buffer size =    "
	 "25.50 MiB\nllama_kv_cache:       HTP0 KV buffer size =    25.50 MiB\nllama_kv_cache:       HTP2 KV buffer size = "
	 "   25.50 MiB\nllama_kv_cache: size =  102.00 MiB (  8192 cells,  12 layers,  1/1 seqs), K (q8_0):   51.00 MiB, V "
	 "(q8_0):   51.00 MiB\nllama_kv_cache:       HTP1 KV buffer size =     0.80 MiB\nllama_kv_cache:       HTP3 KV "
	 "buffer size =     0.53 MiB\nllama_kv_cache:       HTP0 KV buffer size =     1.06 MiB\nllama_kv_cache:       HTP2 "
	 "KV buffer size =     0.80 MiB\nllama_kv_cache: size =    3.19 MiB (   256 cells,  12 layers,  1/1 seqs), K "
	 "(q8_0):    1.59 MiB, V (q8_0):    1.59 MiB\n",
	 "gpt-oss-20b", NULL, 0, 6, 0, 0, "windowed cells"},
	{"llama_context: n_ctx = 65536\nllama_context: n_ubatch = 512\nprint_info: n_swa = 128\nllama_kv_cache: size = "
	 "2304.00 MiB (65536 cells, 18 layers, 4/1 seqs), K (f16): 1152.00 MiB, V (f16): 1152.00 MiB\nllama_kv_cache: size "
	 "=   36.00 MiB ( 1024 cells, 18 layers, 4/1 seqs), K (f16): 18.00 MiB, V (f16): 18.00 MiB\n",
	 "gpt-oss-120b", NULL, 0, 5, 0, 0, "windowed cells"},
	{"llama_context: n_ctx = 16384\nllama_context: n_ubatch = 512\nprint_info: n_swa = 128\nllama_kv_cache: size = "
	 "384.00 MiB (8192 cells, 12 layers, 2/2 seqs), K (f16): 192.00 MiB, V (f16): 192.00 MiB\nllama_kv_cache: size = "
	 "36.00 MiB (768 cells, 12 layers, 2/2 seqs), K (f16): 18.00 MiB, V (f16): 18.00 MiB\n",
	 "gpt-oss-20b", NULL, 0, 5, 0, 0, "windowed cells"},
	/* forum.level1techs.com/t/225826 page 14: ik_llama.cpp's latents, with padded rows; f16 and transposed; buffers
	   alone */
	{"llama_new_context_with_model: n_ctx      = 32768\nllama_kv_cache_init:      CUDA0 KV buffer size =   612.02 "
	 "MiB\nllama_kv_cache_init:      CUDA1 KV buffer size =   554.64 MiB\nllama_new_context_with_model: KV self size  "
	 "= 1166.62 MiB, c^KV (q8_0): 1166.62 MiB, kv^T: not used\n",
	 "deepseek-v3", NULL, 0, 3, 0, 0, "61 layers"},
	{"llama_new_context_with_model: n_ctx = 32768\nllama_new_context_with_model: KV self size = 4148.00 MiB, c^KV "
	 "(f16): 2196.00 MiB, kv^T (f16): 1952.00 MiB\n",
	 "deepseek-v3", NULL, 0, 2, 0, 0, "61 layers"},
	{"llama_context: n_ctx = 32768\nllama_kv_cache: CUDA0 KV buffer size = 2176.00 MiB\n", "llama-3.1-8b", NULL, 0, 0,
	 1, 0, "32 layers of the model as q8_0"},
	{"llama_context: n_ctx = 32768\nllama_kv_cache: CUDA0 KV buffer size = 2688.00 MiB\n", "llama-3.1-8b", NULL, 0, 0,
	 1, 0, "21 of the model's 32 layers as f16"},
	{"llama_context: n_ctx = 32768\nllama_kv_cache: CUDA0 KV buffer size = 4000.00 MiB\n", "llama-3.1-8b", NULL, 0, 0,
	 0, 1, "as f16"},
	/* SergiioB/intel-arc-pro-b70-inference-cookbook#4 breaks off; #16118 without its model; one that had no reason */
	{"ValueError: To serve at least one request with the model's max seq len (100000), (4.26 GiB KV cach\ne is needed, "
	 "which is larger than the available KV cache memory (4.25 GiB). Based on the avai",
	 NULL, NULL, 0, 1, 0, 0, "more than the 4.25 GiB"},
	{"To serve at least one request with the models's max seq len (1048576), (24.00 GiB KV cache is needed, which is "
	 "larger than the available KV cache memory (9.97 GiB).\n",
	 NULL, NULL, 0, 1, 0, 0, "more than the 9.97 GiB"},
	{"To serve at least one request with the models's max seq len (1048576), (9.90 GiB KV cache is needed, which is "
	 "larger than the available KV cache memory (9.97 GiB).\n",
	 NULL, NULL, 0, 0, 0, 1, "no reason to refuse"},
	/* robotmunki.com/pages/vllm-startup-log-annotated.html: Gemma-4-31B in NVFP4 */
	{"GPU KV cache size: 1,563,739 tokens\nMaximum concurrency for 262,144 tokens per request: 5.97x\n", "gemma-4-31b",
	 NULL, 0, 2, 0, 0, "58441 blocks / 9797 of one request"},
	/* where all ranks tell their memory, none has less; one rank does not have two; 7 tokens more are no whole blocks
	 */
	{"(Worker_TP0 pid=1) Available KV cache memory: 8.11 GiB\n(Worker_TP1 pid=2) Available KV cache memory: 8.12 "
	 "GiB\n(Worker_TP2 pid=3) Available KV cache memory: 8.12 GiB\n(Worker_TP3 pid=4) Available KV cache memory: 8.12 "
	 "GiB\nGPU KV cache size: 178,880 tokens\n",
	 "qwen3-235b-a22b", NULL, 4, 0, 0, 1, "no rule that is known"},
	{"LLM engine (v0.26.0) with config: tensor_parallel_size=1,\nAvailable KV cache memory: 6.51 GiB\nCurrent kv cache "
	 "memory in use is 6.56 GiB.\nGPU KV cache size: 42,656 tokens\n",
	 "qwen3-14b", NULL, 0, 2, 0, 1, "contradicts itself"},
	{"Available KV cache memory: 11.57 GiB\nGPU KV cache size: 75,831 tokens\n", "qwen3-14b", NULL, 0, 0, 0, 1,
	 "no rule that is known"},
	/* One of three numbers altered: it alone is wrong. */
	{QWEN3_14B("6.51", "42,656", "1.30"), "qwen3-14b", NULL, 0, 3, 0, 0, "2666 blocks x 2621440 bytes"},
	{QWEN3_14B("6.51", "42,656", "2.30"), "qwen3-14b", NULL, 0, 2, 0, 1, "those of 2666 blocks of 2621440 bytes"},
	{QWEN3_14B("7.51", "42,656", "1.30"), "qwen3-14b", NULL, 0, 2, 0, 1, "those of 2666 blocks of 2621440 bytes"},
	{QWEN3_14B("6.51", "52,656", "1.30"), "qwen3-14b", NULL, 0, 2, 0, 1, " blocks of 2621440 bytes"},
	{"GPU KV cache size: 100 tokens\nGPU KV cache size: 200 tokens\nMaximum concurrency for 50 tokens per request: "
	 "4.00x\n",
	 NULL, NULL, 0, 0, 1, 1, "contradicts itself: line 1"},
	{"GPU KV cache size: 100 tokens\nMaximum concurrency for 50 tokens per request: 1.00x\n", NULL, NULL, 0, 0, 0, 1,
	 "tokens / maximum length"},
};

START_TEST(a_log_is_checked_against_itself_and_the_model)
{
	struct kv_error err;
	struct kv_log *log = parse(logs[_i].text);
	struct kv_model *model = logs[_i].model ? kv_model_load(logs[_i].model, &err) : NULL;
	struct kv_check_given given = {.model = model, .tensor_parallel = logs[_i].tp,
	                               .cache = logs[_i].cache ? kv_cache_format_find(logs[_i].cache, &err) : NULL};
	struct kv_check_list list;
	bool found = false;

	kv_log_check(log, &given, &list);
	for (size_t i = 0; i < list.count; i++)
		found |= strstr(list.check[i].rule, logs[_i].rule) != NULL;
	ck_assert_uint_eq(list.verdicts[KV_CHECK_AGREES], logs[_i].agree);
	ck_assert_uint_eq(list.verdicts[KV_CHECK_EXPLAINED], logs[_i].explained);
	ck_assert_uint_eq(list.verdicts[KV_CHECK_DIFFERS], logs[_i].differ);
	ck_assert_msg(found, "no rule '%s'", logs[_i].rule);
	kv_check_list_fini(&list);
	kv_log_free(log);
	kv_model_free(model);
}
END_TEST

/* What is no verdict stands in notes. */
static const struct {
	const char *text, *note, *model;
} noted[] = {
	{"Available KV cache memory: 6.51 GiB\nGPU KV cache size: 2,0", "line 2 breaks off after 'KV cache size'", NULL},
	{"GPU KV cache size: 42,656 tokens\nAvailable KV cache memory: 6.5",
	 "line 2 breaks off after 'Available KV cache memory'", NULL},
	{"GPU KV cache size: 42,656 tokens\nMaximum concurrency for 32,768 tokens per requ",
	 "line 2 breaks off after 'Maximum concurrency for'", NULL},
	{"GPU KV cache size: 58,976 tokens\nvLLM API server version 0.15.0\nGPU KV cache size: 42,656 tokens\n",
	 "the engine starts 2 times: the last start, from line 2 on", NULL},
	{"Available KV cache memory: 6.51 GiB\nModel loading took 27.52 GiB\n",
	 "6.51 GiB are 2664 to 2668 blocks of 2621440 bytes", "qwen3-14b"},
	{"# GPU blocks: 2666\nModel loading took 27.52 GiB\n", "2666 blocks of 2621440 bytes are 6.51 GiB", "qwen3-14b"},
	{"Available KV cache memory: 6.51 GiB\nGPU KV cache size: 42,656 tokens\n",
	 "6.51 GiB for 42656 tokens are 163745 to 163996 bytes", NULL},
};

START_TEST(what_cannot_be_checked_is_noted)
{
	struct kv_error err;
	struct kv_log *log = parse(noted[_i].text);
	struct kv_model *model = noted[_i].model ? kv_model_load(noted[_i].model, &err) : NULL;
	struct kv_check_given given = {.model = model};
	struct kv_check_list list;
	bool found = false;

	kv_log_check(log, &given, &list);
	kv_remarks_merge(&list.notes, &log->notes);
	for (size_t i = 0; i < list.notes.count; i++)
		found |= strstr(list.notes.text[i], noted[_i].note) != NULL;
	ck_assert_msg(found, "no note '%s' but %s", noted[_i].note, list.notes.count ? list.notes.text[0] : "none");
	kv_check_list_fini(&list);
	kv_log_free(log);
	kv_model_free(model);
}
END_TEST

static const char *const foreign[] = {
	"", "\n\n", "hello world\n", "GET /health 200\n", "\033[0m", "Available KV cache memory"};

START_TEST(what_is_no_start_up_log_is_refused)
{
	struct kv_error err;

	ck_assert_ptr_null(kv_log_parse(foreign[_i], strlen(foreign[_i]), "log", &err));
	ck_assert_int_eq(err.status, KV_EXIT_DATA);
	ck_assert_ptr_nonnull(strstr(err.text, "vLLM, SGLang, TensorRT-LLM or llama.cpp"));
}
END_TEST

START_TEST(a_missing_file_is_named)
{
	struct kv_error err;

	ck_assert_ptr_null(kv_log_read("/no/such/log", &err));
	ck_assert_int_eq(err.status, KV_EXIT_MISSING);
	ck_assert_ptr_nonnull(strstr(err.text, "/no/such/log"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tc = tcase_create("log");

	tcase_add_test(tc, numbers_are_found_by_their_wording);
	tcase_add_test(tc, colours_carriage_returns_and_ranks_do_not_hide_them);
	tcase_add_loop_test(tc, a_log_is_checked_against_itself_and_the_model, 0, sizeof logs / sizeof *logs);
	tcase_add_loop_test(tc, what_cannot_be_checked_is_noted, 0, sizeof noted / sizeof *noted);
	tcase_add_loop_test(tc, what_is_no_start_up_log_is_refused, 0, sizeof foreign / sizeof *foreign);
	tcase_add_test(tc, a_missing_file_is_named);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
