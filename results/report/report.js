/* Draws the charts of report.html from the two data elements of the page. Everything they show is also in its tables. */
(function () {
	"use strict";
	var data = JSON.parse(document.getElementById("data").textContent);
	var page = JSON.parse(document.getElementById("page").textContent);
	var charts = [], overTime = [];

	function color(name) {
		return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
	}

	function short(value) {
		var units = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
		for (var i = 0; i < units.length; i++)
			if (Math.abs(value) >= units[i][0])
				return +(value / units[i][0]).toPrecision(3) + units[i][1];
		return String(+value.toPrecision(3));
	}

	function gib(blocks) {
		return short(blocks * page.block_bytes / 1073741824) + " GiB";
	}

	function seconds(value) {
		return value >= 7200 ? short(value / 3600) + " h" : value >= 120 ? short(value / 60) + " min" : short(value) + " s";
	}

	/* Ticks at round times. */
	function timeTicks(a, b, pixels) {
		var steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600,
			7200, 10800, 21600, 43200, 86400];
		var wanted = (b - a) / Math.max(2, pixels / 80), step, ticks = [], unit, divisor;
		step = steps.find(function (s) { return s >= wanted; }) || 86400 * Math.ceil(wanted / 86400);
		unit = step >= 86400 ? "d" : step >= 3600 ? "h" : step >= 60 ? "min" : "s";
		divisor = { d: 86400, h: 3600, min: 60, s: 1 }[unit];
		for (var t = Math.ceil(a / step) * step; t <= b; t += step)
			ticks.push({ v: t, label: +(t / divisor).toPrecision(6) + " " + unit });
		return ticks;
	}

	function milliseconds(value) {
		return value >= 7.2e6 ? short(value / 3.6e6) + " h" : value >= 1.2e5 ? short(value / 6e4) + " min"
			: value >= 1000 ? short(value / 1000) + " s" : short(value) + " ms";
	}

	function escaped(text) {
		return text.replace(/[&<>]/g, function (c) { return { "&": "&amp;", "<": "&lt;", ">": "&gt;" }[c]; });
	}

	function legend(target, series, format, x) {
		return function (shown) {
			var at = shown.x === undefined ? "" : "<b>" + escaped(x(shown.x)) + "</b> &ensp;";
			target.innerHTML = at + shown.series.map(function (s, i) {
				var value = s.isVisible && s.y !== undefined && s.y !== null && shown.x !== undefined ? ": " + escaped(format(s.y)) : "";
				return '<span class="item"><span class="key" style="background:' + series[i].color() + '"></span>'
					+ escaped(series[i].label) + value + "</span>";
			}).join("");
			return "";
		};
	}

	/* rows: [x, y...]; series: [{label, color}]; returns the chart, or nothing where there is nothing to draw. */
	function draw(id, rows, series, options) {
		var element = document.getElementById(id);
		var format = options.format || short, x = options.x || seconds;
		if (rows.length === 0) {
			element.textContent = "Nothing to draw in this run.";
			element.dataset.drawn = "empty";
			return null;
		}
		var settings = {
			labels: ["x"].concat(series.map(function (s) { return s.label; })),
			colors: series.map(function (s) { return s.color(); }),
			stackedGraph: !!options.stacked, fillGraph: !!options.stacked, fillAlpha: options.stacked ? 0.75 : 0.2,
			stepPlot: !!options.steps, customBars: !!options.bars, strokeWidth: options.stacked ? 0.5 : 1.5,
			includeZero: !options.log, legend: "always", labelsDiv: document.createElement("div"),
			legendFormatter: legend(document.getElementById(id + "-legend"), series, format, x),
			gridLineColor: color("line"), axisLineColor: color("line"), highlightCircleSize: 3,
			xlabel: options.xlabel, xLabelHeight: 16, rightGap: 12, animatedZooms: false,
			axes: {
				x: { axisLabelFormatter: function (v) { return x(v); }, logscale: !!options.logx, pixelsPerLabel: 70 },
				y: { axisLabelFormatter: function (v) { return (options.axis || format)(v); }, axisLabelWidth: options.width || 56,
				     logscale: !!options.logy }
			}
		};
		if (options.ticker)
			settings.axes.x.ticker = options.ticker;
		Object.keys(options.more || {}).forEach(function (key) { settings[key] = options.more[key]; });
		var chart = new Dygraph(element, rows, settings);
		chart.series = series;
		if (!chart.xAxisRange().concat(chart.yAxisRange()).every(isFinite) || options.logx && chart.xAxisRange()[0] <= 0)
			throw new Error("the axes of chart " + id + " have no range");
		element.dataset.drawn = "chart";
		charts.push(chart);
		return chart;
	}

	function columns(x, series) {
		return x.map(function (value, i) { return [value].concat(series.map(function (s) { return s[i]; })); });
	}

	/* A step needs its end: the last value is repeated where the last interval ends. */
	function steps(x, series, interval) {
		var rows = columns(x, series);
		if (rows.length > 0)
			rows.push([x[x.length - 1] + interval].concat(rows[rows.length - 1].slice(1)));
		return rows;
	}

	function named(label, name) {
		return { label: label, color: function () { return color(name); } };
	}

	function time(id, rows, series, options) {
		options.steps = options.steps !== false;
		options.xlabel = "simulated time";
		options.ticker = timeTicks;
		var chart = draw(id, rows, series, options);
		if (chart)
			overTime.push(chart);
	}

	function band(id, x, mean, low, high, label, options) {
		var rows = steps(x, [mean.map(function (value, i) { return [Math.min(low[i], value), value, Math.max(high[i], value)]; })],
			options.interval);
		options.bars = true;
		time(id, rows, [named(label, "one")], options);
	}

	function drawTimeline() {
		var t = data.timeline, x = t.start_s, m = t.mean, r = t.per_second, s = function (series) { return steps(x, series, t.interval_s); };
		var blocks = {
			stacked: true, width: 104, format: function (v) { return short(v) + " blocks, " + gib(v); },
			axis: function (v) { return short(v) + " (" + gib(v) + ")"; },
			more: { valueRange: [0, page.usable_blocks * 1.02] }
		};
		time("occupancy", s([m.free, m.cached, m.waste, m.reserved, m.filled]), [named("free", "free"), named("cached", "cached"),
			named("waste", "waste"), named("reserved", "reserved"), named("filled", "filled")], blocks);
		band("pinned", x, m.pinned, t.min.pinned, t.max.pinned, "pinned", {
			interval: t.interval_s, width: 104, format: blocks.format, axis: blocks.axis, more: blocks.more
		});
		time("requests", s([m.waiting_client, m.waiting_token_budget, m.waiting_sequence_slots, m.waiting_head_of_line,
			m.waiting_blocks, m.running]), [named("held by clients", "eight"), named("waiting: compute", "five"),
			named("waiting: slots", "four"), named("waiting: behind the head", "two"), named("waiting: blocks", "seven"),
			named("running", "three")], { stacked: true });
		time("bound", s([t.queue_waits_for.blocks, t.queue_waits_for.sequence_slots, t.queue_waits_for.token_budget]),
			[named("blocks", "two"), named("sequence slots", "four"), named("compute (token budget)", "one")],
			{ format: function (v) { return +(100 * v).toPrecision(3) + " %"; }, more: { valueRange: [0, 1.02] } });
		time("tokens", s([r.prefill_tokens, r.decode_tokens]), [named("prefill", "one"), named("decode", "two")], {});
		time("pressure", s([r.evicted_blocks, r.preemptions]), [named("evicted blocks", "one"), named("preemptions", "two")], {
			more: total(r.preemptions) > 0 ? { series: { preemptions: { axis: "y2" } } } : {}
		});
		if (t.host_blocks)
			time("host", s([t.host_blocks, t.swapped]), [named("blocks", "one"), named("requests", "two")],
				{ more: { series: { requests: { axis: "y2" } } } });
		time("hits", s([r.queried_tokens, r.hit_tokens]), [named("looked up", "six"), named("hit", "three")], {});
	}

	var parts = [["retrieval", "retrieval", "eight"], ["frontend", "front end", "free"], ["queue_blocks", "queue: blocks", "two"],
		["queue_sequence_slots", "queue: slots", "four"], ["queue_token_budget", "queue: compute", "five"],
		["prefill_own", "own prefill", "one"], ["prefill_others", "others' prefill", "six"], ["preempted", "preempted", "seven"]];

	function total(values) {
		return values.reduce(function (a, b) { return a + b; }, 0);
	}

	function drawArrivals() {
		var a = data.ttft_by_arrival;
		var used = parts.filter(function (p) { return total(a.mean_ms[p[0]]) > 0; });
		var mean = a.start_s.map(function (_, i) {
			return total(parts.map(function (p) { return a.mean_ms[p[0]][i]; }));
		});
		time("ttft-time", steps(a.start_s, used.map(function (p) { return a.mean_ms[p[0]]; }), a.interval_s),
			used.map(function (p) { return named(p[1], p[2]); }), { stacked: true, format: milliseconds, width: 64 });
		band("ttft-range", a.start_s, mean, a.shortest_ms, a.longest_ms, "TTFT",
			{ interval: a.interval_s, format: milliseconds, width: 64 });
	}

	/* Several distributions on one logarithmic axis; values below a microsecond stand at its left end. */
	function drawCumulative(id, wanted) {
		var floor = 0.001, rows = {}, used = wanted.filter(function (w) {
			var points = data.cumulative[w[0]];
			return points.length > 0 && points[points.length - 1][0] > 0;
		});
		used.forEach(function (w, column) {
			data.cumulative[w[0]].forEach(function (point) {
				var x = Math.max(point[0], floor);
				rows[x] = rows[x] || [x].concat(used.map(function () { return null; }));
				rows[x][column + 1] = point[1];
			});
		});
		draw(id, Object.keys(rows).map(function (key) { return rows[key]; }).sort(function (a, b) { return a[0] - b[0]; }),
			used.map(function (w) { return named(w[1], w[2]); }), {
				logx: true, x: milliseconds, xlabel: "up to", format: function (v) { return +(100 * v).toPrecision(4) + " %"; },
				more: { connectSeparatedPoints: true, valueRange: [0, 1.02] }
			});
	}

	function drawGrid() {
		var cells = data.ttft_by_prompt, most = cells.reduce(function (a, c) { return Math.max(a, c[2]); }, 1);
		var byLength = {}, size = {}, deepest = 1, rows;
		cells.forEach(function (c) {
			(byLength[c[0]] = byLength[c[0]] || []).push(Math.max(c[1], 0.001));
			size[c[0] + "/" + Math.max(c[1], 0.001)] = 1.5 + 7 * Math.sqrt(c[2] / most);
			deepest = Math.max(deepest, byLength[c[0]].length);
		});
		rows = Object.keys(byLength).map(Number).sort(function (a, b) { return a - b; }).map(function (length) {
			var row = [length];
			for (var i = 0; i < deepest; i++)
				row.push(i < byLength[length].length ? byLength[length][i] : null);
			return row;
		});
		var series = [];
		for (var i = 0; i < deepest; i++)
			series.push(named("requests " + i, "one"));
		draw("grid", rows, series, {
			logx: true, logy: true, log: true, x: short, format: milliseconds, width: 64,
			xlabel: "prompt tokens", more: {
				strokeWidth: 0, drawPoints: true, yRangePad: 12,
				dateWindow: rows.length > 0 ? [rows[0][0] / 1.3, rows[rows.length - 1][0] * 1.3] : null, fillAlpha: 0.5, legendFormatter: function () { return ""; },
				drawHighlightPointCallback: function () {},
				drawPointCallback: function (g, name, ctx, cx, cy, fill, radius, index) {
					var column = g.getLabels().indexOf(name);
					var r = size[g.getValue(index, 0) + "/" + g.getValue(index, column)] || 2;
					ctx.globalAlpha = 0.6;
					ctx.beginPath();
					ctx.fillStyle = fill;
					ctx.arc(cx, cy, r, 0, 2 * Math.PI);
					ctx.fill();
					ctx.globalAlpha = 1;
				}
			}
		});
		document.getElementById("grid-legend").textContent = "Largest dot: " + short(most) + " requests.";
	}

	function drawMisses() {
		var element = document.getElementById("misses"), all = page.hit, names = Object.keys(page.missed);
		names.forEach(function (name) { all += page.missed[name]; });
		if (all === 0) {
			element.textContent = "No token was looked up in this run.";
			element.dataset.drawn = "empty";
			return;
		}
		function bar(name, tokens, fill) {
			return '<div class="bar"><span>' + escaped(name) + '</span><span class="track"><span class="fill" style="display:block;width:'
				+ 100 * tokens / all + "%;background:var(--" + fill + ')"></span></span><span class="value">'
				+ (100 * tokens / all).toFixed(1) + " %</span></div>";
		}
		names.sort(function (a, b) { return page.missed[b] - page.missed[a]; });
		element.innerHTML = '<div class="bars">' + bar("hit", page.hit, "three") + names.map(function (name) {
			return bar(name.replace(/_/g, " "), page.missed[name], "two");
		}).join("") + "</div>";
		element.style.height = "auto";
		element.dataset.drawn = "bars";
	}

	function window_of(charts) {
		return charts[0].xAxisRange();
	}

	function zoom(kind) {
		if (overTime.length === 0)
			return;
		var range = window_of(overTime), full = overTime[0].xAxisExtremes(), width = range[1] - range[0], middle = (range[0] + range[1]) / 2;
		var half = kind === "in" ? width / 4 : kind === "out" ? width : width / 2;
		var move = kind === "left" ? -width / 2 : kind === "right" ? width / 2 : 0;
		var next = kind === "reset" ? full : [Math.max(full[0], middle + move - half), Math.min(full[1], middle + move + half)];
		if (next[1] > next[0])
			overTime[0].updateOptions({ dateWindow: next });
	}

	function drawAll() {
		if (!data.timeline) {
			document.querySelectorAll(".chart").forEach(function (element) {
				element.textContent = "The folder has no charts.json.";
				element.dataset.drawn = "empty";
			});
			return;
		}
		drawTimeline();
		drawArrivals();
		drawCumulative("ttft-cdf", [["ttft", "TTFT", "one"], ["queue", "queue", "two"], ["prefill", "prefill", "three"],
			["retrieval", "retrieval", "eight"], ["client_wait", "client wait", "four"]]);
		drawCumulative("token-cdf", [["tpot", "TPOT", "one"], ["itl", "ITL", "two"]]);
		drawGrid();
		drawMisses();
		if (overTime.length > 1)
			Dygraph.synchronize(overTime, { selection: true, zoom: true, range: false });
	}

	function recolor() {
		charts.forEach(function (chart) {
			chart.updateOptions({
				colors: chart.series.map(function (s) { return s.color(); }), gridLineColor: color("line"), axisLineColor: color("line")
			});
		});
	}

	document.querySelectorAll("button[data-zoom]").forEach(function (button) {
		button.addEventListener("click", function () { zoom(button.dataset.zoom); });
	});
	drawAll();
	window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
	window.addEventListener("beforeprint", function () {
		document.querySelectorAll("details").forEach(function (details) { details.open = true; });
	});
	document.documentElement.dataset.ready = "true";
}());
