# The figures of results/studies/latency stay within their limits.
cases=0

if [ ! -d "${KVSIM_SHARED:-/nonexistent}/groundtruth" ]; then
	echo '1..0 # SKIP no shared data: configure --with-shared=DIR'
	exit 0
fi
board=$(mktemp) || exit 99
trap 'rm -f "$board"' EXIT
if ! sh "$srcdir/results/studies/latency/scoreboard.sh" "$KVSIM_SHARED" "$builddir/kvsim" >"$board"; then
	echo 'Bail out! the scoreboard failed'
	exit 99
fi
tail -n +2 "$board" >"$board.rows"
while IFS=, read -r figure measured limit verdict; do
	cases=$((cases + 1))
	case $verdict:$figure in
	ok:* | -:*) echo "ok $cases - $figure: $measured (limit $limit)" ;;
	*) echo "not ok $cases - $figure: $measured (limit $limit)" ;;
	esac
done <"$board.rows"
rm -f "$board.rows"
echo "1..$cases"
