# kvsim report, and report.html itself: written again byte for byte, explained, and drawn by a real browser.
. "$srcdir/tests/cli/support.sh"
samples=$srcdir/workloads/samples
cp "$samples/chat.csv" "$samples/long-documents.csv" "$samples/long-documents.yaml" "$scratch"

run run --scenario long-documents.yaml --out long --quiet
cp "$scratch/long/report.html" "$scratch/first.html"
rm "$scratch/long/report.html"
run report long
expect 'a report is written again without a word' 0 </dev/null
report "$(cmp -s "$scratch/first.html" "$scratch/long/report.html"; echo $?)" 'and is the same byte for byte'
report "$([ "$(wc -c <"$scratch/first.html")" -lt 2000000 ]; echo $?)" 'and is smaller than 2 MB'
report "$(! grep -E '(src|href)="?(https?:)?//' "$scratch/first.html" >/dev/null; echo $?)" 'and asks for nothing outside itself'

report "$(sed '/<main>/q' "$scratch/first.html" | grep -q 'Step times are modelled'; echo $?)" \
	'and says how far its times can be trusted before it shows any'

run report --explain long
for topic in 'What was exhausted?' 'Why were prompts not hit?' 'Why did first tokens come late?'; do
	expect_line "--explain answers: $topic" 0 "$topic"
done

run report nowhere
expect_line 'a folder that does not exist' 66 'nowhere/summary.json: there is none'
run report
expect_line 'a folder has to be named' 64 'no folder'
mkdir "$scratch/broken"
echo '{"completed": ' >"$scratch/broken/summary.json"
run report broken
expect_line 'a summary that cannot be read' 65 'broken/summary.json:'
run run --scenario long-documents.yaml --out plain --quiet --write summary
run report --explain plain
expect_line 'a run without a report has not gathered what explains it' 65 'written without report in --write'
run report plain
expect 'but has a page with its tables' 0 </dev/null

# A tenant is data, not HTML.
printf 'arrival_s,prompt_tokens,output_tokens,tenant,request_id\n0,64,4,"<script>alert(1)</script>",a&b\n' >"$scratch/evil.csv"
run run --trace evil.csv --model llama-3.1-8b --latency fixed:10ms --num-gpu-blocks-override 100 --max-model-len 1000 \
	--out evil --quiet
report "$(! grep -q '<script>alert' "$scratch/evil/report.html" && grep -q '&lt;script&gt;alert' "$scratch/evil/report.html"
	echo $?)" 'names are escaped'

# draw NAME FOLDER: in headless Chromium, no message on the console, every chart drawn, numbers those of summary.json.
draw() {
	chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$scratch/browser" \
		--enable-logging=stderr --virtual-time-budget=20000 --dump-dom "file://$scratch/$2/report.html" \
		>"$scratch/dom" 2>"$scratch/console"
	report "$(! grep -q ':CONSOLE' "$scratch/console" && grep -q 'data-ready="true"' "$scratch/dom"; echo $?)" \
		"$1: no message on the console"
	report "$([ "$(grep -o 'class="chart"' "$scratch/dom" | wc -l)" -eq \
		"$(grep -oE 'data-drawn="(chart|bars|empty)"' "$scratch/dom" | wc -l)" ]; echo $?)" "$1: every chart is drawn"
	python3 - "$scratch/dom" "$scratch/$2/summary.json" <<'PYTHON'
import json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
summary = json.load(open(sys.argv[2]))
cells = re.findall(r'<td data-key="([^"]+)">([^<]+)</td>', page)
assert len(cells) > 90, len(cells)
for key, text in cells:
    value = summary
    for name in key.split("/"):
        value = value[name]
    shown, _, unit = text.replace("\u2009", "").replace("\u2212", "-").replace("&nbsp;", "\u00a0").partition("\u00a0")
    value /= {"": 1, "ms": 1, "s": 1e3, "min": 6e4, "h": 3.6e6}[unit]
    assert (unit != "") == key.endswith("_ms") and value < {"ms": 1000, "s": 120, "min": 120}.get(unit, 1e99), (key, text, value)
    decimals = len(shown.partition(".")[2])
    assert abs(float(shown) - value) <= 0.500001 * 10 ** -decimals, (key, text, value)
PYTHON
	report $? "$1: the numbers are those of summary.json"
}

if command -v chromium >/dev/null && command -v python3 >/dev/null; then
	draw 'long documents' long
	run run --trace chat.csv --model llama-3.1-8b --hardware l4 --max-model-len 8192 --out chat --quiet --max-concurrency 8
	draw 'a capped chat' chat
	draw 'one request' evil
else
	cases=$((cases + 1))
	echo "ok $cases - the page in a browser # SKIP chromium or python3 is not installed"
fi
finish
