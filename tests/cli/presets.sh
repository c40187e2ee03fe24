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
