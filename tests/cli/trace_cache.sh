# kvsim trace cache: text, JSON, several policies and sizes in one call, errors.
. "$srcdir/tests/cli/support.sh"

printf 'arrival_s,prompt,output_tokens\n0,a:32,1\n1,b:16,1\n2,a:32,1\n3,b:20,1\n' >"$scratch/four.csv"
run trace cache four.csv --blocks 2,3 --eviction lru --eviction belady
expect 'a curve of two policies' 0 <<END
File                    four.csv
Format                  kvsim (the native trace: CSV with a header, or JSON lines)
Prompts                 4
Prompt tokens           100 (52 in the second half)
Blocks                  6 of 16 tokens, 3 different
Unit of eviction        block

                                       whole trace:                                           second half:                       
Eviction                    Blocks       hit tokens       % evicted tokens         blocks       hit tokens       % evicted blocks
lru                              2               16   16.00             48              3               16   30.77              2
lru                              3               48   48.00              0              0               48   92.31              0
belady                           2               32   32.00             16              1               32   61.54              1
belady                           3               48   48.00              0              0               48   92.31              0
END

# 40 tokens: a (32), b wants 16 and a goes whole, a wants 32 and b goes, b wants 20 and a goes.
run trace cache four.csv --blocks 40,52 --prefix radix
expect 'leaves of a radix tree' 0 <<END
File                    four.csv
Format                  kvsim (the native trace: CSV with a header, or JSON lines)
Prompts                 4
Prompt tokens           100 (52 in the second half)
Pages                   100 of 1 token
Unit of eviction        leaf of a radix tree, as a whole

                                       whole trace:                                           second half:                       
Eviction                     Pages       hit tokens       % evicted tokens          pages       hit tokens       %  evicted pages
lru                             40                0    0.00             80             80                0    0.00             48
lru                             52               48   48.00              0              0               48   92.31              0
END
run trace cache four.csv --blocks 10 --prefix radix,page=4 --json
report "$(grep -q '"prefix": "radix"' "$scratch/out" && grep -q '"page": 4' "$scratch/out"; echo $?)" 'a radix tree in JSON'

run trace cache four.csv --blocks 2 --unit leaf --block-size 32 --json
expect 'JSON' 0 <<END
{
  "file": "four.csv",
  "format": "kvsim",
  "unit": "leaf",
  "block_size": 32,
  "unique_blocks": 1,
  "prefix_identity": true,
  "runs": [
    {
      "eviction": "lru",
      "blocks": 2,
      "resident_blocks": 1,
      "whole": {
        "prompts": 4,
        "queried_blocks": 2,
        "queried_tokens": 100,
        "hit_blocks": 1,
        "hit_tokens": 32,
        "hit_ratio": 0.32,
        "evicted_blocks": 0,
        "evicted_tokens": 0,
        "expired_blocks": 0
      },
      "second_half": {
        "prompts": 2,
        "queried_blocks": 1,
        "queried_tokens": 52,
        "hit_blocks": 1,
        "hit_tokens": 32,
        "hit_ratio": 0.615384615384615,
        "evicted_blocks": 0,
        "evicted_tokens": 0,
        "expired_blocks": 0
      }
    }
  ]
}
END

# wrong NAME MESSAGE ARGUMENT...: exit status 64 and this message.
wrong() {
	name=$1
	message=$2
	shift 2
	run trace cache "$@"
	expect "$name" 64 <<END
kvsim trace cache: $message
Try \`kvsim trace cache --help' or \`kvsim trace cache --usage' for more
information.
END
}

wrong 'no pool size' '--blocks is missing: the pool sizes to try, such as --blocks 1000,5000' four.csv
wrong 'no file' "FILE is missing ('-' is standard input)" --blocks 3
wrong 'a pool size that is no number' "--blocks: 'x' is not a whole number" four.csv --blocks 1,x
run trace cache four.csv --blocks 1 --prefix radix --eviction arc
expect_line 'a policy without an order of leaves' 64 'eviction arc does not go with prefix radix, which evicts whole leaves'
run trace cache four.csv --blocks 1 --prefix radix --unit leaf
expect_line 'a unit of blocks' 64 '--unit does not go with --prefix radix: leaves of its tree go as a whole'
wrong 'an unknown policy' "--eviction: unknown eviction policy 'lro': did you mean 'lru'?" four.csv --blocks 1 --eviction lro
wrong 'an unknown unit' "--unit: 'page' is neither block nor leaf" four.csv --blocks 1 --unit page

run run --model llama-3.1-8b --hardware h100-sxm --trace four.csv --eviction belady
expect 'a run has no future' 64 <<END
kvsim: eviction belady knows the future, which a run does not: when a block is used next depends on whom the run admits when, and so on what it evicts. kvsim trace cache gives the bound, at equal pool sizes and without time
END

printf 'arrival_s,prompt,output_tokens\n0,a:32 b:20,1\n1,b:20 a:32,1\n' >"$scratch/swapped.csv"
run trace cache swapped.csv --blocks 9 --prefix position-independent
expect 'an upper bound says where it is one' 0 <<END
File                    swapped.csv
Format                  kvsim (the native trace: CSV with a header, or JSON lines)
Prompts                 2
Prompt tokens           104 (52 in the second half)
Pieces                  8 of at most 16 tokens, 4 different
Equal pieces            count as hit wherever they stand, which no engine reaches
Upper bound             in pools of 4 pieces or more, which hold all; in smaller ones what this eviction keeps, and no bound

                                       whole trace:                                           second half:                       
Eviction                    Pieces       hit tokens       % evicted tokens         pieces       hit tokens       % evicted pieces
lru                              9               52   50.00              0              0               52  100.00              0
END
# a:32 and b:20 are 4 and 3 pieces of at most 8 tokens.
run trace cache swapped.csv --blocks 7 --prefix position-independent,piece=8 --json
expect_line 'in JSON too' 0 '"upper_bound": true'
run trace cache swapped.csv --blocks 6 --prefix position-independent,piece=8 --json
expect_line 'a pool that is too small for all pieces gives no bound' 0 '"upper_bound": false'
# One block of a chain is four pieces: of two blocks the third prompt finds its own, of two pieces at most 8 tokens.
printf 'arrival_s,prompt,output_tokens\n0,a:4 b:4 c:4 d:4,1\n1,z:16,1\n2,a:4 b:4 c:4 d:4,1\n' >"$scratch/finite.csv"
run trace cache finite.csv --blocks 2 --json
expect_line 'a finite pool: blocks of a chain' 0 '"hit_tokens": 16'
run trace cache finite.csv --blocks 2 --prefix position-independent --json
report "$(awk '/"hit_tokens"/ && $2 + 0 > 8 { found = 1 } END { exit found }' "$scratch/out"; echo $?)" 'and pieces, of which fewer are found'
expect_line 'which is no bound' 0 '"upper_bound": false'
run trace cache swapped.csv --blocks 9 --prefix position-independent --unit leaf
expect_line 'pieces have no leaves' 64 '--unit does not go with --prefix position-independent: its pieces have no leaves'
run run --model llama-3.1-8b --hardware h100-sxm --trace four.csv --prefix position-independent
expect 'a run cannot reuse pieces anywhere' 64 <<END
kvsim: prefix position-independent is no engine's: what is computed of a piece depends on all that stands before it, so no engine reuses it elsewhere without computing part of it again. kvsim trace cache says what could be reused at most
END

finish
