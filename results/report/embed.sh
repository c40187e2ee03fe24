# Usage: embed.sh NAME=FILE...: writes C source with the bytes of each file as kv_asset_NAME. Source map comments are left
# out: they would make browsers ask for files that a self-contained page does not have.
set -e
echo '#include "results/report_assets.h"'
for argument; do
	name=${argument%%=*}
	file=${argument#*=}
	test -r "$file" || { echo "embed.sh: $file is missing" >&2; exit 1; }
	echo "static const unsigned char ${name}_bytes[] = {"
	sed -e 's@^//# sourceMappingURL=.*@@' -e 's@/\*# sourceMappingURL=[^*]*\*/@@' "$file" |
		od -An -v -tu1 | sed -e 's/\([0-9][0-9]*\)/\1,/g'
	echo '};'
	echo "const struct kv_asset kv_asset_$name = {${name}_bytes, sizeof ${name}_bytes};"
done
