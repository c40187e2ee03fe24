# What kvsim says about itself: --help, --version, unknown commands and options.
. "$srcdir/tests/cli/support.sh"

run --version
expect 'version' 0 <<END
kvsim 0.1.0
END

run
expect_line 'without a command it says how to go on' 64 "Usage: kvsim"

run --help
expect_line 'the help lists the commands' 0 'run        replay one trace on one deployment'

if [ -w /dev/full ]; then
	(exec "$kvsim" --help >/dev/full) 2>"$scratch/out"
	status=$?
	expect_line 'help that cannot be written is an error' 74 'kvsim: standard output: '
fi

run rnu
expect 'an unknown command suggests the nearest' 64 <<END
kvsim: unknown command 'rnu': did you mean 'run'?
END

run simulate-everything
expect 'or lists them all' 64 <<END
kvsim: unknown command 'simulate-everything': valid are run, compare, report, list, size, check-log, trace, calibrate
END

run run --help
for option in --scenario --set --model --hardware --tensor-parallel-size --no-enable-prefix-caching --eviction --trace \
	--latency --out --write --openmetrics --force; do
	expect_line "the help of run names $option" 0 "$option"
done

# argp now and then loses the margin of a text, which then begins in the first column right below its option.
for command in run compare size check-log calibrate report list 'trace info' 'trace cache' 'trace convert' 'trace generate' \
	'trace validate'; do
	# shellcheck disable=SC2086
	run $command --help
	report "$(awk '/^[^ ]/ && before ~ /^ +-/ { exit 1 } { before = $0 }' "$scratch/out"; echo $?)" "texts have their margin: $command"
done

for option in --headroom-bytes --data-parallel-size --async --report; do
	run run --help
	if grep -qF -e "$option" "$scratch/out"; then
		report 1 "what is not built is not in the help: $option"
	else
		report 0 "what is not built is not in the help: $option"
	fi
done

run run --blok-size 16
expect 'an unknown option suggests the nearest' 64 <<END
kvsim: unknown option '--blok-size': did you mean '--block-size'?
END

run run --zzzzzzzzzz
expect 'or points to the help' 64 <<END
kvsim: unknown option '--zzzzzzzzzz': --help lists the valid ones
END

# Names of engines and benchmarks: what is here, or that nothing is. Of vLLM's, SGLang's and TensorRT-LLM's documentation.
while read -r option here; do
	run run --model llama-3.1-8b "--$option" 1
	expect_line "the option of an engine: --$option" 64 "unknown option '--$option': $here"
done <<END
tp here: --tensor-parallel-size
tp-size here: --tensor-parallel-size
context-length here: --max-model-len
page-size here: --block-size
max-running-requests here: --max-num-seqs
mem-fraction-static here: --gpu-memory-utilization, with an SGLang profile
free-gpu-memory-fraction here: --gpu-memory-utilization, with a TensorRT-LLM profile
kv-cache-free-gpu-mem-fraction here: --gpu-memory-utilization, with a TensorRT-LLM profile
num-prompts here: --rows 0:N of a trace, --set workload.generate.requests=N
cpu-offload-gb not modelled
enforce-eager not modelled
max-num-partial-prefills not modelled
max-long-partial-prefills not modelled
decode-context-parallel-size not modelled
kv-offloading-size not modelled
data-parallel-size kvsim size has it; it is not modelled here
enable-expert-parallel kvsim size has it; it is not modelled here
num-speculative-tokens kvsim size has it; it is not modelled here
async-scheduling kvsim size has it; it is not modelled here
END
run run --model llama-3.1-8b -dp 2
expect_line 'the short form too' 64 "unknown option '--data-parallel-size': kvsim size has it"
run run --mem_fraction_static=0.8
expect_line 'with underscores too' 64 "unknown option '--mem-fraction-static': here: --gpu-memory-utilization"

run run trace.csv
expect_line 'a trace is named by its option' 64 "unexpected argument 'trace.csv' (a trace is named with --trace)"

finish
