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

run run trace.csv
expect_line 'a trace is named by its option' 64 "unexpected argument 'trace.csv' (a trace is named with --trace)"

finish
