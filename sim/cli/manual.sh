# Writes the manual page of a command from its own --help: manual.sh HELP2MAN KVSIM VERSION INCLUDE OUTPUT. The page's name
# is its command's, words joined by dashes; what the program cannot say stands in INCLUDE and in manual.x beside it.
set -eu
page=$(basename "$5" .1.tmp)
words=$(echo "$page" | tr - ' ')
command=${words#kvsim}
last=${command##* }

# The summary stands in the list that the level above prints.
if [ -n "$command" ]; then
	summary=$("$2" ${command% *} --help | awk -v name="$last" '$1 == name { sub(/^ *[^ ]+ +/, ""); print; exit }')
else
	summary='trace-driven simulator of LLM serving'
fi

# Headings in the first column become subsections; a wide margin keeps examples whole.
ARGP_HELP_FMT=header-col=0,rmargin=200 \
	"$1" --no-info --name="$summary" --version-string="$page (kvsim) $3" --help-option="$command --help" \
	--include="$4" --include="$(dirname "$4")/manual.x" "$2" |
	sed "/^\.B kvsim\$/{N;s|\\n\\\\fI\\\\,${command# } \\\\/\\\\fR|$command\\n|;}" >"$5"
