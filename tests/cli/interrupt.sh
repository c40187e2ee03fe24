# SIGINT in mid-run: complete files that say partial, exit status 0; a broken pipe or trace leaves nothing.
. "$srcdir/tests/cli/support.sh"

endless() {
	awk 'BEGIN { print "arrival_s,prompt_tokens,output_tokens"; for (i = 0; i < 40000000; i++) print i / 4 ",1000,200" }'
}

(
	cd "$scratch" || exit 99
	endless 2>/dev/null | "$kvsim" run --trace - --model llama-3.1-8b --hardware h100-sxm --quiet >out 2>&1 &
	pid=$!
	for attempt in 1 2 3 4 5 6 7 8 9 10; do
		[ -e kvsim-out/summary.json.tmp ] && break
		sleep 0.2
	done
	sleep 0.3
	kill -INT "$pid"
	wait "$pid"
	echo $? >status
)
status=$(cat "$scratch/status")
expect 'an interrupted run ends well' 0 </dev/null
report "$(grep -q '"partial": true' "$scratch/kvsim-out/manifest.json"; echo $?)" 'its manifest says partial'
report "$(grep -q '"partial": true' "$scratch/kvsim-out/summary.json"; echo $?)" 'so does its summary'
report "$(tail -c 1 "$scratch/kvsim-out/requests.csv" | od -c | grep -q '\\n'; echo $?)" 'its files end with a whole line'
rm -rf "$scratch/kvsim-out"

printf 'arrival_s,prompt_tokens,output_tokens\n0,10,5\n1,10,5\n2,10,bad\n' >"$scratch/t.csv"
run run --trace t.csv --model llama-3.1-8b --hardware h100-sxm --set workload.reorder_rows=0
expect 'a bad row stops the run' 65 <<END
kvsim: t.csv:4: output_tokens: 'bad' is not a number; allowed: a whole number of tokens from 0 to 1000000000
END
report "$([ ! -e "$scratch/kvsim-out/summary.json" ] && [ ! -e "$scratch/kvsim-out/summary.json.tmp" ]; echo $?)" \
	'and leaves nothing that looks complete'

finish
