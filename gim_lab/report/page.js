"use strict";
// Draws the figures of the page with Plotly, lets legends switch lines, and sorts tables.
// All data is in the page: nothing is asked of any network.
const DATA = JSON.parse(document.getElementById("data").textContent);
const darkness = matchMedia("(prefers-color-scheme: dark)");
const colour = (look) => (darkness.matches ? look.dark : look.light);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const faint = (hex) => hex + "2e";
// Plotly reads tags and %{...} in texts; those of a name are to be shown as they are.
const literal = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("%{", "%&#123;");

function hover(series) {
  const more = series.text ? "<br>%{text}" : "";
  return "%{x:,.4~r}: %{y:,.5~r}" + more + "<extra>" + literal(series.name) + "</extra>";
}

function lines(series, look, shown) {
  const base = { name: series.name, visible: shown, showlegend: false, meta: series.name };
  const made = [];
  if (series.low) {
    const x = [], y = [];
    series.low.forEach((v, i) => { if (v !== null) { x.push(series.x[i]); y.push(v); } });
    for (let i = series.high.length - 1; i >= 0; i--) {
      if (series.high[i] !== null) { x.push(series.x[i]); y.push(series.high[i]); }
    }
    made.push({ ...base, x, y, fill: "toself", fillcolor: faint(colour(look)), mode: "lines",
      line: { width: 0 }, hoverinfo: "skip" });
  }
  const trace = { ...base, x: series.x, y: series.y, mode: series.marks ? "lines+markers" : "lines",
    line: { color: colour(look), width: 2, dash: look.dash, shape: series.kind === "step" ? "hvh" : "linear" },
    hovertemplate: hover(series) };
  if (series.text) trace.text = series.text.map(literal);
  if (series.low) trace.customdata = series.low.map((v, i) => [v, series.high[i]]);
  if (series.low) {
    trace.hovertemplate = "%{x:,.4~r}: %{y:,.5~r} (%{customdata[0]:,.5~r} to %{customdata[1]:,.5~r})"
      + (series.marks ? "<br>%{text}" : "") + "<extra>" + literal(series.name) + "</extra>";
  }
  if (series.marks) {
    trace.marker = { size: 7, color: series.x.map((_, i) => (series.hollow?.[i] ? css("--page") : colour(look))),
      line: { color: colour(look), width: 1.6 } };
  }
  made.push(trace);
  return made;
}

function layout(panel) {
  const axis = { gridcolor: css("--line"), zerolinecolor: css("--line"), linecolor: css("--soft"),
    tickfont: { color: css("--soft"), size: 11 }, automargin: true, fixedrange: false };
  const title = (text) => ({ text: literal(text), font: { size: 12, color: css("--soft") }, standoff: 6 });
  const made = {
    title: { text: literal(panel.title), font: { size: 14, color: css("--ink") }, x: 0.02, xanchor: "left", y: 0.97 },
    margin: { l: 10, r: 10, t: 34, b: 10 }, paper_bgcolor: css("--page"), plot_bgcolor: css("--page"),
    font: { family: "system-ui, sans-serif", color: css("--ink") }, showlegend: false,
    hovermode: "closest", dragmode: "zoom",
    hoverlabel: { bgcolor: css("--box"), bordercolor: css("--line"), font: { color: css("--ink") } },
    xaxis: { ...axis, title: title(panel.x), type: panel.log_x ? "log" : "linear" },
    yaxis: { ...axis, title: title(panel.y), exponentformat: "SI" },
  };
  const marked = panel.series.some((series) => series.marks);
  if (marked || panel.log_x) {
    const scale = panel.log_x ? Math.log10 : (x) => x;
    const x = panel.series.flatMap((series) => series.x).map(scale);
    const [low, high] = [Math.min(...x), Math.max(...x)];
    const room = (marked ? 0.05 : 0.02) * (high - low) || 1;
    made.xaxis.range = [low - room, high + room];
    if (panel.log_x) {
      Object.assign(made.xaxis, high < 2.3 ? { tickvals: [1, 2, 3, 5, 10, 20, 30, 50, 100] } : { dtick: 1 });
    }
  }
  if (panel.series.every((series) => series.y.every((y) => y === null))) {
    made.annotations = [{ text: "no run finished exploring", showarrow: false, xref: "paper", yref: "paper",
      x: 0.5, y: 0.5, font: { color: css("--soft") } }];
    made.xaxis.showticklabels = made.yaxis.showticklabels = false;
  }
  if (panel.y.includes("optimum")) made.yaxis.tickformat = ".3~f";
  return made;
}

const CONFIG = { responsive: true, displaylogo: false,
  plotlyServerURL: "",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud"] };

class Figure {
  constructor(place, data) {
    this.data = data;
    this.hidden = new Set();
    this.plots = [...place.querySelectorAll(".plot")];
    this.drawn = new Set();
    for (const button of place.querySelectorAll(".legend button")) {
      button.addEventListener("click", () => this.toggle(button));
    }
  }
  toggle(button) {
    const name = button.dataset.name;
    const shown = this.hidden.delete(name);
    if (!shown) this.hidden.add(name);
    button.setAttribute("aria-pressed", String(shown));
    for (const i of this.drawn) this.draw(i);
  }
  draw(i) {
    this.drawn.add(i);
    const panel = this.data.panels[i];
    const traces = panel.series.flatMap((series) =>
      lines(series, this.data.looks[series.name], !this.hidden.has(series.name)));
    Plotly.react(this.plots[i], traces, layout(panel), CONFIG);
  }
}

const figures = [...document.querySelectorAll(".figure")].map(
  (place) => new Figure(place, DATA.figures[place.id]));
const owner = new Map();
for (const figure of figures) figure.plots.forEach((plot, i) => owner.set(plot, [figure, i]));

// A figure is drawn when it comes near the screen: a report may hold more than a hundred panels.
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    watcher.unobserve(entry.target);
    const [figure, i] = owner.get(entry.target);
    figure.draw(i);
  }
}, { rootMargin: "400px" });
for (const plot of owner.keys()) watcher.observe(plot);

function drawAll() { for (const [figure, i] of owner.values()) if (!figure.drawn.has(i)) figure.draw(i); }
addEventListener("beforeprint", drawAll);
darkness.addEventListener("change", () => {
  for (const figure of figures) {
    for (const i of figure.drawn) figure.draw(i);
  }
  paintLegends();
});

function paintLegends() {
  for (const mark of document.querySelectorAll(".legend i")) {
    mark.style.borderTopColor = darkness.matches ? mark.dataset.dark : mark.dataset.light;
  }
}
paintLegends();

// Sorting: by number where every cell begins with one, else by word.
function value(cell) {
  const text = cell.textContent.trim();
  const number = parseFloat(text.replace(/[>,]/g, "").replace("−", "-"));
  return Number.isNaN(number) ? text : number;
}
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [value(row.cells[column]), row]);
    const numbers = rows.every(([key]) => typeof key === "number");
    rows.sort(([a], [b]) => (numbers ? a - b : String(a).localeCompare(String(b))) * (up ? 1 : -1));
    body.append(...rows.map(([, row]) => row));
  }));
}
