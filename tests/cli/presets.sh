# Every preset runs as it is, gives the same requests twice, and the same results from the trace that it generates.
. "$srcdir/tests/cli/support.sh"

"$kvsim" list presets | tail -n +2 | cut -d' ' -f1 >"$scratch/names"
for preset in $(cat "$scratch/names"); do
	run run --scenario "preset:$preset" --out a --events --quiet
	report "$status" "$preset runs"
	run trace generate "preset:$preset" -o trace.csv
	run run --scenario "preset:$preset" --trace trace.csv --out b --events --quiet
	cmp -s "$scratch/a/events.csv" "$scratch/b/events.csv" && cmp -s "$scratch/a/summary.json" "$scratch/b/summary.json"
	report $? "$preset written out gives the same results"
	rm -rf "$scratch/a" "$scratch/b"
done

for wanted in agents chat few-huge-among-many-small long-documents noisy-neighbour policy-revision rag summarise; do
	grep -qx "$wanted" "$scratch/names"
	report $? "there is a preset $wanted"
done

run run --scenario preset:chatt
expect 'an unknown preset' 66 <<END
kvsim: unknown preset 'chatt': did you mean 'chat'?
END
cp "$srcdir/workloads/presets/chat.yaml" "$scratch/my.yaml"
sed -i 's/rate=3/rat=3/' "$scratch/my.yaml"
run run --scenario my.yaml
expect 'a slip in a copy' 64 <<END
kvsim: my.yaml:11: arrivals: poisson: unknown parameter 'rat': did you mean 'rate'?
END
run trace generate preset:chat --seed 1 -o one.csv
run trace generate preset:chat -o scenario.csv
cmp -s "$scratch/one.csv" "$scratch/scenario.csv"
report $? "the seed is the scenario's"
run trace generate preset:chat --seed 2 -o two.csv
! cmp -s "$scratch/one.csv" "$scratch/two.csv"
report $? 'another seed gives other requests'

# A preset draws the same requests whatever command reads it, and however: the rows of the written file (but its header).
rows=$(($(wc -l <"$scratch/one.csv") - 1))
for command in 'trace info preset:chat' 'trace validate preset:chat' 'trace info one.csv'; do
	# shellcheck disable=SC2086
	run $command --json
	expect_line "as many requests: $command" 0 "\"requests\": $rows,"
done
run trace cache preset:chat --blocks 1 --json
expect_line 'as many requests: trace cache' 0 "\"prompts\": $rows,"
light='--model llama-3.1-8b --hardware h100-sxm --latency fixed:1ms --write summary,requests,manifest --force --quiet'
same() {
	cut -d, -f1,5,11,12 "$scratch/kvsim-out/requests.csv" | cmp -s - "$scratch/drawn"
	report $? "$1"
}
# shellcheck disable=SC2086
run run --scenario preset:chat $light
cut -d, -f1,5,11,12 "$scratch/kvsim-out/requests.csv" >"$scratch/drawn"
report "$([ "$(($(wc -l <"$scratch/drawn") - 1))" -eq "$rows" ]; echo $?)" 'as many requests: run --scenario'
# shellcheck disable=SC2086
run run --trace preset:chat $light
same 'the same requests: run --trace'
grep -q '"seed": 1,' "$scratch/kvsim-out/manifest.json"
report $? 'the manifest has the seed that was drawn with'
# shellcheck disable=SC2086
run run --trace preset:chat --seed 2 $light
report "$([ "$(($(wc -l <"$scratch/kvsim-out/requests.csv") - 1))" -eq "$(($(wc -l <"$scratch/two.csv") - 1))" ]; echo $?)" \
	'the option goes before the file'

# --set changes the load: 9 requests are 9, of two streams 5 and 7 are 12; errors name the option and what is valid.
run trace generate preset:chat --set workload.generate.requests=9 -o nine.csv
report "$([ "$(wc -l <"$scratch/nine.csv")" -eq 10 ]; echo $?)" 'a key of the load is set'
run trace generate preset:noisy-neighbour --set workload.generate.streams.1.requests=5 \
	--set workload.generate.streams.0.requests=7 -o twelve.csv
report "$([ "$(wc -l <"$scratch/twelve.csv")" -eq 13 ]; echo $?)" 'keys of streams are set'
# shellcheck disable=SC2086
run run --scenario preset:chat --set workload.generate.requests=9 $light
report "$([ "$(wc -l <"$scratch/kvsim-out/requests.csv")" -eq 10 ]; echo $?)" 'in a run too'
report "$(grep -qF '"workload.generate.requests": {"value": "9", "source": "--set"}' "$scratch/kvsim-out/manifest.json"; echo $?)" \
	'which its manifest tells'
run trace generate preset:chat --set workload.generate.duratoin=60s
expect 'a slip in a key of the load' 64 <<END
kvsim: --set workload.generate.duratoin: unknown key 'duratoin': did you mean 'duration'?
END
run trace generate preset:noisy-neighbour --set workload.generate.streams.2.requests=5
expect 'a stream that is not there' 64 <<END
kvsim: --set workload.generate.streams.2.requests: '2' is no place in a list of 2: counted from 0
END
run trace generate preset:chat --set workload.generate.requests=many
expect_line 'a value that is none' 64 "kvsim: --set workload.generate.requests: requests: 'many' is not a whole number"
# shellcheck disable=SC2086
run run --trace one.csv --set workload.generate.requests=9 $light
expect 'a trace that is no description' 64 <<END
kvsim: workload.generate.requests cannot be set: one.csv is of format kvsim, no description of a load
END
run size --model llama-3.1-8b --hardware h100-sxm --set workload.generate.requests=9
expect_line 'sizing without a load' 64 'changes nothing without a load'
printf 'arrivals: closed,clients=2\nmessage: 10\noutput: 5\nduration: 60s\n' >"$scratch/closed.yaml"
run trace generate closed.yaml
expect_line 'a closed loop needs requests' 64 'closed.yaml:1: arrivals: a closed loop needs requests; duration does not end it'
run trace generate closed.yaml --set workload.generate.requests=4
expect_line 'and no duration, which would do nothing' 64 'closed.yaml:4: duration: does not end a closed loop'

"$kvsim" trace generate - <"$srcdir/workloads/presets/chat.yaml" >"$scratch/piped.csv" 2>"$scratch/out"
cmp -s "$scratch/one.csv" "$scratch/piped.csv"
report $? 'a description can come from standard input'
run trace info --json preset:chat
sed '/"file"/d; /"format"/d' "$scratch/out" >"$scratch/described"
run trace info --json one.csv
sed '/"file"/d; /"format"/d' "$scratch/out" >"$scratch/written"
[ -s "$scratch/described" ] && ! diff "$scratch/described" "$scratch/written" | grep -q '"requests"\|"prompt_tokens"\|"last_arrival_s"'
report $? 'what is described is what is generated and run'

"$kvsim" run --scenario - <"$srcdir/workloads/presets/chat.yaml" >"$scratch/out" 2>&1
status=$?
expect_line 'a scenario with a load has to be a file' 64 'kvsim: standard input:9: generate: a load is read from its file as requests are drawn'

finish
