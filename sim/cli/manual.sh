# Writes the manual page of a command from its own --help: manual.sh HELP2MAN KVSIM VERSION INCLUDE OUTPUT. INCLUDE is
# named after the page, the page after its command with dashes between words; what the program cannot say stands in INCLUDE
# and in manual.x beside it. See also: the pages of all other files like INCLUDE in its folder.
set -eu
page=$(basename "$4" .x)

# The summary of a command, from the list that the help of the one above it ($1, or nothing) ends with.
summary_of() {
	"$kvsim" $1 --help | awk -v name="$2" '$1 == name { sub(/^ *[^ ]+ +/, ""); print; exit }'
}

kvsim=$2
command=${page#kvsim}
command=${command#-}
if [ -z "$command" ]; then
	summary='trace-driven simulator of LLM serving'
else
	summary=$(summary_of '' "$command")
	if [ -z "$summary" ]; then
		action=${command#*-}
		command=${command%%-*}
		summary=$(summary_of "$command" "$action")
		command="$command $action"
	fi
fi
if [ -z "$summary" ]; then
	echo "manual.sh: no help lists the command of $page" >&2
	exit 1
fi

# Headings in the first column become subsections; a wide margin keeps examples whole.
ARGP_HELP_FMT=header-col=0,rmargin=200 \
	"$1" --no-info --name="$summary" --version-string="$page (kvsim) $3" --help-option="$command --help" \
	--include="$4" --include="$(dirname "$4")/manual.x" --output="$5" "$kvsim"
if [ -n "$command" ]; then
	sed -i "/^\.B kvsim$/{N;s|\n\\\\fI\\\\,$command \\\\/\\\\fR| $command\n|;}" "$5"
fi
{
	echo '.SH "SEE ALSO"'
	for other in "$(dirname "$4")"/kvsim*.x; do
		[ "$other" = "$4" ] || basename "$other" .x
	done | sed 's/-/\\-/g; s/^/.BR /; s/$/ (1),/; $s/,$//'
} >>"$5"
