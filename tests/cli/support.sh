# The frame of the golden scripts: run ARGUMENT... executes kvsim in a scratch folder; expect NAME STATUS compares exit
# status and output (stdout and stderr together) with the text on standard input. finish prints the plan.
kvsim=$builddir/kvsim
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
cases=0

run() {
	(cd "$scratch" && "$kvsim" "$@") >"$scratch/out" 2>&1
	status=$?
}

report() {
	cases=$((cases + 1))
	if [ "$1" -eq 0 ]; then
		printf 'ok %d - %s\n' "$cases" "$2"
	else
		printf 'not ok %d - %s\n' "$cases" "$2"
	fi
}

expect() {
	cat >"$scratch/wanted"
	if [ "$status" -eq "$2" ] && cmp -s "$scratch/wanted" "$scratch/out"; then
		report 0 "$1"
	else
		report 1 "$1"
		echo "# exit status $status, wanted $2"
		diff "$scratch/wanted" "$scratch/out" | sed 's/^/# /'
	fi
}

# expect_line NAME STATUS TEXT: the text stands somewhere in the output.
expect_line() {
	if [ "$status" -eq "$2" ] && grep -qF -e "$3" "$scratch/out"; then
		report 0 "$1"
	else
		report 1 "$1"
		echo "# exit status $status, wanted $2 and: $3"
		sed 's/^/# /' "$scratch/out"
	fi
}

# skip NAME WHY
skip() {
	cases=$((cases + 1))
	echo "ok $cases - $1 # SKIP $2"
}

finish() {
	echo "1..$cases"
}
