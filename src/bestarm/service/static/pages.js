// The little that htmx does not do. Everything works without it, less comfortably.
"use strict";

// A one-time link carries its code behind the #, which the browser does not send: put it into the form and go.
function enterByLink() {
  const form = document.getElementById("sign-in");
  if (!form || location.hash.length < 20) return;
  document.getElementById("secret").value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname + location.search);
  form.submit();
}
enterByLink();
window.addEventListener("hashchange", enterByLink);

// Where the address names a part of the page, browsers go there and focus nothing: the field asked for comes after.
window.addEventListener("load", () => setTimeout(() => {
  if (!/^#[a-z-]+$/.test(location.hash)) return;
  document.querySelector(`${location.hash} [autofocus]`)?.focus({ preventScroll: true });
}));

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copy);
  field.select();
  navigator.clipboard?.writeText(field.value).then(() => { button.textContent = "Copied"; }, () => {});
});

// What a reader has unfolded stays unfolded when the page updates itself.
let unfolded = [];
document.addEventListener("htmx:beforeSwap", () => {
  unfolded = [...document.querySelectorAll("details[open][id]")].map((one) => one.id);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
});

// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// Staff know people by their codes, and the server keeps none: the browser that typed a code shows it again, here alone,
// until it signs out.
const KEPT = "bestarm codes ";
function codesOf(trial) {
  try { return JSON.parse(localStorage.getItem(KEPT + trial)) || {}; } catch { return {}; }
}
function keepCode(given) {
  const { keep, assignment, code } = given.dataset;
  if (!code || /^[0-9]+-[0-9a-f]{4}$/i.test(code)) return;
  try { localStorage.setItem(KEPT + keep, JSON.stringify({ ...codesOf(keep), [assignment]: code })); } catch { /* full, or forbidden */ }
}
for (const given of document.querySelectorAll(".given[data-code]")) keepCode(given);
for (const shown of document.querySelectorAll("[data-code-of]")) {
  const code = codesOf(shown.dataset.keep)[shown.dataset.codeOf];
  if (code) shown.replaceChildren(code, Object.assign(document.createElement("span"), { className: "also", textContent: shown.dataset.codeOf }));
}
document.querySelector(".who")?.addEventListener("submit", () => {
  for (const key of Object.keys(localStorage)) if (key.startsWith(KEPT)) localStorage.removeItem(key);
});

// From "recorded" to the person it was recorded for.
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-look-up]");
  const field = document.getElementById("who");
  if (!link || !field) return;
  field.value = link.dataset.lookUp;
  field.form.requestSubmit();
});
