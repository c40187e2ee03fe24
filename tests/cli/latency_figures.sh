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

# The figures of served loads in the profiles are those of the study, and those are what it finds today (on one card, for speed).
say() {
	cases=$((cases + 1))
	[ "$1" -eq 0 ] && echo "ok $cases - $2" || echo "not ok $cases - $2"
}
served=$srcdir/results/studies/latency/served.csv
sed -n 's/[{},]//g; s/^ *- engine: /engine /p' "$srcdir"/sim/profiles/hardware/*.yaml | sed 's/://g' |
	awk '{ print $2 "," $4 "," $6 "," $8 "," $10 "," $12 "," $14 "," $16 }' | LC_ALL=C sort >"$board"
tail -n +2 "$served" | cut -d, -f2- | LC_ALL=C sort | cmp -s - "$board"
say $? 'figures of served loads in the profiles'
sh "$srcdir/results/studies/latency/served.sh" "$KVSIM_SHARED" "$builddir/kvsim" h200_sxm >"$board"
grep -e '^card' -e '^h200' "$served" | cmp -s - "$board"
say $? 'figures of served loads on h200'
echo "1..$cases"
