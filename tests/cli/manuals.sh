# Manual pages: one a command, and every column of the result files explained.
. "$srcdir/tests/cli/support.sh"

# Names in the list of commands or actions that a help ends with.
listed() {
	"$kvsim" $1 --help | awk '/^(Commands|Actions):$/ { inside = 1; next } !NF { inside = 0 } inside { print $1 }'
}

has_page() {
	report "$([ -s "$srcdir/sim/cli/$1.x" ] && grep -q "sim/cli/$1\.1\|%D%/cli/$1\.1" "$srcdir/sim/local.mk"; echo $?)" \
		"$1 has a page"
}

has_page kvsim
for command in $(listed ''); do
	has_page "kvsim-$command"
done
for action in $(listed trace); do
	has_page "kvsim-trace-$action"
done

run run --trace "$srcdir/workloads/samples/chat.csv" --model llama-3.1-8b --latency fixed:20ms --kv-cache-memory-bytes 8GiB --max-model-len 8k \
	--events --rows 0:20 --out a
expect_line 'a run with all files' 0 'Written to'
tr -s ' ,' '\n' <"$srcdir/sim/cli/kvsim-run.x" >"$scratch/words"
for file in requests timeline events; do
	for column in $(head -n 1 "$scratch/a/$file.csv" | tr , '\n' | sed -E 's/_(mean|max)$//; s/_(blocks|bytes)$//' | sort -u); do
		grep -qx -e "$column" -e "${column}_blocks" "$scratch/words" || echo "$file.csv: $column"
	done
done >"$scratch/missing"
report "$([ ! -s "$scratch/missing" ]; echo $?)" 'every column stands in the page of run'
sed 's/^/# /' "$scratch/missing"

finish
