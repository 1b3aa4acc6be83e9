// The pages work without this script. It keeps them up to date, says how old they are,
// counts down, and gives them keys.
"use strict";
(() => {
  const body = document.body;
  let shown = performance.now();                 // when what is shown came
  let server = Date.parse(body.dataset.now);     // the server's time then
  let every = Number(body.dataset.every) || 0;   // milliseconds; 0: no live updates
  let failing = false, busy = false, timer = 0;
  const storage = (() => { try { return window.sessionStorage; } catch { return null; } })();
  let paused = storage?.getItem("perdure-paused") === "1";
  const age = document.getElementById("age"), pause = document.getElementById("pause"), away = document.getElementById("away");

  // What a person has chosen stays chosen in this browser: light or dark, ages or times.
  const kept = (() => { try { return window.localStorage; } catch { return null; } })();
  const choices = { theme: ["system", "light", "dark"], times: ["ages", "times"] };
  const chose = (what) => choices[what].includes(kept?.getItem("perdure-" + what)) ? kept.getItem("perdure-" + what) : choices[what][0];
  function apply() {
    document.documentElement.style.colorScheme = chose("theme") === "system" ? "" : chose("theme");
    for (const b of document.querySelectorAll("button[data-choice]")) {
      b.hidden = !kept;
      b.querySelector("span").textContent = chose(b.dataset.choice);
    }
  }
  apply();

  // duration says a number of milliseconds as the server does.
  function duration(ms) {
    const s = Math.floor(ms / 1000), two = (n) => String(n).padStart(2, "0");
    if (s < 60) return s + "s";
    if (s < 3600) return Math.floor(s / 60) + "m" + two(s % 60) + "s";
    if (s < 86400) return Math.floor(s / 3600) + "h" + two(Math.floor(s % 3600 / 60)) + "m";
    return Math.floor(s / 86400) + "d" + two(Math.floor(s % 86400 / 3600)) + "h";
  }
  const now = () => server + (performance.now() - shown);

  function tick() {
    const old = performance.now() - shown;
    const state = failing ? ", no answer" : paused && every ? ", paused" : "";
    const text = "as of " + duration(old) + " ago" + state;
    if (age.textContent !== text) age.textContent = text;
    age.classList.toggle("old", failing);
    if (failing) away.querySelector(".old").textContent = "What you see is " + duration(old) + " old.";
    for (const t of document.querySelectorAll("time[data-kind]")) {
      const d = Date.parse(t.dateTime) - now();
      const late = t.dataset.kind === "until" && d <= -5000; // what was to happen has not
      t.classList.toggle("late", late);
      const want = late ? duration(-d) + " overdue" : t.dataset.kind === "until" ? (d <= 0 ? "now" : "in " + duration(d)) : (d > 0 ? "in " + duration(d) : duration(-d) + " ago");
      if (chose("times") === "times") { if (t.textContent !== t.title) t.textContent = t.title; continue; }
      if (Math.abs(d) >= 1000 || d <= 0 && t.dataset.kind === "until") { if (t.textContent !== want) t.textContent = want; }
    }
  }

  // change makes a node like another one and keeps what is the user's: the focus, what is
  // open, what is typed, where it is scrolled to.
  function change(is, should) {
    if (is.nodeType !== should.nodeType || is.nodeName !== should.nodeName || (is.id || "") !== (should.id || "")) { is.replaceWith(document.importNode(should, true)); return; }
    if (is.nodeType !== Node.ELEMENT_NODE) { if (is.data !== should.data) is.data = should.data; return; }
    const mine = is.nodeName === "DETAILS" ? ["open"] : ["INPUT", "TEXTAREA", "SELECT", "OPTION"].includes(is.nodeName) ? ["value", "checked", "selected"] : [];
    for (const a of [...is.attributes]) if (!should.hasAttribute(a.name) && !mine.includes(a.name)) is.removeAttribute(a.name);
    for (const a of should.attributes) if (is.getAttribute(a.name) !== a.value && !mine.includes(a.name)) is.setAttribute(a.name, a.value);
    if (is.nodeName === "TEXTAREA") return;
    const have = [...is.childNodes], want = [...should.childNodes];
    // Rows with a key move with it, so that what is open stays with its row.
    const keyed = new Map(have.filter((n) => n.dataset?.key).map((n) => [n.dataset.key, n]));
    if (keyed.size) {
      let at = is.firstChild;
      for (const w of want) {
        const old = w.dataset?.key ? keyed.get(w.dataset.key) : undefined;
        if (old) { keyed.delete(w.dataset.key); if (old !== at) is.insertBefore(old, at); change(old, w); at = old.nextSibling; continue; }
        const add = document.importNode(w, true);
        is.insertBefore(add, at);
      }
      while (at) { const next = at.nextSibling; at.remove(); at = next; }
      return;
    }
    want.forEach((w, i) => have[i] ? change(have[i], w) : is.append(document.importNode(w, true)));
    have.slice(want.length).forEach((n) => n.remove());
  }

  // editing reports whether the user is in the middle of something that must stay as it is.
  const editing = () => window.getSelection()?.type === "Range" || document.activeElement?.matches?.("main input:not([type=checkbox]), main textarea, main select");

  // missed keeps what is shown, and says why there is nothing newer. Its age is not in the
  // alert, which would be read aloud each second.
  function missed(what, why, next) {
    failing = true;
    if (body.dataset.failed) return; // there is nothing older to keep
    const lines = away.querySelectorAll("[role=alert] > *");
    [what, why, next].forEach((text, i) => { if (lines[i].textContent !== text) lines[i].textContent = text; });
    tick();
    away.hidden = false;
  }

  async function update() {
    if (busy || paused || !every || document.hidden || editing()) return;
    busy = true;
    try {
      const limit = AbortSignal.timeout(15000), answer = await fetch(location.href, { headers: { "X-Perdure-Live": "1" }, signal: limit, cache: "no-store" });
      if (!(answer.headers.get("Content-Type") || "").startsWith("text/html")) throw new Error("no page");
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (paused || editing()) return;
      const main = page.getElementById("main"), failed = page.body.dataset.failed || (answer.ok ? "" : String(answer.status));
      if (failed && !body.dataset.failed) {
        const says = [...main.querySelectorAll("[role=alert] p")].map((p) => p.textContent);
        missed(main.querySelector("h1").textContent, says.slice(0, -1).join(" "), says.at(-1) ?? "");
        return;
      }
      failing = failed !== "";
      away.hidden = true;
      if (failed) body.dataset.failed = failed; else delete body.dataset.failed;
      shown = performance.now();
      server = Date.parse(page.body.dataset.now);
      every = Number(page.body.dataset.every) || every;
      document.title = page.title;
      change(document.getElementById("main"), main);
      chosen();
      copies();
    } catch {
      missed("The server does not answer", "It has stopped, or the network is broken.", "See whether perdure dashboard still runs. This page tries again by itself.");
    } finally { busy = false; tick(); }
  }

  // chosen says how many rows are chosen.
  const picks = () => [...document.querySelectorAll("main input[name=pick]")];
  function chosen() {
    const all = picks(), n = all.filter((p) => p.checked).length, every = document.querySelector("#every input");
    if (!every) return;
    document.getElementById("every").hidden = false;
    every.checked = n > 0 && n === all.length;
    every.indeterminate = n > 0 && n < all.length;
    const text = n ? n + " chosen" : "none chosen yet", many = document.getElementById("many");
    if (many.textContent !== text) many.textContent = text;
  }
  document.addEventListener("change", (e) => {
    if (e.target.closest?.("#every")) for (const p of picks()) p.checked = e.target.checked;
    if (e.target.matches?.("input[type=checkbox]")) chosen();
  });

  // Copy puts a text where it can be pasted. A browser lets no page do that that came unencrypted
  // from elsewhere.
  const copies = () => { for (const b of document.querySelectorAll("button.copy")) b.hidden = !navigator.clipboard; };
  document.addEventListener("click", async (e) => {
    const b = e.target.closest?.("button");
    if (b?.dataset.choice) {
      const all = choices[b.dataset.choice];
      kept.setItem("perdure-" + b.dataset.choice, all[(all.indexOf(chose(b.dataset.choice)) + 1) % all.length]);
      apply();
      tick();
    } else if (b?.matches(".copy")) {
      let text = "Copied";
      try { await navigator.clipboard.writeText(b.dataset.copy); } catch { text = "Not copied"; }
      b.textContent = text;
      setTimeout(() => { b.textContent = "Copy"; }, 2000);
    }
  });

  function show() {
    pause.hidden = !every;
    pause.textContent = paused ? "Resume" : "Pause";
    pause.setAttribute("aria-pressed", String(paused));
    tick();
  }
  function toggle() {
    paused = !paused;
    storage?.setItem("perdure-paused", paused ? "1" : "");
    show();
    if (!paused) update();
  }
  pause.addEventListener("click", toggle);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) update(); });
  const again = () => { timer = setTimeout(async () => { await update(); again(); }, failing ? Math.max(every, 5000) : every || 5000); };

  // Keys. None of them works while a text is typed.
  let first = "";
  const up = document.querySelector("header .brand").getAttribute("href").slice(0, -"./".length);
  const pages = { o: "./", r: "runs", w: "workflows", l: "ledger", a: "gates", s: "schedules", n: "nodes", p: "policy" };
  function move(step) {
    const rows = [...document.querySelectorAll("main a.row")];
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement);
    rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step))].focus();
  }
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target.matches("input:not([type=checkbox]), textarea, select")) { if (e.key === "Escape") e.target.blur(); return; }
    const chord = first; first = "";
    if (chord === "g") { if (pages[e.key]) { const a = document.querySelector(`header nav a[href="${up + pages[e.key]}"]`); if (a) { e.preventDefault(); a.click(); } } return; }
    switch (e.key) {
      case "g": first = "g"; break;
      case "p": if (every) toggle(); break;
      case "j": move(1); break;
      case "k": move(-1); break;
      case "x": { const p = document.activeElement.closest?.("tr")?.querySelector("input[name=pick]"); if (p) { p.checked = !p.checked; chosen(); } break; }
      case "b": { const s = document.querySelector("#chosen select"); if (s) { e.preventDefault(); s.focus(); } break; }
      case "/": { const s = document.querySelector("main input[type=search]"); if (s) { e.preventDefault(); s.focus(); s.select(); } else { location.href = up + "runs"; } break; }
      case "?": { const k = document.querySelector(".keys"); k.open = !k.open; if (k.open) k.querySelector("summary").focus(); break; }
    }
  });

  // On a phone the menu is one line, which begins where the page is.
  const menu = document.querySelector("header nav"), here = menu.querySelector("[aria-current]");
  if (here) menu.scrollLeft = here.offsetLeft - menu.offsetLeft - 40;

  show();
  chosen();
  copies();
  setInterval(tick, 1000);
  again();
})();
