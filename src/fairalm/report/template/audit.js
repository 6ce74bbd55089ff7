// the answers to the question; those about scores stand with their tables if there are decisions too
const first = facts.tables.filter((t) => t.rate === facts.tables[0].rate);

function answers() {
  $("lead").textContent = facts.lead;
  $("about").textContent = facts.about;
  if (first.length < 2) { $("answers").remove(); return; }
  put("answers", ...first.flatMap((t) => [make("dt", `By ${t.attribute}`, { dir: "auto" }), make("dd", t.answer, { dir: "auto" })]));
}

// one table for several labels: a heading before the rows of each, of which there are as many as groups
function headed(made, labels) {
  const body = made.querySelector("tbody"), rows = [...body.children], each = rows.length / labels.length;
  labels.forEach((label, i) => {
    const [text, small] = [label].flat();
    const heading = make("th", text, { colspan: rows[0].children.length, scope: "rowgroup", dir: "auto" }, small ? [make("small", small)] : []);
    const part = make("tbody", null, {}, [make("tr", null, { class: "label" }, [heading]), ...rows.slice(i * each, (i + 1) * each)]);
    made.append(part);
  });
  body.remove();
  return made;
}

// a picture in a table, a row per group, with its ratio and test
function comparison(t, place) {
  const rows = t.groups.map((g) => ({ name: [g.name, g.counts], before: null, after: g.rate, text: g.rate_text }));
  const picture = arrows(null, [t.attribute, "share"], rows, { limit: t.limit });
  picture.classList.add("tested");
  const cell = (tag, [text, small], more = {}) => make(tag, text || null, more, small ? [make("small", small)] : []);
  const [head, ...body] = picture.querySelectorAll("tr");
  head.append(cell("th", ["ratio", "to the reference"], { scope: "col" }),
    cell("th", ["test", "how often a difference this large comes by chance"], { scope: "col" }));
  body.forEach((row, i) => row.append(cell("td", t.groups[i].ratio), cell("td", t.groups[i].test)));
  if (t.labels) headed(picture, t.labels);
  $("tables").append(make("section", null, { "aria-labelledby": `h-table-${place}` }, [
    make("h2", t.heading, { id: `h-table-${place}`, dir: "auto" }),
    ...(first.includes(t) ? [] : [make("p", t.answer, { dir: "auto" })]), picture,
    make("p", `${t.reference} ${t.unknown}`, { class: "quiet", dir: "auto" }),
    ...(t.labels ? [] : [make("ul", null, {}, t.verdicts.map((text) => make("li", text)))]),
  ]));
}

function outcomes() {
  if (!facts.outcomes.length) { $("outcomes").remove(); return; }
  $("outcome-tables").append(...facts.outcomes.map((t, i) => make("details", null, i ? { "data-print": "no" } : { open: "" }, [
    make("summary", `By ${t.attribute}`, { dir: "auto" }),
    table(null, [t.attribute, ...t.head], t.rows, { class: "stack" }),
    ...(t.labels ? [headed(table(t.caption, [t.attribute, "TPR"], t.label_rows), t.labels)] : []),
    table(null, ["difference between groups", "figure", "verdict"], t.gaps, { class: "stack" }),
  ])));
}

function thresholds() {
  if (!facts.thresholds.length) { $("thresholds").remove(); return []; }
  return facts.thresholds.flatMap((t) => {
    const chart = make("div", null, { class: "chart" }), name = `thresholds-${t.attribute}`;
    const head = [t.attribute, ...t.points.map((p) => [p.threshold, `decile ${p.decile}`])];
    const share = (x) => (x === null ? "left out" : percent(x, 0));
    const rows = t.groups.map((group, i) => [group, ...t.points.map((p) => share(p.shares[i]))]);
    $("threshold-tables").append(make("h3", `By ${t.attribute}`, { dir: "auto" }), ...(name in charts ? [chart] : []),
      make("details", null, { "data-print": "no" }, [make("summary", "As a table"), table(null, head, rows, { class: "stack" })]));
    if (!(name in charts)) return [];
    const points = t.points.flatMap((p) => t.groups.map((group, i) => ({
      group, decile: p.decile, share: p.shares[i], tip: `${group}: about ${share(p.shares[i])} above ${p.threshold}`,
    })).filter((row) => row.share !== null));
    return [draw(name, { points }, chart)];
  });
}

const list = (id, texts) => put(id, ...texts.map((text) => make("li", text, { dir: "auto" })));

answers();
facts.tables.forEach(comparison);
outcomes();
list("method", facts.method);
list("limits", facts.limits);
$("small").hidden = !facts.privacy.length;
put("small", ...facts.privacy.map((text) => make("p", text, { dir: "auto" })));
put("done", table(null, null, facts.done, { class: "plain" }));
ready(thresholds());
