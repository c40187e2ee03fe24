# What the studies share; read by their scripts.

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# value FILE KEY: the first number of that name in a summary
value() {
	awk -v key="\"$2\":" '$1 == key { gsub(/,/, "", $2); print $2; exit }' "$1"
}

# burst REQUESTS PROMPT ANSWER ALLOWED: a trace of equal requests that arrive at once
burst() {
	awk -v n="$1" -v row="0,$2,$3,$4" \
		'BEGIN { print "arrival_s,prompt_tokens,output_tokens,max_tokens"; while (n-- > 0) print row }'
}

# draw FILE: runs the gnuplot commands on standard input with FILE as their output
draw() {
	command -v gnuplot >"$scratch/found" || { echo "no gnuplot: $1 is not drawn" >&2; return 0; }
	{
		echo "set terminal svg size 1200,520 dynamic font 'sans-serif,11'"
		echo "set output '$1'"
		echo "set datafile separator ','"
		cat
	} | gnuplot
}
