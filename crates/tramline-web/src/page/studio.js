// The studio's page: what waits for an answer, the runs, and the steps of one of them.
"use strict";

const at = (id) => document.getElementById(id);
const LOOK_EVERY_MS = 2000;
let token = sessionStorage.getItem("token") ?? "";
let shown = null;

async function ask(path, body) {
  const headers = {};
  if (token) headers.authorization = `Bearer ${token}`;
  if (body) headers["content-type"] = "application/json";
  const response = await fetch(path, {
    method: body ? "POST" : "GET",
    headers,
    body: body ? JSON.stringify(body) : undefined,
  });
  if (response.status === 401) {
    at("door").hidden = false;
    throw new Error("A token is needed.");
  }
  const told = await response.json();
  if (!response.ok) throw new Error(told.error?.message ?? response.statusText);
  return told;
}

function made(name, text, more = {}) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  return Object.assign(node, more);
}

function say(text) {
  if (at("state").textContent !== text) at("state").textContent = text;
}

function question(asked) {
  const item = made("li");
  item.dataset.checkpoint = asked.checkpoint_id;
  item.append(made("strong", asked.workflow), made("p", asked.message));
  const why = made("input", undefined, { placeholder: "why (optional)" });
  why.setAttribute("aria-label", `Why, for ${asked.checkpoint_id}`);
  const row = made("div", undefined, { className: "row" });
  for (const option of asked.options) {
    const button = made("button", option, { type: "button" });
    button.className = option === "reject" ? "stop" : "go";
    button.addEventListener("click", () => answer(asked, option, why.value, item));
    row.append(button);
  }
  row.append(why, made("code", asked.checkpoint_id));
  item.append(row);
  return item;
}

async function answer(asked, option, why, item) {
  const body = { answer: option };
  if (why.trim()) body.why = why.trim();
  try {
    await ask(`/api/approvals/${asked.checkpoint_id}`, body);
    say(`Answered: ${option}.`);
  } catch (error) {
    say(error.message);
  }
  item.remove();
  await look();
}

function line(run) {
  const row = made("tr");
  const open = made("button", run.run_id, { type: "button", className: "plain" });
  open.addEventListener("click", () => show(run.run_id));
  const first = made("td");
  first.append(open);
  const begun = new Date(run.started_ms).toLocaleString();
  row.append(first, made("td", run.workflow), made("td", run.status), made("td", begun));
  return row;
}

async function show(run) {
  shown = run;
  const trace = await ask(`/api/runs/${run}/trace`);
  if (shown !== run) return;
  at("one").hidden = false;
  at("one-title").textContent = `Run ${run}`;
  at("steps").replaceChildren(...trace.steps.map((step) => {
    const item = made("li");
    const { node, status } = step;
    item.append(made("strong", `${node} `), made("span", status ?? ""));
    item.append(made("pre", JSON.stringify(step, null, 2)));
    return item;
  }));
}

// What did not change stays where it is: somebody may be typing there.
function refresh(list, items, key, make) {
  const there = new Map([...list.children].map((node) => [node.dataset.key, node]));
  list.replaceChildren(...items.map((item) => {
    const name = key(item);
    const node = there.get(name) ?? make(item);
    node.dataset.key = name;
    return node;
  }));
}

async function look() {
  try {
    const [{ approvals }, { runs }] = await Promise.all([
      ask("/api/approvals"),
      ask("/api/runs?most=50"),
    ]);
    refresh(at("inbox"), approvals, (one) => one.checkpoint_id, question);
    if (!approvals.length) at("inbox").replaceChildren(made("li", "Nothing waits."));
    refresh(at("runs"), runs, (run) => `${run.run_id} ${run.events}`, line);
    say(`${approvals.length} waiting, ${runs.length} runs`);
  } catch (error) {
    say(error.message);
  }
}

at("door").addEventListener("submit", (event) => {
  event.preventDefault();
  token = at("token").value;
  sessionStorage.setItem("token", token);
  at("door").hidden = true;
  look();
});
look();
setInterval(look, LOOK_EVERY_MS);
