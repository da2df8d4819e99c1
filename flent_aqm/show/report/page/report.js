// SPDX-License-Identifier: GPL-3.0-or-later
// Plots and tables of the report. All text out of data files goes in as text: textContent
// here, and plain() for Plotly, which takes a few tags for its own.
"use strict";
(() => {
const byId = (id) => document.getElementById(id);
const root = document.documentElement;
const WAYS = ["download", "upload"];
const ROWS_AT_ONCE = 100;
let data = JSON.parse(byId("data").textContent);
const state = {
  slice: [], rate: null, off: new Set(), sort: null, down: false, filters: new Map(),
  rows: ROWS_AT_ONCE, columns: [...data.shown_metrics], printing: false,
};

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value; else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;")
  .replace(/>/g, "&gt;");
const same = (one, other) => one.length === other.length
  && one.every((value, place) => value === other[place]);
const said = (value) => value === true ? "on" : value === false ? "off"
  : value === "" ? "none" : String(value);
const rateText = (rate) => typeof rate === "number" ? `${rate} Mbit/s` : said(rate);
const readable = (name) => name.replace(/_(ms|mbps|pct)$/, "").replace(/_/g, " ");
const shown = () => data.queues.filter((queue) => !state.off.has(queue.name));
const cellsHere = () => data.cells.filter((cell) => same(cell.slice, state.slice));
const cellOf = (queue, rate) => cellsHere().find(
  (cell) => cell.queue === queue.name && cell.rate === rate);

const counted = (runs) => `${runs} run${runs === 1 ? "" : "s"}`;

function digits(value) {
  if (value === null || value === undefined) return "–";
  if (value === Infinity) return "lost";
  const size = Math.abs(value);
  if (size !== 0 && size < 0.0001) return value.toExponential(1);
  return size >= 1000 ? value.toFixed(0) : size >= 100 ? value.toFixed(1)
    : size >= 0.1 || size === 0 ? value.toFixed(2) : value.toFixed(4);
}
// A percentile that is a lost probe comes as a word, as JSON has no infinite numbers. It ranks
// above all numbers.
const ranked = (value) => value === "lost" ? Infinity : value;
function heedLost() {
  for (const run of data.runs) run.numbers = run.numbers.map(ranked);
  for (const entry of data.statistics) {
    for (const found of Object.values(entry.queues)) {
      for (const at of [1, 2, 3]) found[at] = ranked(found[at]);
    }
  }
}
function median(values) {
  const ordered = [...values].sort((one, other) => one - other);
  const half = ordered.length >> 1;
  return ordered.length % 2 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
}

// ---- theme ----
const prefers = window.matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = null;
const isDark = () => !state.printing
  && (chosenTheme === null ? prefers.matches : chosenTheme === "dark");
function applyTheme() {
  root.dataset.theme = isDark() ? "dark" : "light";
}
const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
// On dark ground a lighter shade; black would not be seen at all.
const colour = (queue) => !isDark() ? queue.colour : queue.colour === "#000000" ? "#ffffff"
  : "#" + [1, 3, 5].map((at) => Math.round(
    parseInt(queue.colour.slice(at, at + 2), 16) * 0.75 + 64).toString(16).padStart(2, "0"))
    .join("");
function faint(hex, share) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${red},${green},${blue},${share})`;
}

// ---- plots ----
const narrow = () => window.innerWidth < 640;
const touched = window.matchMedia("(pointer: coarse)").matches;
const hasToolbar = () => !touched && !narrow() && !state.printing;
const CONFIG = {responsive: true, displaylogo: false,
  // The only unit that a format can have; a suffix stands at decades alone.
  locale: "en", locales: {en: {format: {currency: ["", "\u00a0ms"]}}},
  modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]]};

function layout(ways, x, y) {
  const axis = (more) => ({gridcolor: css("--line"), linecolor: css("--line"), zeroline: false,
    automargin: true, ...more});
  const made = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: {color: css("--ink"), size: narrow() || state.printing ? 11 : 13},
    height: (state.printing ? 240 : narrow() ? 260 : 300) * ways.length + 60,
    width: state.printing ? 690 : undefined, autosize: !state.printing,
    // The toolbar stands upright in the margin: across the top it would cover the legend.
    margin: {l: 60, r: hasToolbar() ? 40 : 10, t: 40, b: 50}, hovermode: "closest",
    hoverlabel: {bgcolor: css("--raised"), bordercolor: css("--line"),
      font: {color: css("--ink")}},
    // A finger that scrolls the page must not zoom.
    dragmode: touched ? false : "zoom",
    modebar: {orientation: "v", bgcolor: "rgba(0,0,0,0)", color: css("--quiet"), activecolor: css("--accent")},
    showlegend: true, legend: {orientation: "h", y: 1.02, yanchor: "bottom", x: 0},
    boxmode: "group", barmode: "group", boxgap: 0.25, boxgroupgap: 0.15,
    xaxis: axis({...x, anchor: ways.length > 1 ? "y2" : "y"}),
  };
  ways.forEach((way, place) => {
    const height = 1 / ways.length;
    made[place ? `yaxis${place + 1}` : "yaxis"] = axis({...y(way),
      domain: [1 - (place + 1) * height + (place + 1 < ways.length ? 0.03 : 0),
        1 - place * height - (place ? 0.03 : 0)]});
  });
  return made;
}
// A logarithmic axis of latencies. Without a format, Plotly prints bare digits of what lies between
// decades: 2 for 20 ms. By how many numbers it may have, it chooses even steps, all of 1 to 9, 1, 2
// and 5, or decades alone: so many give even steps in less than a decade, and then 1, 2 and 5 up to
// two decades.
function latencies(traces, key, place) {
  const values = traces.filter((trace) => place === undefined || trace.yaxis === axisName(place))
    .flatMap((trace) => [trace[key], trace.lowerfence, trace.upperfence])
    .flat().filter((value) => typeof value === "number" && value > 0);
  const decades = Math.log10(Math.max(...values) / Math.min(...values));
  return {type: "log", tickformat: "$,~r",
    nticks: decades < 0.9 ? 0 : decades < 1.4 ? 3 : decades < 2.2 ? 4
      : Math.min(Math.ceil(1.1 * decades), Math.floor(decades / 0.71)),
    minor: {showgrid: false}};
}
const NO_DATA = "The runs chosen above have no data for this figure.";
function draw(id, traces, made, empty = NO_DATA) {
  const place = byId(id);
  if (!traces.length) {
    Plotly.purge(place);
    place.replaceChildren(make("p", {className: "quiet"}, empty));
    place.classList.add("empty");
    return;
  }
  place.classList.remove("empty");
  if (!place.querySelector(".plotly")) place.replaceChildren();
  Plotly.react(place, traces, made,
    {...CONFIG, displayModeBar: hasToolbar() ? "hover" : false});
  if (!place.dataset.listens) {
    place.dataset.listens = "yes";
    place.on("plotly_legendclick", (event) => {
      const name = event.data[event.curveNumber].legendgroup;
      if (name) toggle(name);
      return false;
    });
    place.on("plotly_legenddoubleclick", () => false);
  }
}
function waysOf(cells, has) {
  return WAYS.filter((way) => cells.some((cell) => cell.ways[way] && has(cell.ways[way])));
}
const axisName = (place) => place ? `y${place + 1}` : "y";
function once(queue, seen) {
  const first = !seen.has(queue.name);
  seen.add(queue.name);
  return {name: plain(queue.name), legendgroup: queue.name, showlegend: first};
}
const categories = () => ({type: "category", title: {text: "link rate, Mbit/s"},
  categoryorder: "array", categoryarray: data.rates.map((rate) => plain(said(rate))),
  range: [-0.5, data.rates.length - 0.5]});

function plotThroughput() {
  const known = waysOf(cellsHere(),
    (way) => way.possible_mbps.some((possible) => possible !== null)).length > 0;
  byId("throughput-possible").hidden = !known;
  const share = known && byId("throughput-in").value === "share";
  const ways = waysOf(cellsHere(), (way) => way.mbps.length);
  const traces = [], seen = new Set();
  let explained = false;
  ways.forEach((way, place) => {
    for (const queue of shown()) {
      const x = [], y = [];
      for (const rate of data.rates) {
        const cell = cellOf(queue, rate)?.ways[way];
        (cell?.mbps ?? []).forEach((value, at) => {
          if (share && cell.possible_mbps[at] === null) return;
          x.push(plain(said(rate)));
          y.push(share ? value / cell.possible_mbps[at] * 100 : value);
        });
      }
      if (x.length) {
        traces.push({type: "box", x, y, ...once(queue, seen), offsetgroup: queue.name,
          alignmentgroup: "all", yaxis: axisName(place), boxpoints: "all", jitter: 0.4,
          pointpos: 0, line: {width: 1.5}, fillcolor: faint(colour(queue), 0.3),
          marker: {color: colour(queue), symbol: queue.symbol, size: 5},
          hovertemplate: "%{y:.4g}" + (share ? " %" : " Mbit/s")});
      }
    }
    const lines = share ? [] : data.rates.flatMap((rate) => [...new Set(shown().flatMap(
      (queue) => cellOf(queue, rate)?.ways[way]?.possible_mbps ?? []))]
      .filter((possible) => possible !== null).map((possible) => [rate, possible]));
    if (lines.length) {
      traces.push({type: "scatter", mode: "markers", x: lines.map(([rate]) => plain(said(rate))),
        y: lines.map(([, possible]) => possible),
        yaxis: axisName(place), name: "what TCP can carry", showlegend: !explained,
        hovertemplate: "%{y:.4g} Mbit/s",
        marker: {symbol: "line-ew-open", size: narrow() ? 14 : 40, color: css("--quiet"),
          line: {width: 1}}});
      explained = true;
    }
  });
  draw("plot-throughput", traces, layout(ways, categories(), (way) => ({rangemode: "tozero",
    title: {text: share ? `${way}, %` : `${way}, Mbit/s`}})));
}

function plotLatency() {
  const ways = waysOf(cellsHere(), (way) => way.box);
  const traces = [], seen = new Set(), lost = [];
  const ratesHere = new Set(cellsHere().map((cell) => cell.rate)).size;
  ways.forEach((way, place) => {
    for (const queue of shown()) {
      const probed = data.rates.map((rate) => [rate, cellOf(queue, rate)?.ways[way]])
        .filter(([, cell]) => cell?.box);
      const found = probed.filter(([, cell]) => cell.box[2] !== null);
      for (const [rate, cell] of probed) {
        if (cell.box[2] === null) {
          lost.push(`${queue.name}${ratesHere > 1 ? ` at ${rateText(rate)}` : ""} in ${way} (${
            (100 * cell.lost / cell.probes).toFixed(0)} % lost)`);
        }
      }
      if (!found.length) continue;
      // A whisker or dash that is lost stands at the longest probe that came back.
      const longest = (cell) => cell.ms.reduce((most, ms) => ms ?? most, null);
      const at = (level) => found.map(([, cell]) => cell.box[level] ?? longest(cell));
      const x = found.map(([rate]) => plain(said(rate)));
      traces.push({type: "box", x, lowerfence: at(0), q1: at(1), median: at(2), q3: at(3),
        upperfence: at(4), ...once(queue, seen), offsetgroup: queue.name, alignmentgroup: "all",
        yaxis: axisName(place), line: {width: 1.5}, marker: {color: colour(queue)},
        fillcolor: faint(colour(queue), 0.3), hoverinfo: "y"});
      traces.push({type: "box", x, lowerfence: at(5), q1: at(5), median: at(5), q3: at(5),
        upperfence: at(5), legendgroup: queue.name, showlegend: false,
        name: `${plain(queue.name)}, 99th`, offsetgroup: queue.name, alignmentgroup: "all",
        yaxis: axisName(place), line: {width: 2}, marker: {color: colour(queue)},
        hoverinfo: "skip", whiskerwidth: 0});
    }
  });
  draw("plot-latency", traces, layout(ways, categories(), (way) => ({
    ...latencies(traces, "y", ways.indexOf(way)), title: {text: `RTT in ${way}`}})));
  byId("latency-lost").textContent = lost.length
    ? `Not drawn, because half of the probes or more were lost: ${lost.join(", ")}.` : "";
}

function plotTails() {
  const tail = byId("tails-as").value === "tail";
  const ways = waysOf(cellsHere(), (way) => way.ms);
  const traces = [], seen = new Set();
  ways.forEach((way, place) => {
    for (const queue of shown()) {
      const cell = cellOf(queue, state.rate)?.ways[way];
      if (!cell?.ms) continue;
      const known = cell.levels.map((level, at) => [cell.ms[at], level / 100])
        .filter(([ms]) => ms !== null);
      traces.push({type: "scatter", mode: "lines", ...once(queue, seen), yaxis: axisName(place),
        x: known.map(([ms]) => ms),
        y: known.map(([, part]) => tail ? Math.max(1 - part, 1 / cell.probes) : part),
        line: {color: colour(queue), dash: queue.dash, width: 2},
        hovertemplate: "%{x:.4g} ms: %{y:.3~%}"});
    }
  });
  draw("plot-tails", traces, layout(ways, {...latencies(traces, "x"), title: {text: "RTT"}}, (way) => ({
    ...(tail ? {type: "log", dtick: 1, minor: {showgrid: false}, tickformat: "~%"}
      : {range: [0, 1.02], tickformat: ".0%"}),
    title: {text: tail ? `${way}: took longer` : `${way}: back by then`}})));
}

function numbersOf(queue, rate, metric) {
  const at = data.metrics.findIndex((one) => one.name === metric);
  return data.runs.filter((run) => run.queue === queue.name && run.rate === rate
    && same(run.slice, state.slice) && run.numbers[at] !== null).map((run) => run.numbers[at]);
}

const NO_GLITCHES_KNOWN = "Whether the runs chosen above have glitches is not known: that needs "
  + "latency probes of the idle line and under load, at most 20 ms apart. flent-aqm score FILE says "
  + "what a run lacks.";
function plotGlitches() {
  const metric = data.metrics.find((one) => one.name === byId("glitches-what").value);
  const traces = [], seen = new Set();
  for (const queue of metric ? shown() : []) {
    const found = data.rates.map((rate) => [rate, numbersOf(queue, rate, metric.name)])
      .filter(([, values]) => values.length);
    if (!found.length) continue;
    const middle = found.map(([, values]) => median(values));
    traces.push({type: "bar", x: found.map(([rate]) => plain(said(rate))), y: middle,
      ...once(queue, seen), offsetgroup: queue.name, alignmentgroup: "all",
      marker: {color: faint(colour(queue), 0.75), line: {color: colour(queue), width: 1}},
      error_y: {type: "data", symmetric: false, thickness: 1, width: 3,
        array: found.map(([, values], at) => Math.max(...values) - middle[at]),
        arrayminus: found.map(([, values], at) => middle[at] - Math.min(...values))},
      hovertemplate: `%{y:.4g} ${metric.unit}`});
  }
  draw("plot-glitches", traces, layout(["all"], categories(), () => ({rangemode: "tozero",
    title: {text: metric ? metric.unit : ""}})), NO_GLITCHES_KNOWN);
}

function plotTime() {
  const what = byId("time-what").value;
  const ways = waysOf(cellsHere(), (way) => way[what]);
  const traces = [], seen = new Set();
  ways.forEach((way, place) => {
    for (const queue of shown()) {
      const curve = cellOf(queue, state.rate)?.ways[way]?.[what];
      if (!curve) continue;
      const common = {type: "scatter", mode: "lines", x: curve.s, legendgroup: queue.name,
        yaxis: axisName(place)};
      if (curve.least) {
        traces.push({...common, y: curve.least, line: {width: 0}, hoverinfo: "skip",
          showlegend: false});
        traces.push({...common, y: curve.most, line: {width: 0}, hoverinfo: "skip",
          showlegend: false, fill: "tonexty", fillcolor: faint(colour(queue), 0.12)});
      }
      traces.push({...common, ...once(queue, seen), y: curve.middle,
        line: {color: colour(queue), dash: queue.dash, width: 1.75},
        hovertemplate: what === "over_time" ? "%{y:.4g} Mbit/s" : "%{y:.4g} ms"});
    }
  });
  const rtt = what !== "over_time";
  draw("plot-time", traces, layout(ways, {rangemode: "tozero",
    title: {text: "s since the transfer's start"}},
    (way) => rtt ? {...latencies(traces, "y", ways.indexOf(way)),
      title: {text: `RTT in ${way}`}}
      : {rangemode: "tozero", title: {text: `${way}, Mbit/s`}}));
}

// ---- tables ----
function fill(id, head, lines) {
  byId(id).replaceChildren(make("thead", {}, ...head), make("tbody", {}, ...lines));
}
const headings = (...texts) => make("tr", {}, ...texts.map((text) => make("th", {}, text)));

function tableScores() {
  const queues = shown().filter((queue) => cellOf(queue, state.rate));
  // What the test got of a line that it shares is no score: its bar would reward the queue that
  // starves the others.
  const shared = queues.some((queue) => cellOf(queue, state.rate).shared);
  const lines = [];
  for (const metric of data.metrics) {
    const scored = metric.better !== "neither"
      && !(shared && metric.name.startsWith("throughput_"));
    const values = queues.map((queue) => {
      const found = numbersOf(queue, state.rate, metric.name);
      return found.length ? median(found) : null;
    });
    const known = values.filter((value) => value !== null && value !== Infinity);
    if (values.every((value) => value === null)) continue;
    const least = Math.min(...known), most = Math.max(...known);
    // A bar would make a difference of what the digits show as the same.
    const differ = most - least > 0.01 * Math.max(Math.abs(least), Math.abs(most));
    const cells = values.map((value, at) => {
      const word = cellOf(queues[at], state.rate).words[metric.name];
      const cell = make("td", {},
        value === null ? "–" : value === Infinity ? digits(value) : word ?? digits(value));
      if (Number.isFinite(value) && scored && differ) {
        const part = (value - least) / (most - least);
        cell.className = "share";
        cell.style.setProperty("--part",
          `${Math.round(100 * (metric.better === "higher" ? part : 1 - part))}%`);
      }
      return cell;
    });
    lines.push(make("tr", {}, make("td", {}, readable(metric.name),
      make("span", {className: "quiet"}, metric.unit ? `, ${metric.unit}` : "")), ...cells));
  }
  fill("table-scores", [headings("metric", ...queues.map((queue) => queue.name))], lines);
}

function tableStatistics() {
  const metric = byId("statistics-of").value;
  const entries = data.statistics.filter((entry) => entry.metric === metric
    && same(entry.slice, state.slice));
  const queues = shown().filter((queue) => entries.some((entry) => entry.queues[queue.name]));
  const pairs = [];
  for (const entry of entries) {
    for (const [one, other] of entry.deltas ?? []) {
      if (!state.off.has(one) && !state.off.has(other)
        && !pairs.some((pair) => pair[0] === one && pair[1] === other)) pairs.push([one, other]);
    }
  }
  const lines = entries.map((entry) => make("tr", {},
    make("td", {}, rateText(entry.rate)),
    ...queues.map((queue) => {
      const found = entry.queues[queue.name];
      const cell = make("td", {}, found ? digits(found[1]) : "–");
      if (found && found[2] !== null) {
        cell.append(make("br"), make("span", {className: "quiet small"},
          `${digits(found[2])} to ${digits(found[3])} (${found[4]} %)`));
      }
      if (found) {
        cell.append(make("br"), make("span", {className: "quiet small"},
          counted(found[0])));
      }
      return cell;
    }),
    make("td", {}, entry.p === undefined ? "–" : entry.p < 0.001 ? "<0.001" : entry.p.toFixed(3)),
    ...pairs.map(([one, other]) => {
      const found = (entry.deltas ?? []).find((delta) => delta[0] === one && delta[1] === other);
      return make("td", {}, found ? found[2].toFixed(2) : "–");
    })));
  fill("table-statistics", [headings("rate", ...queues.map((queue) => queue.name), "p",
    ...pairs.map(([one, other]) => `δ ${one}, ${other}`))], lines);
}

function tableVariance() {
  const at = data.dimensions.findIndex((one) => one.name === "test");
  const found = data.variance[at < 0 ? "" : state.slice[at]] ?? {};
  const factors = [...new Set(Object.values(found).flatMap(Object.keys))];
  const lines = Object.entries(found).map(([metric, shares]) => make("tr", {},
    make("td", {}, readable(metric)),
    ...factors.map((factor) => {
      const share = shares[factor];
      const cell = make("td", {className: "share"},
        share === undefined || share === null ? "–" : `${(100 * share).toFixed(1)} %`);
      cell.style.setProperty("--part", `${Math.round(100 * (share ?? 0))}%`);
      return cell;
    })));
  fill("table-variance", [headings("metric", ...factors.map(
    (name) => name === "aqm" ? data.side : data.labels[name] ?? name))], lines);
}

function columns() {
  const settings = [{name: data.side, of: (run) => run.queue},
    {name: "link rate", of: (run) => run.rate},
    ...data.dimensions.map((one, at) => ({name: one.label, of: (run) => run.slice[at]}))];
  const metrics = data.metrics.map((metric, at) => ({name: readable(metric.name),
    key: metric.name, unit: metric.unit, about: metric.about, of: (run) => run.numbers[at]}))
    .filter((column) => state.columns.includes(column.key));
  // Paper has no room for names of files.
  return [...settings, ...metrics,
    ...(state.printing ? [] : [{name: "file", of: (run) => run.file}])];
}
function passes(value, filter) {
  const number = filter.match(/^\s*(<=|>=|<|>|=)\s*(-?[\d.]+)\s*$/);
  if (!number) return said(value ?? "–").toLowerCase().includes(filter.trim().toLowerCase());
  if (typeof value !== "number") return false;
  const limit = Number(number[2]);
  return {"<": value < limit, ">": value > limit, "<=": value <= limit, ">=": value >= limit,
    "=": value === limit}[number[1]];
}
function ordered(one, other) {
  // What is missing comes last, whichever way.
  if (one === null || other === null) return (one === null) - (other === null);
  const order = typeof one === "number" && typeof other === "number" ? one - other
    : String(one).localeCompare(String(other), undefined, {numeric: true});
  return state.down ? -order : order;
}
function tableRuns() {
  const all = columns();
  const head = make("tr", {}, ...all.map((column) => {
    const button = make("button", {type: "button"},
      column.unit ? `${column.name}, ${column.unit}` : column.name);
    button.addEventListener("click", () => {
      state.down = state.sort === column.name ? !state.down : false;
      state.sort = column.name;
      tableRuns();
      byId("table-runs").querySelector("th[aria-sort] button").focus();
    });
    const cell = make("th", {scope: "col"}, button);
    if (state.sort === column.name) {
      cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    }
    return cell;
  }));
  const filters = make("tr", {className: "screen-only"}, ...all.map((column) => {
    const input = make("input", {type: "search", value: state.filters.get(column.name) ?? "",
      "aria-label": `filter ${column.name}`});
    input.addEventListener("input", () => {
      state.filters.set(column.name, input.value);
      state.rows = ROWS_AT_ONCE;
      bodyOfRuns(all);
    });
    return make("th", {}, input);
  }));
  fill("table-runs", [head, filters], []);
  bodyOfRuns(all);
}
function bodyOfRuns(all) {
  const filters = all.map((column) => [column, state.filters.get(column.name) ?? ""])
    .filter(([, text]) => text.trim());
  // On paper, those that the plots show.
  const runs = data.runs.filter((run) => !state.off.has(run.queue)
    && (!state.printing || same(run.slice, state.slice)) && filters.every(([column, text]) => passes(column.of(run), text)));
  const by = all.find((column) => column.name === state.sort);
  if (by) runs.sort((one, other) => ordered(by.of(one), by.of(other)));
  const most = state.printing ? runs.length : state.rows;
  byId("table-runs").tBodies[0].replaceChildren(...runs.slice(0, most).map(
    (run) => make("tr", {}, ...all.map((column) => {
      const value = column.of(run);
      return make("td", {className: typeof value === "number" ? "" : "left"},
        column.key ? digits(value) : said(value));
    }))));
  byId("runs-count").textContent = `${runs.length} of ${counted(data.runs.length)}.`;
  byId("runs-more").hidden = runs.length <= most;
}

// ---- what is chosen ----
function select(label, values, text, chosen, change) {
  const made = make("select", {"aria-label": label}, ...values.map((value, at) =>
    make("option", {value: String(at), selected: value === chosen}, text(value))));
  made.addEventListener("change", () => change(values[Number(made.value)]));
  return make("label", {}, label, made);
}
function toggle(name) {
  if (!state.off.delete(name)) state.off.add(name);
  render();
}
function settle() {
  // The first slice that has runs, near to what was chosen.
  const there = data.cells.map((cell) => cell.slice);
  if (!there.some((slice) => same(slice, state.slice))) {
    // At first, the one with the most to see.
    const near = (slice) => state.slice.length
      ? slice.filter((value, at) => value === state.slice[at]).length
      : data.cells.reduce((sum, cell) => sum + (same(cell.slice, slice)
        ? Object.keys(cell.ways).length : 0), 0);
    state.slice = there.reduce((best, slice) => best && near(best) >= near(slice) ? best : slice,
      null) ?? [];
  }
  if (!cellsHere().some((cell) => cell.rate === state.rate)) {
    const rates = data.rates.filter((rate) => cellsHere().some((cell) => cell.rate === rate));
    state.rate = rates.includes(100) ? 100 : rates[0] ?? null;
  }
}
function controls() {
  const chips = make("div", {className: "chips", role: "group", "aria-label": `${data.side}s`},
    ...data.queues.map((queue) => {
      const dot = make("i");
      dot.style.background = colour(queue);
      const chip = make("button", {type: "button"}, dot, queue.name);
      chip.setAttribute("aria-pressed", String(!state.off.has(queue.name)));
      chip.dataset.queue = queue.name;
      chip.addEventListener("click", () => {
        toggle(queue.name);
        [...document.querySelectorAll(".chips button")].find(
          (one) => one.dataset.queue === queue.name)?.focus();
      });
      return chip;
    }));
  const dimensions = data.dimensions.map((one, at) => [one, at])
    .filter(([one]) => one.values.length > 1)
    .map(([one, at]) => select(one.label, one.values, said, state.slice[at], (value) => {
      const wanted = state.slice.with(at, value);
      // Of the slices with that value, the nearest.
      const near = (slice) => slice.filter((other, place) => other === wanted[place]).length;
      state.slice = data.cells.map((cell) => cell.slice).filter((slice) => slice[at] === value)
        .reduce((best, slice) => best && near(best) >= near(slice) ? best : slice, null);
      render();
    }));
  const rates = data.rates.filter((rate) => cellsHere().some((cell) => cell.rate === rate));
  const rate = rates.length > 1 ? [select("rate of single plots", rates, rateText, state.rate,
    (value) => { state.rate = value; render(); })] : [];
  byId("controls").replaceChildren(chips, ...dimensions, ...rate);
  const words = data.dimensions.map((one, at) => `${one.label} ${said(state.slice[at])}`);
  byId("slice").textContent = `Shown: ${words.join(", ")}; ${counted(cellsHere().reduce(
    (sum, cell) => sum + cell.runs, 0))}.`;
  for (const place of document.querySelectorAll(".rate")) {
    place.textContent = state.rate === null ? "" : `at ${rateText(state.rate)}`;
  }
}
function choices(id, values, change) {
  const place = byId(id), before = place.value;
  if (place.parentElement.tagName === "LABEL") place.parentElement.hidden = !values.length;
  place.replaceChildren(...values.map(([value, text]) => make("option", {value}, text)));
  if (values.some(([value]) => value === before)) place.value = before;
  place.onchange = change;
}
function lists() {
  const named = (names) => data.metrics.filter(names).map((one) => [one.name, one.about]);
  choices("glitches-what", named((one) => one.name.includes("glitch")), plotGlitches);
  choices("statistics-of", named((one) => data.statistic_metrics.includes(one.name)),
    tableStatistics);
  byId("metrics-about").replaceChildren(...data.metrics.flatMap((metric) => [
    make("dt", {}, readable(metric.name)),
    make("dd", {}, metric.unit ? `${metric.about} (${metric.unit})` : metric.about)]));
  byId("runs-columns").replaceChildren(...data.metrics.map((metric) => make("option",
    {value: metric.name, selected: state.columns.includes(metric.name)},
    `${readable(metric.name)}: ${metric.about}`)));
}
function render() {
  applyTheme();
  settle();
  controls();
  const plots = [plotThroughput, plotLatency, plotTails, plotGlitches, plotTime];
  for (const one of plots) one();
  tableScores();
  tableStatistics();
  tableVariance();
  tableRuns();
}
function print(on) {
  state.printing = on;
  document.body.classList.toggle("printing", on);
  render();
}

byId("throughput-in").addEventListener("change", plotThroughput);
byId("tails-as").addEventListener("change", plotTails);
byId("time-what").addEventListener("change", plotTime);
byId("runs-more").addEventListener("click", () => {
  state.rows += 5 * ROWS_AT_ONCE;
  bodyOfRuns(columns());
});
byId("runs-columns").addEventListener("change", (event) => {
  state.columns = [...event.target.selectedOptions].map((option) => option.value);
  tableRuns();
});
byId("theme").addEventListener("click", () => {
  chosenTheme = isDark() ? "light" : "dark";
  render();
});
byId("printable").addEventListener("click", () => window.print());
window.addEventListener("beforeprint", () => print(true));
window.addEventListener("afterprint", () => print(false));
prefers.addEventListener("change", render);

// For `flent-aqm report --follow`: new runs, the same choices.
window.report = {
  update(fresh) {
    data = fresh;
    heedLost();
    lists();
    render();
  },
  print,
};
heedLost();
lists();
render();
})();
