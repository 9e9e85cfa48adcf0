"use strict";
// Follows a run or a study on its page: events come in, commands go out. `gyrator.replace` draws, where the page has it.
(() => {
  const STYLE = `
    #live { position: sticky; top: 0; z-index: 300; background: var(--paper, Canvas); border-bottom: 1px solid var(--line, GrayText); padding: .5rem 0; }
    #live .row { display: flex; flex-wrap: wrap; gap: .4rem .8rem; align-items: center; margin: .25rem 0; }
    #live .badge { font-weight: 600; min-width: 9rem; }
    #live progress { flex: 1 1 6rem; max-width: 24rem; height: .8rem; }
    #live .buttons { display: inline-flex; gap: .4rem; white-space: nowrap; }
    #live .where { font-variant-numeric: tabular-nums; }
    #live input { font: inherit; padding: .1rem .3rem; max-width: 18rem; }
    #live button { font: inherit; }
    #live .banner { border-left: .3rem solid; padding-left: .6rem; margin: .4rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
    #live .answers { margin: .2rem 0; padding-left: 1.2rem; max-height: 5.5rem; overflow-y: auto; font-size: .85rem; }
    #live .wrong { color: var(--bad, #b3261e); }
    #live.followed #toolbar, #live ~ * .toolbar { position: static; }
    #table { overflow-x: auto; } #table table { border-collapse: collapse; font-size: .85rem; }
    #table th, #table td { text-align: left; padding: .1rem .8rem .1rem 0; border-bottom: 1px solid var(--line, GrayText); white-space: nowrap; }
    @media print { #live button, #live form, #live progress { display: none; } }`;
  const style = new CSSStyleSheet();
  style.replaceSync(STYLE);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, style];

  const make = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  const short = (value) => String(Number(Number(value).toPrecision(6)));

  let begin = null;
  let state = null;
  let table = null;
  let end = null;
  let isConnected = false;
  let stops = 0;
  const rows = new Map();

  const badge = make("span", { className: "badge", textContent: "… connecting" });
  const progress = make("progress", { max: 1, value: 0, hidden: true });
  const where = make("span", { className: "where" });
  const pause = make("button", { type: "button", textContent: "Pause", hidden: true });
  const stop = make("button", { type: "button", textContent: "Stop" });
  const banner = make("p", { className: "banner", hidden: true });
  banner.setAttribute("role", "status");
  const answers = make("ul", { className: "answers", hidden: true });
  const names = make("datalist", { id: "writable" });
  const variable = make("input", { name: "variable", placeholder: "component.variable", required: true });
  variable.setAttribute("list", "writable");
  variable.setAttribute("aria-label", "Variable");
  const value = make("input", { name: "value", placeholder: "value", size: 12 });
  value.setAttribute("aria-label", "Value");
  const unit = make("span");
  const override = make("button", { type: "submit", textContent: "Override" });
  const release = make("button", { type: "button", textContent: "Release" });
  const form = make("form", { className: "row" }, variable, names, value, unit, override, release);
  const scenario = make("pre");
  const actions = make("details", { hidden: true }, make("summary", { textContent: "Actions so far, as a scenario" }), scenario);
  const overriding = make("details", { hidden: true }, make("summary", { textContent: "Override an input or a parameter" }), form, answers);
  const panel = make("section", { id: "live" },
    // The buttons before the figures: their place does not depend on the lengths of those.
    make("div", { className: "row" }, badge, make("span", { className: "buttons" }, pause, stop), progress, where), banner, overriding, actions);
  const tables = make("section", { id: "table", hidden: true });
  document.body.prepend(panel);
  (document.querySelector("main") || document.body).prepend(tables);

  const said = (text, isError) => {
    const item = make("li", { textContent: text, className: isError ? "wrong" : "" });
    answers.prepend(item);
    while (answers.children.length > 20) answers.lastChild.remove();
    answers.hidden = false;
  };

  const command = async (command) => {
    try {
      const response = await fetch("commands", { method: "POST", body: JSON.stringify(command) });
      if (!response.ok) said(await response.text(), true);
    } catch {
      said("the program does not answer", true);
    }
  };

  // TOML of the actions that were carried out, for `--scenario`.
  const asScenario = (list) => {
    const begun = [];
    for (const { time, variable, action, parameters, event } of list) {
      if (event === "begin") begun.push({ time, variable, action, parameters });
      else {
        const isReset = begun.some((one) => one.action === "reset" && one.variable === variable && one.time === time);
        const last = begun.findLast((one) => one.action === action && one.variable === variable);
        if (last && !isReset) last.until = time;
      }
    }
    return begun.map(({ time, until, variable, action, parameters }) => {
      const given = Object.entries(parameters || {}).map(([name, number]) => `, ${name} = ${number}`);
      const word = given.length ? `{ name = "${action}"${given.join("")} }` : `"${action}"`;
      const lines = ["[[actions]]", `time = ${time}`, `variable = ${JSON.stringify(variable)}`, `action = ${word}`];
      if (until !== undefined) lines.splice(2, 0, `until = ${until}`);
      return lines.join("\n");
    }).join("\n\n");
  };

  const showState = () => {
    const isPaused = Boolean(state && state.is_paused);
    if (end) badge.textContent = end.is_failure ? "✖ failed" : "■ ended";
    else if (!isConnected) badge.textContent = "… connection lost";
    else if (isPaused) badge.textContent = "❚❚ paused";
    else badge.textContent = begin || table ? "▶ running" : "… loading";
    document.title = `${badge.textContent.slice(0, 2)} ${(begin || table || {}).system || (table || {}).study || "gyrator"}`;
    pause.textContent = isPaused ? "Resume" : "Pause";
    pause.hidden = !begin || Boolean(end);
    stop.hidden = Boolean(end);
    stop.textContent = stops === 0 ? "Stop" : "Stop at once";
    overriding.hidden = !begin || Boolean(end);
    if (begin && state) {
      const { start_time: first, stop_time: last } = begin;
      progress.hidden = last == null;
      if (last != null) progress.value = (state.time - first) / (last - first);
      const speed = state.elapsed > 0 ? `, ${Number(((state.time - first) / state.elapsed).toPrecision(3))} s/s` : "";
      where.textContent = `t = ${short(state.time)} s${last == null ? "" : ` of ${short(last)} s`}, ${state.steps} steps${speed}`;
      const list = state.report.actions || [];
      actions.hidden = list.length === 0;
      scenario.textContent = asScenario(list);
    }
    if (end) {
      banner.hidden = false;
      banner.className = end.is_failure ? "banner wrong" : "banner";
      banner.textContent = `${end.text}\nThe program has ended: the page shows how the run stood then, and can be saved. Loading it again finds nothing.`;
    }
  };

  const cells = (text) => text.match(/("([^"]|"")*"|[^,]*)(,|$)/g).map((cell) => cell.replace(/,$/, "").replace(/^"|"$/g, "").replaceAll('""', '"')).slice(0, table.columns.length);

  const showTable = (done) => {
    tables.hidden = false;
    progress.hidden = false;
    progress.value = table.total === 0 ? 1 : done / table.total;
    where.textContent = `${done} of ${table.total} rows`;
    const shown = [...rows.entries()].sort(([one], [other]) => one - other).slice(-1000);
    const head = make("tr", {}, ...["row", ...table.columns].map((name) => make("th", { textContent: name })));
    const body = shown.map(([row, text]) => make("tr", {}, ...[row, ...cells(text)].map((cell) => make("td", { textContent: cell }))));
    tables.replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
  };

  // A drawing in the middle of a zoom would end it; a page that is not seen needs none.
  let waiting = null;
  let isHeld = false;
  const draw = (update) => {
    if (update) waiting = update;
    if (!waiting || isHeld || document.hidden) return;
    const next = waiting;
    waiting = null;
    if (typeof gyrator === "undefined") return;
    // A plot takes the width of what is seen.
    document.getElementById("signals").hidden = next.drawing.plots.length === 0;
    gyrator.replace(next);
  };
  document.addEventListener("pointerdown", (event) => (isHeld = Boolean(event.target.closest && event.target.closest("#plots"))));
  for (const name of ["pointerup", "pointercancel"]) {
    document.addEventListener(name, () => { isHeld = false; setTimeout(draw, 0); });
  }
  document.addEventListener("visibilitychange", () => draw());

  const receive = {
    begin: (message) => {
      begin = message;
      const title = document.querySelector("h1");
      if (title) title.textContent = begin.system.split(/[/\\]/).pop();
      const graph = document.getElementById("graph");
      if (graph && begin.graph) {
        // An image of its own: nothing in it runs or loads anything.
        const bytes = new TextEncoder().encode(begin.graph);
        const image = make("img", { alt: "components, connections and bonds of the system", src: `data:image/svg+xml;base64,${btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(""))}` });
        graph.replaceChildren(make("h2", { textContent: "The system" }), image);
        graph.hidden = false;
      }
      names.replaceChildren(...begin.writable.map((one) => make("option", { value: one.name, label: `${one.type}${one.unit ? `, ${one.unit}` : ""}` })));
    },
    state: (message) => (state = message),
    answer: ({ text, is_error: isError }) => said(text, isError),
    update: draw,
    table: (message) => (table = message),
    rows: ({ rows: more, done }) => {
      more.forEach(([row, text]) => rows.set(row, text));
      if (table) showTable(done);
    },
    end: (message) => {
      end = message;
      const report = end.summary;
      if (report && state) {
        // A run whose process is lost may have got nowhere.
        const { stop_time: time = state.time, steps = state.steps } = report;
        state = { ...state, time, steps, is_paused: false, report };
      }
      source.close();
    },
  };

  // What moves comes before what stays.
  const verdict = document.getElementById("verdict");
  if (verdict) verdict.after(document.getElementById("signals"), document.getElementById("graph"));

  const source = new EventSource("events");
  source.onopen = () => {
    isConnected = true;
    answers.replaceChildren();
    showState();
  };
  source.onerror = () => {
    isConnected = false;
    showState();
  };
  source.onmessage = (event) => {
    const message = JSON.parse(event.data);
    document.documentElement.dataset.events = Number(document.documentElement.dataset.events || 0) + 1;
    if (Object.hasOwn(receive, message.kind)) receive[message.kind](message);
    showState();
  };

  // A number, a truth value, or the name of an item.
  const typed = (text) => {
    const known = begin.writable.find((one) => one.name === variable.value);
    if (known && known.type === "boolean") return text === "true" || text === "1";
    if (known && known.type === "enumeration" && known.items.includes(text)) return text;
    const number = Number(text);
    return text.trim() !== "" && Number.isFinite(number) ? number : text;
  };
  variable.addEventListener("input", () => {
    const known = begin && begin.writable.find((one) => one.name === variable.value);
    unit.textContent = known ? (known.items || []).join(", ") || known.unit || known.type : "";
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    command({ command: "override", variable: variable.value, value: typed(value.value) });
  });
  release.addEventListener("click", () => variable.value && command({ command: "release", variable: variable.value }));
  pause.addEventListener("click", () => command({ command: state && state.is_paused ? "resume" : "pause" }));
  stop.addEventListener("click", () => {
    stops += 1;
    showState();
    command({ command: "stop" });
  });
})();
