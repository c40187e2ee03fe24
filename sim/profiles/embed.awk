# Turns profile files into one C table: awk -f embed.awk FILE..., where FILE ends in KIND/NAME.EXTENSION.

function begin_profile(path,    part, n, name)
{
	n = split(path, part, "/")
	name = part[n]
	sub(/\.[^.]*$/, "", name)
	if (open)
		print "\t},"
	printf "\t{\"%s\", \"%s\",\n", part[n - 1], name
	open = 1
}

BEGIN {
	print "#include \"config.h\"\n\n#include \"sim/profiles/profiles.h\"\n\n#include <stddef.h>\n"
	print "const struct kv_profile kv_profiles[] = {"
}

FNR == 1 { begin_profile(FILENAME) }

{
	gsub(/["\\]/, "\\\\&")
	printf "\t\t\"%s\\n\"\n", $0
}

END {
	if (open)
		print "\t},"
	print "\t{NULL, NULL, NULL}\n};"
}
