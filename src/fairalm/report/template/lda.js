const items = (lines) => lines.map((text) => make("li", text, { dir: "auto" }));
const has_chosen = facts.head.length > 2;

$("lead").textContent = facts.lead;
put("answers", ...facts.answers.flatMap(([question, answer]) => [make("dt", question), make("dd", answer, { dir: "auto" })]));

$("ratios-of").textContent =
  `How often each group is accepted, in per cent of how often ${facts.reference} is: at 100 % both are accepted equally ` +
  `often. ${has_chosen ? "Arrows lead from the baseline to the chosen model; the" : "The"} pale bar is the 95 % interval, ` +
  "on rows that the search had not seen.";
put("ratios", arrows(null, ["group", has_chosen ? "baseline → chosen" : "baseline"], facts.ratios));
put("figures", table("Rows that the search had not seen; changes are of the same rows, those of rates in points", facts.head, facts.rows, { class: "stack" }));

$("tried-of").textContent =
  "Right is less discriminatory, down is less loss. Models were chosen on the rows of this picture, so it flatters the chosen " +
  `one; the answer above is of other rows. Dashed: the goal, ${facts.goal}, and the margin, ${facts.most} above the baseline.`;
put("log", table("On the choosing rows", ["model", "lowest ratio", "bad rate, %", "change, points", "result"], facts.log, { class: "stack" }));

put("meaning", ...items(facts.meaning));
put("protocol", ...items(facts.protocol));
put("limits", ...items(facts.limits));
$("privacy").textContent = facts.privacy;
const versions = Object.entries(facts.versions).map(([name, version]) => `${name} ${version}`).join(", ");
const made = [["versions", versions]];
if (facts.command) made.unshift(["command", make("code", facts.command)]);
put("made", table(null, null, made, { class: "plain" }));

const marked = facts.points.filter((point) => point.role);
const limit = facts.limit === null ? [] : [{ bad_rate: facts.limit, text: "baseline + margin" }];
const data = { points: facts.points, marked, goal: [{ ratio: facts.goal }], limit };
ready([draw("tried", data, $("chart-tried"))]);
