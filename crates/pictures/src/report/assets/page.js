"use strict";
// Draws the plots of the page. `gyrator.replace(update)` puts other sections and another drawing in their places.
const gyrator = (() => {
  const HEIGHT = 200;
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
  const PRINTED_WIDTH = 680; // of A4 less its margins, in CSS pixels
  const SVG = "http://www.w3.org/2000/svg";
  const $ = (id) => document.getElementById(id);
  let drawing = { rows: 0, plots: [] };
  let times = [];
  let drawn = []; // of each plot: { figure, plot, keys }
  let shown = 0;
  let isSyncing = false;
  const hidden = new Set(); // names of signals that the reader has hidden

  const element = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  const inflate = async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  // offset + scale · 32-bit floats, whose lowest bytes come first, then the next ones; null is a gap.
  const unpack = async ({ offset, scale, values }) => {
    const bytes = await inflate(values);
    const count = bytes.length / 4;
    const view = new DataView(new ArrayBuffer(4));
    return Array.from({ length: count }, (_, k) => {
      for (let byte = 0; byte < 4; byte++) view.setUint8(byte, bytes[byte * count + k]);
      const value = offset + scale * view.getFloat32(0, true);
      return Number.isFinite(value) ? value : null;
    });
  };

  const timesOf = async (time) => {
    if (time.offsets) return (await unpack(time.offsets)).map((offset) => time.from + offset);
    const last = Math.max(time.count - 1, 1);
    return Array.from({ length: time.count }, (_, k) => time.from * (1 - k / last) + time.to * (k / last));
  };

  // Numbers of more digits are drawn by another power of ten: labels would be long, and uPlot has none beyond 1e32 and below 1e-16.
  const MOST_DIGITS = { before: 7, after: 12 };
  const ROUNDING = 1e-6; // of 32-bit floats
  const FAR = 1e-3;

  const powerOf = (series) => {
    let [least, greatest] = [Infinity, -Infinity];
    for (const { values, error } of series) {
      values.forEach((value, k) => {
        if (value == null) return;
        const size = (error && error[k]) || 0;
        least = Math.min(least, Math.max(value - size, -Number.MAX_VALUE));
        greatest = Math.max(greatest, Math.min(value + size, Number.MAX_VALUE));
      });
    }
    const most = Math.max(Math.abs(least), Math.abs(greatest));
    // Far from 0 the digits that differ are behind the others, whatever the power.
    if (!(most > 0 && most < Infinity) || greatest / most - least / most < FAR) return 0;
    const power = Math.floor(Math.log10(most) + ROUNDING);
    return power < MOST_DIGITS.before && power > -MOST_DIGITS.after ? 0 : power;
  };

  const unpackPlot = async (plot) => {
    const series = await Promise.all(plot.series.map(async (one) => ({
      name: one.name,
      values: await unpack(one),
      error: one.error && (await unpack(one.error)),
    })));
    return { ...plot, series, power: powerOf(series) };
  };

  // Both halves of a power of ten have a double where the whole has none.
  const halves = (power) => [Math.trunc(power / 2), power - Math.trunc(power / 2)].map((half) => Number(`1e${half}`));
  const scaled = (values, power) => {
    if (power === 0) return values;
    const [one, other] = halves(power);
    return values.map((value) => (value == null ? null : value / one / other));
  };
  const unscaled = (value, power) => (value == null || power === 0 ? value : halves(power).reduce((product, half) => product * half, value));
  const superscript = (number) => String(number).replace(/./g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
  const axisLabel = ({ unit, power }) => [power === 0 ? "" : `×10${superscript(power)}`, unit || ""].filter(Boolean).join(" ");

  // Seven digits are in a 32-bit float.
  const short = (value) => (value == null ? "" : String(Number(value.toPrecision(7))));

  // As many digits as tell neighbours apart, up to those of a double.
  const ticks = (_, splits, axis, space, step) => {
    const most = splits.reduce((most, value) => Math.max(most, Math.abs(value)), step);
    const digits = Math.min(Math.max(Math.ceil(Math.log10(most / step)) + 2, 10), 17);
    return splits.map((value) => String(Number(value.toPrecision(digits))));
  };

  // The same for all plots, so that their times stand below each other, unless a label is longer.
  const axisWidth = (_, values) => 22 + 7 * Math.max(7, ...(values || []).map((text) => text.length));

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const width = () =>
    document.documentElement.dataset.print ? PRINTED_WIDTH : Math.max($("plots").clientWidth, 240);

  // The line as it is drawn, beside the name: dashes are seen without colour.
  const sample = (index) => {
    const svg = document.createElementNS(SVG, "svg");
    const line = document.createElementNS(SVG, "line");
    const attributes = { x1: 0, y1: 5, x2: 34, y2: 5, "stroke-dasharray": DASHES[index % 4].join(" ") };
    for (const [name, value] of Object.entries(attributes)) line.setAttribute(name, value);
    for (const [name, value] of Object.entries({ width: 34, height: 10, class: `k${index % 4}` })) svg.setAttribute(name, value);
    svg.append(line);
    return svg;
  };

  // Values between gaps, which no line shows.
  const alone = (plot, place, show) => {
    const values = plot.data[place];
    const at = show ? [] : values.flatMap((value, k) => (value != null && values[k - 1] == null && values[k + 1] == null ? [k] : []));
    return at.length > 0 ? at : null;
  };

  // Columns of uPlot, and the bands of the error bars.
  const columns = (plot) => {
    const data = [times];
    const series = [{}];
    const bands = [];
    plot.series.forEach((one, index) => {
      const values = scaled(one.values, plot.power);
      const stroke = colour(`--c${index % 4}`);
      data.push(values);
      series.push({ label: one.name, stroke, dash: DASHES[index % 4], width: 1.5, points: { show: () => times.length < 2, filter: alone } });
      if (one.error) {
        const size = scaled(one.error, plot.power);
        for (const sign of [1, -1]) {
          data.push(values.map((value, k) => (value == null || size[k] == null ? null : value + sign * size[k])));
          series.push({ label: one.name, stroke, width: 0.5, points: { show: false }, bar: true });
        }
        bands.push({ series: [data.length - 2, data.length - 1], fill: `color-mix(in srgb, ${stroke} 22%, transparent)` });
      }
    });
    return { data, series, bands };
  };

  const synchronise = (plot) => {
    if (isSyncing) return;
    isSyncing = true;
    const { min, max } = plot.scales.x;
    drawn.forEach(({ plot: other }) => {
      const { x } = other.scales;
      if (other !== plot && (x.min !== min || x.max !== max)) other.setScale("x", { min, max });
    });
    isSyncing = false;
  };

  const showCursor = (plot) => {
    const index = plot.cursor.idx;
    $("cursor").textContent = index == null ? "" : `t = ${short(times[index])} s`;
    drawn.forEach(({ plot, keys, power }) =>
      keys.forEach(({ figure, place }) => (figure.textContent = index == null ? "" : short(unscaled(plot.data[place][index], power)))));
  };

  const options = (plot, { series, bands }) => {
    const ink = colour("--ink");
    const grid = { stroke: colour("--line"), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, values: ticks, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" };
    return {
      width: width(),
      height: HEIGHT,
      series,
      bands,
      legend: { show: false },
      scales: { x: { time: false } },
      axes: [
        { ...axis, label: "time, s", size: 28, labelSize: 18 },
        { ...axis, label: axisLabel(plot), size: axisWidth, labelSize: 20 },
      ],
      cursor: { sync: { key: "time", setSeries: false }, drag: { x: true, y: false } },
      hooks: { setScale: [(u, scale) => scale === "x" && synchronise(u)], setCursor: [showCursor] },
    };
  };

  const caption = (plot, series) => {
    const keys = [];
    const made = element("figcaption", {});
    if (plot.title) made.append(element("strong", { textContent: plot.title }));
    plot.series.forEach((one, index) => {
      const place = series.findIndex((other) => other.label === one.name && !other.bar);
      const figure = element("span", { className: "figure" });
      const remark = one.error ? " with its error bar" : "";
      const key = element("button", { type: "button", className: "key", title: "Show or hide" }, sample(index), one.name + remark, figure);
      key.setAttribute("aria-pressed", "true");
      keys.push({ key, figure, place });
      made.append(key);
    });
    return { made, keys };
  };

  // The foremost plots stand open, the others are folded away.
  const draw = (plot, place) => {
    const made = columns(plot);
    const { made: head, keys } = caption(plot, made.series);
    const figure = element("figure", { tabIndex: 0 }, head);
    figure.setAttribute("aria-label", `Plot of ${plot.series.map((one) => one.name).join(", ")}`);
    if (place < drawing.foremost) $("others").before(figure);
    else $("others").append(figure);
    const u = new uPlot(options(plot, made), made.data, figure);
    keys.forEach(({ key, place }) => {
      const toggle = (show) => {
        key.setAttribute("aria-pressed", String(show));
        u.setSeries(place, { show });
        for (let k = place + 1; k < u.series.length && u.series[k].bar; k++) u.setSeries(k, { show });
      };
      const { label } = u.series[place];
      if (hidden.has(label)) toggle(false);
      key.addEventListener("click", () => {
        const show = !u.series[place].show;
        if (show) hidden.delete(label);
        else hidden.add(label);
        toggle(show);
      });
    });
    return { figure, plot: u, keys, kind: kind(plot), power: plot.power };
  };

  // What makes a plot another one than before: with the same, it takes new data.
  const kind = ({ title, unit, power, series }) => JSON.stringify([title, unit, power, series.map(({ name, error }) => [name, Boolean(error)])]);

  // The plot under the pointer, if there is one.
  const pointed = () => drawn.map(({ plot }) => plot).find(({ cursor }) => cursor.left >= 0);

  // The times that the reader has zoomed to.
  const zoomed = () => {
    if (drawn.length === 0) return null;
    const [{ plot: { data: [whole], scales: { x } } }] = drawn;
    return whole.length > 1 && (x.min > whole[0] || x.max < whole[whole.length - 1]) ? { min: x.min, max: x.max } : null;
  };

  // All plots again: other data, or other colours.
  const redraw = () => {
    const range = zoomed();
    const under = pointed();
    const time = under && under.posToVal(under.cursor.left, "x");
    drawn.forEach(({ plot, figure }) => (plot.destroy(), figure.remove()));
    drawn = [];
    drawn = drawing.plots.map(draw);
    const folded = drawn.length - drawing.foremost;
    $("others").hidden = !(folded > 0);
    $("others").firstElementChild.textContent = `${folded} more plot${folded === 1 ? "" : "s"}`;
    if (range) drawn.forEach(({ plot }) => plot.setScale("x", range));
    // After the plots have their scales.
    if (under) queueMicrotask(() => drawn.forEach(({ plot }) => plot.setCursor({ left: plot.valToPos(time, "x"), top: 1 })));
    describe();
  };

  // The same plots with other data: what the reader has chosen, and the cursor, stay.
  const refresh = () => {
    const { plots } = drawing;
    if (drawn.length === 0 || plots.length !== drawn.length || plots.some((plot, k) => kind(plot) !== drawn[k].kind)) return redraw();
    const range = zoomed();
    drawn.forEach(({ plot }, k) => {
      plot.setData(columns(plots[k]).data, !range);
      if (range) plot.redraw();
    });
    if (pointed()) queueMicrotask(() => drawn.forEach(({ plot }) => plot.setCursor({ left: plot.cursor.left, top: plot.cursor.top })));
    describe();
  };

  const describe = () => {
    const count = times.length;
    const constants = Object.entries(drawing.constants || {}).map(([name, value]) => `${name} = ${value}`);
    const empty = drawing.empty || [];
    $("signals").hidden = drawn.length + constants.length + empty.length === 0;
    const sentences = [constants.length > 0 && `Constant: ${constants.join(", ")}.`, empty.length > 0 && `Without a finite value: ${empty.join(", ")}.`];
    $("constants").textContent = sentences.filter(Boolean).join(" ");
    $("drawn").textContent = drawing.exact
      ? drawing.rows === 1 ? "The one row." : `Every one of ${drawing.rows} rows.`
      : `Smallest and greatest values of ${drawing.rows} rows, at ${count} times: no peak is lost.`;
  };

  // The latest drawing wins.
  const show = async (next) => {
    const mine = ++shown;
    const unpacked = await Promise.all([timesOf(next.time), ...next.plots.map(unpackPlot)]);
    if (mine !== shown) return;
    times = unpacked[0];
    drawing = { ...next, plots: unpacked.slice(1) };
    refresh();
  };

  const sources = new Map(); // HTML of the sections that were replaced
  const replace = async ({ sections = {}, drawing: next }) => {
    for (const [id, html] of Object.entries(sections)) {
      const section = $(id);
      if (!section || sources.get(id) === html) continue;
      sources.set(id, html);
      // What the reader has unfolded and scrolled to stays.
      const open = [...section.querySelectorAll("details")].map((one) => one.open);
      const left = [...section.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
      section.innerHTML = html;
      section.hidden = html === "";
      section.querySelectorAll("details").forEach((one, k) => (one.open = Boolean(open[k])));
      section.querySelectorAll(".scroll").forEach((one, k) => (one.scrollLeft = left[k] || 0));
    }
    if (next) await show(next);
  };

  const zoom = (how) => {
    if (drawn.length === 0 || times.length < 2) return;
    const first = times[0];
    const last = times[times.length - 1];
    const { min, max } = drawn[0].plot.scales.x;
    const size = max - min;
    const ranges = {
      in: [min + size / 4, max - size / 4],
      out: [min - size / 2, max + size / 2],
      left: [min - size / 4, max - size / 4],
      right: [min + size / 4, max + size / 4],
      all: [first, last],
    };
    const [from, to] = ranges[how];
    const shift = Math.max(first - from, 0) - Math.max(to - last, 0);
    const isInside = to - from < last - first;
    drawn[0].plot.setScale("x", isInside ? { min: from + shift, max: to + shift } : { min: first, max: last });
  };

  const KEYS = { "+": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all" };

  const start = () => {
    show(JSON.parse($("drawing").textContent)).catch((error) => {
      $("plots").append(element("p", { textContent: `The plots cannot be drawn: ${error}` }));
    });
    $("toolbar").addEventListener("click", (event) => event.target.dataset.zoom && zoom(event.target.dataset.zoom));
    $("plots").addEventListener("keydown", (event) => {
      if (!(event.key in KEYS) || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      zoom(KEYS[event.key]);
    });
    // uPlot knows the places of plots that are shown.
    $("others").addEventListener("toggle", () => drawn.forEach(({ plot }) => plot.syncRect(true)));
    const resize = () => drawn.forEach(({ plot }) => plot.setSize({ width: width(), height: HEIGHT }));
    window.addEventListener("resize", resize);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    // Paper is light and has another width; what is folded away belongs on it.
    window.addEventListener("beforeprint", () => {
      document.documentElement.dataset.print = "yes";
      document.querySelectorAll("details:not([open])").forEach((details) => (details.open = details.dataset.opened = true));
      redraw();
    });
    window.addEventListener("afterprint", () => {
      delete document.documentElement.dataset.print;
      document.querySelectorAll("details[data-opened]").forEach((details) => {
        details.open = false;
        delete details.dataset.opened;
      });
      redraw();
    });
  };
  // First and last time that each plot shows, and the first of them.
  const ranges = () => drawn.map(({ plot }) => [plot.scales.x.min, plot.scales.x.max]);
  // The upright axis of each plot: its name, and the labels of its ticks.
  const axes = () => drawn.map(({ plot: { axes: [, { label, _values }] } }) => [label, _values]);
  start();
  return { replace, zoom, ranges, range: () => ranges()[0], axes };
})();
