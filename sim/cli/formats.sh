# Writes the manual page of trace formats from what the program says of each: formats.sh KVSIM VERSION OUTPUT.
set -eu
{
	cat <<END
.TH KVSIM\-FORMATS 5 "" "kvsim $2" "File formats"
.SH NAME
kvsim\-formats \- traces that kvsim reads
.SH DESCRIPTION
The format of a trace is detected by its first bytes;
.BR \-\-format " NAME[,parameter=value...]"
names it. Gzip and zstd are read as they are, \- is standard input. Every row read is a request or is left out by a named
reason; unknown keys of foreign formats are counted. The native format is described in kvsim\-trace(1), generated loads in
kvsim\-trace\-generate(1).
END
	"$1" list formats | tail -n +2 | cut -d' ' -f1 | while read -r name; do
		printf '.SH %s\n.nf\n' "$name"
		"$1" list formats "$name" | sed -e 1d -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\\([.']\\)/\\\\\&\\1/"
		printf '.fi\n'
	done
	cat <<END
.SH SEE ALSO
kvsim(1), kvsim\-trace(1), kvsim\-trace\-validate(1), kvsim\-trace\-info(1), kvsim\-trace\-convert(1)
END
} >"$3"
