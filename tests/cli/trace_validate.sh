# kvsim trace validate: output, exit statuses, standard input, compressed files.
. "$srcdir/tests/cli/support.sh"
samples=$srcdir/workloads/samples

# Fingerprints are tested elsewhere.
hide_hash() {
	sed -E 's/[0-9a-f]{32}/HASH/' "$scratch/out" >"$scratch/raw" && mv "$scratch/raw" "$scratch/out"
}

cp "$samples/chat.csv" "$scratch"
run trace validate chat.csv
hide_hash
expect 'counts as text' 0 <<END
File                    chat.csv
Format                  kvsim (the native trace: CSV with a header, or JSON lines)
Rows read               600
Requests                600
Rows left out           0
Rows out of order       0
Rows at equal times     1
Dependent requests      0
Unknown keys            0
Requests without output 0
First arrival (s)       0.43
Last arrival (s)        571.136
Prompt tokens           688775
Output tokens           154013
Prefix identity         yes, in 600 requests
XXH128                  HASH
END

printf 'arrival_s,prompt_tokens,output_tokens\n0,5,1\n1,x,1\n2.5,7,0\n' >"$scratch/bad.csv"
run trace validate bad.csv
expect 'a bad row stops it' 65 <<END
kvsim: bad.csv:3: prompt_tokens: 'x' is not a number; allowed: a whole number of tokens from 0 to 1000000000
END

run trace validate --json --skip-bad-rows bad.csv
hide_hash
expect 'counts as JSON, with what was left out' 0 <<END
{
  "file": "bad.csv",
  "format": "kvsim",
  "rows": 3,
  "requests": 2,
  "left_out": {
    "not_a_number": 1
  },
  "out_of_order": 0,
  "equal_times": 0,
  "dependent": 0,
  "unknown_keys": 0,
  "uneven_blocks": 0,
  "misplaced_blocks": 0,
  "zero_outputs": 1,
  "first_arrival_s": 0.0,
  "last_arrival_s": 2.5,
  "prompt_tokens": 12,
  "output_tokens": 1,
  "prefix_identity": false,
  "named_prompts": 0,
  "warnings": [],
  "xxh128": "HASH"
}
END

run trace validate chta.csv
sed -i 's/formats: kvsim, mooncake, .*, copilot)/formats: ALL)/' "$scratch/out"
expect 'a missing file, what is called nearly so, and what would be one' 66 <<END
kvsim: chta.csv: No such file or directory (did you mean chat.csv?); a trace is a file (formats: ALL), a folder of sessions, '-' for standard input, or preset:NAME
END

mkdir "$scratch/folder"
cp "$samples/chat.csv" "$scratch/folder/b.csv"
cp "$scratch/bad.csv" "$scratch/folder/a.csv"
run trace validate folder
expect 'a folder of what is no session' 65 <<END
kvsim: folder/a.csv: this first file of the folder is a trace of its own (kvsim); allowed: a folder of session files (kv-cache-tester), or one file of it: a.csv, b.csv
END
echo nothing >"$scratch/folder/README"
run trace validate folder
expect 'a folder that begins with something else' 65 <<END
kvsim: folder/README: this first file of the folder is of no format that is known; allowed: a folder of session files (kv-cache-tester), or one file of it: README, a.csv, b.csv
END

gzip -c "$scratch/bad.csv" | (cd "$scratch" && "$kvsim" trace validate --skip-bad-rows - ) >"$scratch/out" 2>&1
status=$?
grep -E '^(File|Requests|Rows left)' "$scratch/out" >"$scratch/some" && mv "$scratch/some" "$scratch/out"
expect 'gzip on standard input' 0 <<END
File                    -
Requests                2
Rows left out           1
Requests without output 1
END

gzip -c "$samples/chat.csv" | head -c 3000 >"$scratch/cut.csv.gz"
run trace validate cut.csv.gz
expect 'a truncated gzip file' 65 <<END
kvsim: cut.csv.gz: the gzip data is truncated: compress or download the file again
END

"$kvsim" trace validate "$samples/chat.csv" >/dev/full 2>"$scratch/out"
status=$?
sed 's/:.*//' "$scratch/out" >"$scratch/some" && mv "$scratch/some" "$scratch/out"
expect 'a full disk under standard output' 74 <<END
kvsim
END

run trace validate --rows 9:3 chat.csv
expect 'a range that is none' 64 <<END
kvsim trace validate: --rows: '9:3' is no range; allowed: A:B with A below B, data rows A to B-1 counted from 0; either may be left out
Try \`kvsim trace validate --help' or \`kvsim trace validate --usage' for more
information.
END

run trace validate --reorder-rows -1 chat.csv
expect 'a number of rows that is none' 64 <<END
kvsim trace validate: --reorder-rows: -1 is out of range: 0 to 4294967295 is allowed
Try \`kvsim trace validate --help' or \`kvsim trace validate --usage' for more
information.
END

run trace validate
expect 'no file' 64 <<END
kvsim trace validate: FILE is missing ('-' is standard input)
Try \`kvsim trace validate --help' or \`kvsim trace validate --usage' for more
information.
END

run trace validat
expect 'an unknown action' 64 <<END
kvsim: unknown trace action 'validat': did you mean 'validate'?
END

mkdir "$scratch/rag"
printf '{"timestamp": "1", "input_length": 5, "output_length": 1, "hash_ids": {"history": [1]}}\n' >"$scratch/rag/trace.jsonl"
printf '{"history_id": 1, "token_length": 4}\n' >"$scratch/rag/a.jsonl"
printf '{"history_id": 1, "token_length": 4}\n{"history_id": 2, "token_length": 4}\n' >"$scratch/rag/b.jsonl"
run trace validate rag/trace.jsonl
expect_line 'tables of chunk lengths may overlap' 0 'Requests                1'
printf '{"history_id": 1, "token_length": 5}\n' >"$scratch/rag/c.jsonl"
run trace validate rag/trace.jsonl
expect_line 'but not contradict each other' 65 'token_length: the tables of this folder have another one for this id'

printf 'session_id,arrival_time,round_idx,prefix_len,input_len,output_len\n0,250,0,0,9,1\n0,250,1,5,9,1\n' >"$scratch/rounds.csv"
run trace validate --open-loop rounds.csv
expect_line 'rounds that have the time of their session have none of their own' 65 \
	'kvsim: rounds.csv:3: arrival: the row depends on others and has no time of its own; an open loop needs one'

finish
