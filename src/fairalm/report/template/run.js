const headline = facts.models[facts.headline];
let chosen = headline;

const warnings = (model) => model.warnings.map((text) =>
  make("p", null, { class: "warning", dir: "auto" }, [make("strong", "Warning in training: "), text]));

function verdict() {
  const { verdict, constraint } = facts;
  $("demand").textContent = constraint.sentence;
  $("verdict").dataset.outcome = verdict.outcome;
  $("outcome").firstElementChild.textContent = capital(verdict.outcome) + ".";
  $("measured").textContent = `Model ${headline.name}, on people it has not seen: ${verdict.text}`;
  put("warnings", ...warnings(headline));
}

function people() {
  const { people, min_cell } = facts;
  const words = { rows: "people in the data", train: "to train on", test: "to test on", dropped: "left out" };
  $("sizes").textContent = Object.entries(people.sizes).map(([key, n]) => `${n} ${words[key]}`).join(", ") + ".";
  const rows = people.groups.map((g) => [
    g.name,
    ...g.counts.map((n) => (n === null ? "hidden" : n.toLocaleString("en"))),
    g.total === null ? "hidden" : g.total.toLocaleString("en"),
    g.base_rate === null ? "hidden" : percent(g.base_rate),
  ]);
  put("people", table("Group by label", ["group", ...people.labels, "all", "base rate"], rows));
  const is_small = headline.groups.some((g) => Object.values(g.counts).some((band) => !band));
  $("small").hidden = !people.has_hidden && !is_small;
  $("small").textContent =
    `Some groups have fewer than ${min_cell} people of a label, in the data or among the test people: too few to judge, ` +
    "and too few to show. Their counts, and sums that would reveal them, are hidden; totals are rounded.";
}

// each group's rates, from the plain model's own decisions to those of a model, whose groups these are
const changes = (model, groups, rate) => {
  const before = Object.fromEntries(facts.models[model.plain].groups.map((g) => [g.name, g.rates[rate]]));
  return groups.map((g) => ({ group: g.name, before: before[g.name], after: g.rates[rate] }));
};
const changeText = ({ before, after }) => `${before ? before.text : "hidden"} → ${after ? after.text : "hidden"}`;

const changeTable = (model, groups) => {
  const columns = facts.changed.map((rate) => changes(model, groups, rate));
  const rows = groups.map((g, i) => [
    g.name,
    ...columns.map((column) => [changeText(column[i]), (column[i].after && column[i].after.interval) || ""]),
  ]);
  const head = facts.changed.map((rate) => [facts.rates[rate].name, facts.rates[rate].meaning]);
  return table("Plain model → this model, with its 95 % interval", ["group", ...head], rows, { class: "changes" });
};

function changed() {
  $("changes").hidden = headline.plain === null;
  if (headline.plain === null) return [];
  $("changes-of").textContent =
    `Model ${headline.name} beside model ${facts.models[headline.plain].name}, test people, with 95 % intervals. ` +
    "A gap says how far apart the groups are, not whether their rates rose or fell; these figures do.";
  put("changed", changeTable(headline, headline.groups));
  return facts.changed.map((rate) => {
    const box = make("div", null, { class: "chart" });
    $("chart-changes").append(box);
    const rows = changes(headline, headline.groups, rate).flatMap((change) =>
      [["plain model", change.before], ["fair model", change.after]]  // the second is drawn on top
        .filter(([, f]) => f && f.low !== null)
        .map(([model, f]) => ({
          group: change.group, model, ...f, tip: `${change.group}: ${changeText(change)} ${change.after ? change.after.interval : ""}`,
        })));
    return draw(`change-${rate}`, { changes: rows }, box);
  });
}

// the curve of a frontier; its data come ready from Python
function frontier() {
  if (!facts.frontier) { $("frontier").remove(); return []; }
  const { title, varied, rows, drawn, outside } = facts.frontier;
  $("frontier-title").textContent = title;
  $("frontier-of").textContent =
    `Each point is the best classifier for its ${varied}, which some are labelled with; the ring is the chosen one. All come ` +
    "from one fit, and fairalm predict can use any of them. Measured on training people that the models had not seen (out of " +
    "fold), with 95 % intervals." + " The green band is within what was asked for." +
    (outside.length ? ` Above the chart: ${outside.join("; ")}.` : "");
  const cells = rows.map((r) => [r.name, r.error.text, r.gap.text, r.selection]);
  put("frontier-table", table(null, [varied, "error", facts.constraint.title, ["predicted", facts.label]], cells));
  return [draw("frontier", drawn, $("chart-frontier"))];
}

const rateTable = (groups) => {
  const names = Object.keys(facts.rates);
  const rows = groups.map((g) => [
    g.name,
    ...names.map((rate) => (g.rates[rate] ? [g.rates[rate].text, g.rates[rate].interval || ""] : "hidden")),
  ]);
  return table(null, ["group", ...names.map((rate) => facts.rates[rate].name)], rows);
};

function rates() {
  $("rates-of").textContent = `Model ${headline.name}, test people, with 95 % intervals.`;
  const rows = headline.groups.flatMap((g) =>
    Object.entries(g.rates).filter(([, f]) => f && f.low !== null).map(([rate, f]) => ({ rate: facts.rates[rate].name, group: g.name, ...f })));
  put("rates", rateTable(headline.groups));
  put("meanings", ...Object.values(facts.rates).flatMap((r) => [make("dt", r.name), make("dd", r.meaning, { dir: "auto" })]));
  return draw("rates", { rates: rows }, $("chart-rates"));
}

// the threshold: counts of the people at or above a stop, and the rates they give
function countsAt(stop) {
  return chosen.scores.above.map((rows) => {
    const counts = {};
    for (const [hit, rest] of [["tp", "fn"], ["fp", "tn"]]) {
      const row = rows[hit];
      counts[hit] = row && [row[stop + 1], row[stop + 1]];
      counts[rest] = row && [row[0] - row[stop + 1], row[0] - row[stop + 1]];
    }
    return counts;
  });
}

function share(counts, rate) {
  const [above, below] = facts.definitions[rate];
  if (below.some((name) => !counts[name])) return null;
  const sum = (names) => names.reduce((total, name) => total + counts[name][0], 0);
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

function matrices(groups) {
  const yes = facts.label;
  put("matrices", ...groups.map((g) => {
    const c = g.counts;
    return table(g.name, ["", "predicted", "not predicted"], [
      [yes, count(c.tp), count(c.fn)],
      ["others", count(c.fp), count(c.tn)],
    ]);
  }));
}

function ofChosen(groups) {
  matrices(groups);
  put("chosen-rates", rateTable(groups));
  put("chosen-changes", ...(chosen.plain === null ? [] : [changeTable(chosen, groups)]));
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
    `${facts.constraint.title} at this threshold: ` +
    (gap === null ? "hidden, or undefined." : `${percent(gap)}, without interval.`);
  $("threshold-gap").dataset.gap = gap === null ? "" : gap;
  const groups = all.map((counts, i) => ({
    name: chosen.groups[i].name,
    counts,
    rates: Object.fromEntries(Object.keys(facts.rates).map((rate) => {
      const x = share(counts, rate);
      return [rate, x === null ? null : { text: Number.isNaN(x) ? "nobody" : percent(x) }];
    })),
  }));
  ofChosen(groups);
}

const points = (models) => models.map((model) => model.point).filter(Boolean);  // null if hidden or undefined

function curves(models, curve) {
  return models.flatMap(({ id, name, history }) => {
    const is_multiplier = (key) => key.startsWith("lambda") || key.startsWith("dual");
    const lines = Object.keys(history).filter((key) => (curve === "multiplier" ? is_multiplier(key) : key === curve));
    return lines.flatMap((key) => history.round
      .map((round, i) => ({ model: name, line: `${id} ${key}`, round, value: history[key][i] }))
      .filter((row) => row.value !== null));
  });
}

function choose(model) {
  chosen = model;
  $("chosen-name").textContent = `Model ${model.name}`;
  const marks = [facts.front.includes(model.id) && "on the Pareto front", facts.nvp === model.id && "NVP's choice"];
  $("chosen-figures").textContent =
    [`${capital(model.verdict)}: ${facts.constraint.title} ${model.gap.text}, test error ${model.error.text}`, ...marks]
      .filter(Boolean).join("; ") + ".";
  put("chosen-warnings", ...warnings(model));
  for (const button of document.querySelectorAll("#models button"))
    button.setAttribute("aria-pressed", String(Number(button.dataset.id) === model.id));
  const scores = model.scores;
  $("slider").hidden = !scores;
  $("no-slider").hidden = Boolean(scores);
  $("no-slider").textContent = "The threshold cannot be moved: the run has no scores of this model, its rows have weights, or too few people lie between any two thresholds.";
  if (scores) {
    const n = scores.edges.length;
    $("stops").textContent =
      `Between two stops lie at least ${facts.min_cell} people, or nobody, of each group and label: ${n} stop${n === 1 ? "" : "s"}.`;
    $("threshold").max = scores.edges.length - 1;
    $("threshold").value = Math.floor(scores.edges.length / 2);
  }
  own();
  put("settings", table(null, null, Object.entries(model.settings).map(([k, v]) => [k, String(v)]), { class: "plain" }));
  if (views.tradeoff) views.tradeoff.data("chosen", points([model])).runAsync();
  for (const [name, view] of Object.entries(views))
    if (name.startsWith("curve-")) view.data("chosen", curves([model], name.slice(6))).runAsync();
}

function explorer() {
  const n = facts.models.length, shown = points(facts.models).length;
  $("explorer-help").textContent =
    `${n} model${n === 1 ? "" : "s"}. The green band is within the tolerance. ` +
    (facts.front.length ? "The dashed line connects the models that no other beats in both. " : "") +
    (facts.nvp === null ? "" : "NVP is the smallest gap among models with at least 0.9 of the best accuracy. ") +
    "Choose a point, or a model in the list, to see its figures." +
    (shown < n ? ` ${n - shown} not drawn: undefined or hidden.` : "");
  const rows = facts.models.map((model) => {
    const button = make("button", model.name, { type: "button", "data-id": model.id, "aria-pressed": "false" });
    button.addEventListener("click", () => choose(model));
    const marks = [facts.front.includes(model.id) && "front", facts.nvp === model.id && "NVP"].filter(Boolean);
    return [button, model.error.text, model.gap.text, model.verdict, marks.join(", ")];
  });
  put("models", table(null, ["model", "test error", facts.constraint.title, "constraint", ""], rows));
  $("list").open = n <= 12;
  $("list").addEventListener("toggle", () => put("models", ...$("models").childNodes));
  $("threshold").addEventListener("input", moved);
  $("own").addEventListener("click", own);
  const by_id = (ids) => points(ids.map((id) => facts.models[id]));
  const chart = draw("tradeoff", {
    points: points(facts.models),
    front: by_id(facts.front),
    nvp: facts.nvp === null ? [] : by_id([facts.nvp]).map((p) => ({ ...p, mark: "NVP" })),
    chosen: points([chosen]),
  }, $("chart-tradeoff"));
  return chart.then((view) => view.addEventListener("click", (event, item) => {
    if (item && item.datum && item.datum.id !== undefined) choose(facts.models[item.datum.id]);
  }));
}

function training() {
  const names = Object.keys(charts).filter((name) => name.startsWith("curve-"));
  $("training").hidden = !names.length;
  $("curves-of").textContent =
    `On the ${facts.curves_of === "test" ? "test" : "training"} people, round by round; the model chosen above has the thick line.`;
  return names.map((name) => {
    const box = make("div", null, { class: "chart" });
    $("curves").append(box);
    const curve = name.slice(6);
    return draw(name, { curves: curves(facts.models, curve), chosen: curves([chosen], curve) }, box);
  });
}

function maps() {
  $("heat").hidden = !facts.maps.length;
  for (const { images, sheet, tables } of facts.maps) {
    $("maps").append(
      make("p", `${images.toLocaleString("en")} images; some of them, with the highest places of each net's map in colour:`),
      make("img", null, { src: sheet, alt: "Images under heat maps; the tables have the numbers." }),
      ...tables.map((t) => make("div", null, { class: "scroll" }, [
        table(capital(t.title), ["", ...t.nets], t.rows.map((row) => [row.name, ...row.cells]))])),
    );
  }
}

function done() {
  for (const run of facts.runs) {
    const versions = Object.entries(run.versions).map(([name, v]) => `${name} ${v}`).join(", ");
    const rows = [
      ["command", make("code", run.command || "not recorded")],
      ["data", run.data], ["fingerprint", make("code", run.fingerprint)],
      ["protected", run.protected.join(" × ")], ["split", run.split],
      ["duration", run.seconds === null ? "not recorded" : `${run.seconds.toFixed(1)} s`], ["versions", versions],
    ];
    $("done").append(make("h3", `Run ${run.name}`, { dir: "auto" }), table(null, null, rows, { class: "plain" }));
  }
  put("limits", ...facts.limits.map((text) => make("li", text, { dir: "auto" })));
  $("privacy").textContent =
    `This page contains no row of the data. Counts under ${facts.min_cell} people are not shown; rates and gaps that would ` +
    "reveal them are shown as ranges or in whole points.";
}

verdict(); people();
const drawings = [...changed(), ...frontier(), rates(), explorer(), ...training()];
maps(); done(); choose(headline);
ready(drawings);
