const headline = facts.models[facts.headline], rows_are = facts.rows_are;
let chosen = headline;

const warnings = (model) => model.warnings.map((text) =>
  make("p", null, { class: "warning", dir: "auto" }, [make("strong", "Warning in training: "), text]));
const count = (n) => (n === null ? "left out" : number(n));
const figure = (f) => (f ? f.text : "left out");

function answer() {
  $("answer").dataset.outcome = facts.verdict.outcome;
  $("lead").textContent = facts.verdict.lead;
  put("answers", ...facts.verdict.answers.flatMap(({ question, answer }) => [make("dt", question), make("dd", answer, { dir: "auto" })]));
  put("warnings", ...warnings(headline));
}

// each group's rates, from the plain model's own decisions to those of a model, whose groups these are
function changes(model, groups, rate) {
  const plain = model.plain === null ? [] : facts.models[model.plain].groups;
  const before = Object.fromEntries(plain.map((g) => [g.name, g.rates[rate]]));
  return groups.map((g) => ({ name: g.name, before: before[g.name] || null, after: g.rates[rate] }));
}

// many groups are read more easily from the lowest to the highest
function ordered(rows) {
  const at = ({ before, after }) => [before, after].map((f) => (f ? f.value ?? f.low : null)).find((x) => x !== null) ?? 2;
  return rows.length > 4 && headline.attributes.length === 1 ? [...rows].sort((a, b) => at(a) - at(b)) : rows;
}

function changed() {
  const is_both = headline.plain !== null, known = headline.change ? headline.change.groups : {};
  $("h-changes").textContent = is_both ? "Each group, from the plain model to the fair one" : "Each group";
  $("changes-of").textContent =
    (is_both ? "A ring is the plain model, an arrowhead the fair one. " : "") +
    `The pale bar is the 95 % interval. Measured on ${facts.people.sizes.test || "the"} test ${rows_are} that no model was trained on.`;
  put("changed", ...facts.changed.map((rate) => arrows(capital(facts.rates[rate].meaning), ["group", is_both ? "plain → fair model" : "rate"],
    ordered(changes(headline, headline.groups, rate)).map(({ name, before, after }) => {
      const by = (known[name] || {})[rate];
      const both = is_both ? `${figure(before)} → ${figure(after)}` : figure(after);
      return { name, before, after, text: [both, after && after.interval, by && `change ${by.text}`] };
    }))));
}

// the curve of a frontier; its data come ready from Python
function frontier() {
  if (!facts.frontier) { $("frontier").remove(); return []; }
  const { title, varied, rows, drawn, outside } = facts.frontier;
  $("frontier-title").textContent = title;
  $("frontier-of").textContent =
    `Each point is the best model for its ${varied}; all come from one fit, and fairalm predict can use any of them. The green ` +
    `band is within what was asked for. Measured on training ${rows_are} that the models had not seen (out of fold), with ` +
    "95 % intervals." + (outside.length ? ` Above the chart: ${outside.join("; ")}.` : "");
  const cells = rows.map((r) => [r.name, r.error.text, r.gap.text, r.selection]);
  put("frontier-table", table(null, [varied, "error", "gap", ["predicted", facts.label]], cells, { class: "stack" }));
  return [draw("frontier", drawn, $("chart-frontier")).then(along)];
}

function along(view) {
  const { rows, varied, drawn } = facts.frontier, plain = rows[0];
  const stops = rows.filter((row) => ["the frontier", "chosen point"].includes(row.kind));
  const marks = Object.fromEntries(drawn.curve.map((mark) => [mark.name, mark]));
  const share = (rate) => Math.max(...rows.slice(0, 1 + stops.length).flatMap((row) => row.groups.map((g) => (g.rates[rate] ? g.rates[rate].value : 0))));
  const most = Object.fromEntries(facts.changed.map((rate) => [rate, share(rate)]));
  const what = {
    selection: `Of 1,000 ${rows_are} in each group: predicted ${facts.label}`,
    tpr: `Of 1,000 with ${facts.label} in each group: found`,
    fpr: `Of 1,000 without ${facts.label} in each group: wrongly predicted ${facts.label}`,
  };
  const gain = (a, b) => (a && b && a.value !== null && b.value !== null ? b.of_1000 - a.of_1000 : null);
  const words = (n) => (n === null ? "" : n === 0 ? "no change" : `${number(Math.abs(n))} ${n > 0 ? "more" : "fewer"}`);
  const show = () => {
    const row = stops[Number($("stop").value)];
    const text = `${varied} ${row.name}: error ${row.error.text}, gap ${row.gap.text}`;
    $("stop-value").textContent = text;
    $("stop").setAttribute("aria-valuetext", text);
    put("gains", ...facts.changed.map((rate) => arrows(what[rate], ["group", "plain → here"], row.groups.map((g, i) => {
      const before = plain.groups[i].rates[rate], after = g.rates[rate];
      return { name: g.name, before, after, text: [`${figure(before)} → ${figure(after)}`, words(gain(before, after))] };
    }), { most: most[rate], tick: (x) => number(Math.round(1000 * x)) })));
    view.data("chosen", [marks[row.name]].filter(Boolean)).runAsync();
  };
  $("stop").max = stops.length - 1;
  $("stop").value = stops.findIndex((row) => row.kind === "chosen point");
  $("along").hidden = stops.length < 2;
  $("stop").addEventListener("input", show);
  show();
}

function people() {
  const { people } = facts, words = { rows: `${rows_are} in the data`, train: "to train on", test: "to test on", dropped: "left out" };
  $("h-people").textContent = `The ${rows_are}`;
  $("sizes").textContent = capital(Object.entries(people.sizes).map(([key, n]) => `${n} ${words[key]}`).join(", ")) + ".";
  const rows = people.groups.map((g) => [
    g.name,
    ...g.counts.map(count),
    count(g.total),
    g.base_rate === null ? (g.total === null ? "left out" : "nobody") : percent(g.base_rate, facts.rounded_to ? 0 : 1),
  ]);
  const target = facts.label.slice(0, facts.label.indexOf(" = "));
  put("people", table(null, ["group", ...people.labels.map((label) => `${target} = ${label}`), "all", `share with ${facts.label}`], rows, { class: "stack" }));
  $("small").hidden = !facts.rounded_to;
  put("small", ...(facts.rounded_to ? facts.privacy.map((text) => make("p", text, { dir: "auto" })) : []));
}

const rateTable = (groups) => {
  const names = Object.keys(facts.rates);
  const rows = groups.map((g) => [
    g.name,
    ...names.map((rate) => (g.rates[rate] ? [g.rates[rate].text, g.rates[rate].interval || ""] : "left out")),
  ]);
  return table(null, ["group", ...names.map((rate) => facts.rates[rate].name)], rows, { class: "stack" });
};

function rates() {
  $("rates-of").textContent = `${capital(headline.name)} on the test ${rows_are}, with 95 % intervals.`;
  put("rates", rateTable(headline.groups));
  put("meanings", ...Object.values(facts.rates).flatMap((r) => [make("dt", r.name), make("dd", r.meaning, { dir: "auto" })]));
}

// the threshold: counts of the rows at or above a stop, and the rates they give
function countsAt(stop) {
  return chosen.scores.above.map((rows) => {
    const counts = {};
    for (const [hit, rest] of [["tp", "fn"], ["fp", "tn"]]) {
      const row = rows[hit];
      counts[hit] = row && row[stop + 1];
      counts[rest] = row && row[0] - row[stop + 1];
    }
    return counts;
  });
}

function share(counts, rate) {
  const [above, below] = facts.definitions[rate];
  if (below.some((name) => counts[name] === null)) return null;
  const sum = (names) => names.reduce((total, name) => total + counts[name], 0);
  return sum(below) ? sum(above) / sum(below) : NaN;
}

function gapAt(all) {
  const names = chosen.groups.map((g) => g.name);  // groups are compared within their attribute
  const within = chosen.attributes.map((groups) => groups.map((name) => all[names.indexOf(name)]));
  const gaps = facts.constraint.rates.flatMap((rate) => within.map((groups) => {
    const shares = groups.map((counts) => share(counts, rate));
    if (shares.includes(null) || shares.filter((x) => !Number.isNaN(x)).length < 2) return null;
    const reference = groups.indexOf(all[names.indexOf(facts.constraint.reference)]);  // -1 if each is compared with each
    const far = (x, y) => (facts.constraint.kind === "shortfall" ? (y ? 1 - x / y : 0) : Math.abs(x - y));
    const pairs = shares.flatMap((x, i) => shares.filter((y, j) => i !== j && (reference < 0 || j === reference)).map((y) => far(x, y)));
    return Math.max(0, ...pairs.filter((d) => !Number.isNaN(d)));
  }));
  return gaps.includes(null) ? null : Math.max(...gaps);
}

function ofChosen(groups) {
  put("matrices", ...groups.map(({ name, counts: c }) => table(name, ["", "predicted", "not predicted"], [
    [facts.label, count(c.tp), count(c.fn)],
    ["others", count(c.fp), count(c.tn)],
  ])));
  put("chosen-rates", rateTable(groups));
  const columns = facts.changed.map((rate) => changes(chosen, groups, rate));
  const rows = groups.map((g, i) => [
    g.name,
    ...columns.map((column) => [`${figure(column[i].before)} → ${figure(column[i].after)}`, (column[i].after && column[i].after.interval) || ""]),
  ]);
  const head = ["group", ...facts.changed.map((rate) => facts.rates[rate].name)];
  const moved = table("Plain model → this model, with its 95 % interval", head, rows, { class: "stack" });
  put("chosen-changes", ...(chosen.plain === null ? [] : [moved]));
}

function own() {
  $("threshold-value").textContent = "its own decisions";
  $("threshold").setAttribute("aria-valuetext", "the model's own decisions");
  $("threshold-gap").textContent = "";
  ofChosen(chosen.groups);
}

function moved() {
  const stop = Number($("threshold").value), edge = chosen.scores.edges[stop];
  const all = countsAt(stop), gap = gapAt(all);
  const text = `score of ${edge} or more`;
  $("threshold-value").textContent = text;
  $("threshold").setAttribute("aria-valuetext", text);
  $("threshold-gap").textContent =
    `Gap (${facts.constraint.title}) at this threshold: ` +
    (gap === null ? "undefined." : `${percent(gap)}, without interval.`);
  $("threshold-gap").dataset.gap = gap === null ? "" : gap;
  ofChosen(all.map((counts, i) => ({
    name: chosen.groups[i].name,
    counts,
    rates: Object.fromEntries(Object.keys(facts.rates).map((rate) => {
      const x = share(counts, rate);
      return [rate, x === null ? null : { text: Number.isNaN(x) ? "nobody" : percent(x) }];
    })),
  })));
}

function curves(models, curve) {
  return models.flatMap(({ id, name, history }) => {
    const is_multiplier = (key) => key.startsWith("lambda") || key.startsWith("dual");
    const lines = Object.keys(history).filter((key) => (curve === "multiplier" ? is_multiplier(key) : key === curve));
    return lines.flatMap((key) => history.round
      .map((round, i) => ({ model: name, line: `${id} ${key}`, round, value: history[key][i] }))
      .filter((row) => row.value !== null));
  });
}

const marksOf = (model) => [
  facts.front.includes(model.id) && "no other is better in both",
  facts.nvp === model.id && "chosen by its training figures (NVP)",
].filter(Boolean);
const pointsOf = (model) => facts.tradeoff.points.filter((point) => point.id === model.id);

function choose(model) {
  chosen = model;
  $("chosen-name").textContent = capital(model.name);
  $("chosen-figures").textContent =
    [`Gap ${model.gap.text}: ${model.verdict}`, `error ${model.error.text}`, ...marksOf(model)].join("; ") + ".";
  put("chosen-warnings", ...warnings(model));
  for (const button of document.querySelectorAll("#models button"))
    button.setAttribute("aria-pressed", String(Number(button.dataset.id) === model.id));
  const stops = model.scores ? model.scores.edges.length : 0;
  $("slider").hidden = stops < 2;
  $("no-slider").hidden = stops >= 2;
  $("no-slider").textContent =
    `The threshold cannot be moved: counts are rounded, the run has no scores of this model, its rows have weights, or too few ${rows_are} lie between any two thresholds.`;
  if (stops > 1) {
    $("stops").textContent = `Between two stops lie at least ${facts.min_cell} ${rows_are}, or none, of each group and label: ${stops} stops.`;
    $("threshold").max = stops - 1;
    $("threshold").value = Math.floor(stops / 2);
  }
  own();
  put("settings", table(null, null, Object.entries(model.settings).map(([k, v]) => [k, String(v)]), { class: "plain" }));
  if (views.tradeoff) views.tradeoff.data("chosen", pointsOf(model)).runAsync();
  for (const [name, view] of Object.entries(views))
    if (name.startsWith("curve-")) view.data("chosen", curves([model], name.slice(6))).runAsync();
}

function models() {
  const n = facts.models.length, { points, front, labelled, outside, not_drawn } = facts.tradeoff;
  $("models-help").textContent =
    `Each point is a model on the test ${rows_are}: further left is fairer, further down is more often right. The green band is ` +
    `within what was asked for. The field calls this gap ${facts.constraint.title}. ` + (front.length > 1 ? "The dashed line joins the models that no other beats in both. " : "") +
    "Choose one, here or in the list, to look at it closely." +
    (outside.length ? ` Outside the chart: ${outside.join("; ")}.` : "") + (not_drawn ? ` Not drawn: ${not_drawn} undefined or left out.` : "");
  const rows = facts.models.map((model) => {
    const button = make("button", model.name, { type: "button", "data-id": model.id, "aria-pressed": "false" });
    button.addEventListener("click", () => look(model));
    return [button, model.error.text, model.gap.text, model.verdict, marksOf(model).join("; ")];
  });
  put("models", table(null, ["model", "error", "gap", "within what was asked for", "note"], rows, { class: "stack" }));
  $("list").firstElementChild.textContent = `The ${n} model${n === 1 ? "" : "s"} as a list`;
  $("list").open = n <= 12;
  $("threshold").addEventListener("input", moved);
  $("own").addEventListener("click", own);
  if (n < 3 || !points.length) {  // the picture of two is the lead and the list
    $("models-help").textContent = "Choose a model to look at it closely.";
    $("chart-tradeoff").remove();
    return [];
  }
  const chart = draw("tradeoff", { points, front, labelled, chosen: pointsOf(chosen) }, $("chart-tradeoff"));
  return [chart.then((view) => view.addEventListener("click", (event, item) => {
    if (item && item.datum && item.datum.id !== undefined) look(facts.models[item.datum.id]);
  }))];
}

function look(model) {
  choose(model);
  $("closer").open = true;
  $("closer").scrollIntoView({ block: "start" });
}

// charts in a folded box are drawn when it is first opened: before, the box has no width
function training() {
  const names = Object.keys(charts).filter((name) => name.startsWith("curve-"));
  if (!names.length) { $("training").remove(); return; }
  $("curves-of").textContent =
    `On the ${facts.curves_of === "test" ? "test" : "training"} ${rows_are}; the model looked at above has the thick line.`;
  $("training").addEventListener("toggle", () => {
    for (const name of names) {
      const box = make("div", null, { class: "chart" }), curve = name.slice(6);
      $("curves").append(box);
      draw(name, { curves: curves(facts.models, curve), chosen: curves([chosen], curve) }, box);
    }
  }, { once: true });
}

function maps() {
  $("heat").hidden = !facts.maps.length;
  for (const { images, sheet, tables } of facts.maps) {
    $("maps").append(
      make("p", `${number(images)} images; some of them, with the highest places of each net's map in colour:`),
      make("img", null, { src: sheet, alt: "Images under heat maps; the tables have the numbers." }),
      ...tables.map((t) => table(capital(t.title), ["", ...t.nets], t.rows.map((row) => [row.name, ...row.cells]), { class: "stack" })),
    );
  }
}

function done() {
  for (const run of facts.runs) {
    const versions = Object.entries(run.versions).map(([name, v]) => `${name} ${v}`).join(", ");
    const rows = [
      ["command", make("code", run.command || "not recorded")],
      ["data", run.data], ["fingerprint", make("code", run.fingerprint)],
      ["protected", run.protected.join(" × ")], ["split", run.split], ["asked for", facts.constraint.sentence],
      ["duration", run.seconds === null ? "not recorded" : `${run.seconds.toFixed(1)} s`], ["versions", versions],
    ];
    $("done").append(make("h3", `Run ${run.name}`, { dir: "auto" }), table(null, null, rows, { class: "plain" }));
  }
  put("limits", ...facts.limits.map((text) => make("li", text, { dir: "auto" })));
  $("privacy").textContent = facts.privacy[0];
}

answer(); changed(); people(); rates(); training(); maps(); done();
const drawings = [...frontier(), ...models()];
choose(headline);
ready(drawings);
