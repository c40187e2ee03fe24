# requests.csv and timeline.csv as their readers use them: pandas loads them, and what summary.json says follows from them.
. "$srcdir/tests/cli/support.sh"
python=
for candidate in python3 /usr/bin/python3; do
	"$candidate" -c 'import numpy, pandas' 2>/dev/null && python=$candidate && break
done
if [ -z "$python" ]; then
	echo 'ok 1 - CSV files in pandas # SKIP python3-pandas is not installed'
	echo '1..1'
	exit 0
fi
cp "$srcdir/workloads/samples/long-documents.csv" "$srcdir/workloads/samples/long-documents.yaml" "$scratch"
run run --scenario long-documents.yaml --out run --quiet --set policies.eviction=fifo

check() {
	(cd "$scratch/run" && "$python" -c "
import json
from decimal import Decimal
import numpy as np
import pandas as pd
requests = pd.read_csv('requests.csv')
timeline = pd.read_csv('timeline.csv')
exact = pd.read_csv('requests.csv', dtype=str)
summary = json.load(open('summary.json'))
kvsim = summary['kvsim']
def close(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-12)
$2
") >"$scratch/log" 2>&1
	status=$?
	report "$status" "$1"
	[ "$status" -eq 0 ] || sed 's/^/# /' "$scratch/log"
}

check 'both load with numbers as numbers' "
assert len(requests) == summary['num_prompts']
text = ['request_id', 'tenant', 'status', 'reason', 'miss_reason']
assert all(requests[c].dtype.kind in 'if' for c in requests.columns if c not in text)
assert all(timeline[c].dtype.kind in 'if' for c in timeline.columns)"
check 'TTFT is the sum of its parts, to the nanosecond' "
parts = sum(exact[c].map(Decimal) for c in ['retrieval_s', 'frontend_s', 'queue_s', 'prefill_s'])
assert (parts == exact['ttft_s'].map(Decimal)).all()"
check 'percentiles are those of numpy' "
for column, name in [('ttft_s', 'ttft'), ('tpot_s', 'tpot'), ('e2e_s', 'e2el')]:
    values = requests[column].dropna().to_numpy()
    assert close(1000 * values.mean(), summary[f'mean_{name}_ms'])
    assert close(1000 * np.median(values), summary[f'median_{name}_ms'])
    assert close(1000 * values.std(), summary[f'std_{name}_ms'])
    for p in ['50', '90', '95', '99', '99.9']:
        assert close(1000 * np.percentile(values, float(p)), summary[f'p{p}_{name}_ms']), (name, p)"
check 'block-seconds of requests sum to the integral of the timeline, to the last unit' "
rows = pd.read_csv('timeline.csv', dtype=str)
assert sum(exact['block_seconds'].map(Decimal)) == sum(rows['pinned_block_seconds'].map(Decimal))
assert sum(exact['block_seconds'].map(Decimal)) > 0"
check 'counts of the timeline are those of the summary' "
assert timeline.arrivals.sum() == kvsim['arrived'] and timeline.finishes.sum() == summary['completed']
assert timeline.prefill_tokens.sum() + timeline.decode_tokens.sum() == kvsim['scheduled_tokens']
assert timeline.evicted_blocks.sum() == kvsim['evicted_blocks'] > 0
assert timeline.hit_tokens.sum() == kvsim['hit_tokens'] == requests.cached_tokens.sum()"
check 'miss tokens by reason sum to queried minus hit' "
assert sum(kvsim['miss_tokens'].values()) == kvsim['queried_tokens'] - kvsim['hit_tokens'] > 0"
check 'the pool is all there in every interval' "
pool = timeline.pinned_blocks_mean + timeline.cached_blocks_mean + timeline.free_blocks_mean
assert (abs(pool - kvsim['usable_blocks']) < 1e-5).all()
split = timeline.filled_blocks_mean + timeline.reserved_blocks_mean + timeline.waste_blocks_mean
assert (abs(split - timeline.pinned_blocks_mean) < 1e-5).all()"
finish
