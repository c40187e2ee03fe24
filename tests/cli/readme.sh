# The README's commands, as they stand there, in one scratch folder. What installs, builds or tests is not run; traces that a
# reader must download are taken from the shared folder, and without it skipped with what reads their results.
. "$srcdir/tests/cli/support.sh"
ln -s "$kvsim" "$scratch/kvsim"
ln -s "$srcdir/workloads" "$scratch/workloads"
traces=$KVSIM_SHARED/traces/azure2023
[ ! -d "$traces" ] || ln -s "$traces"/*.csv "$scratch"

skip() {
	cases=$((cases + 1))
	echo "ok $cases - $1 # SKIP $2"
}

try() {
	(cd "$scratch" && sh -c "$1") >"$scratch/out" 2>&1 </dev/null
	status=$?
	report "$([ "$status" -eq 0 ] && [ -s "$scratch/out" ]; echo $?)" "$1"
	[ "$status" -eq 0 ] || sed 's/^/# /' "$scratch/out"
}

# Commands stand on lines of their own in sh blocks.
awk '/^```/ { inside = $0 == "```sh"; next } inside && NF' "$srcdir/README.md" >"$scratch/commands"
while IFS= read -r command; do
	case $command in
	.ci/install*' && '*) try "${command##* && }" ;;
	'make check') ;;
	*azure* | *Azure*)
		if [ -d "$traces" ]; then
			try "$command"
		else
			skip "$command" 'no traces: configure --with-shared=DIR'
		fi ;;
	*) try "$command" ;;
	esac
done <"$scratch/commands"

# What the README says of the results.
for file in report.html summary.json requests.csv timeline.csv manifest.json; do
	report "$([ -s "$scratch/kvsim-out/$file" ] && grep -q "$file" "$srcdir/README.md"; echo $?)" "$file is written and named"
done
columns=$(head -n 1 "$scratch/kvsim-out/timeline.csv" | cut -d, -f 1,3,11,13)
report "$([ "$columns" = start_s,pinned_blocks_mean,cached_blocks_mean,free_blocks_mean ]; echo $?)" \
	'the columns of occupancy stand where the README says'

finish
