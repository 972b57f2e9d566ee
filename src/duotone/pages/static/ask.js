// The ask page: shows the fields of what is chosen. Without it all of them are there, and the server says what does not fit.
"use strict";

const form = document.getElementById("asking");
const field = (name) => form.elements.namedItem(name);
const value = (name) => field(name)?.value;
const show = (part, shown) => form.querySelectorAll(part).forEach((element) => (element.hidden = !shown));
const kind = (name) => field(name).selectedOptions[0]?.dataset.kind;

const words = new Map([...form.querySelectorAll("select[name$=comparison] option")].map((option) => [option, option.text]));
const later = { ">": "is after", ">=": "is on or after", "<": "is before", "<=": "is on or before" };
const takes = {
  word: (sign) => sign === "=" || sign === "<>",
  boolean: (sign) => !(sign in later),
  number: (sign, where) => where || sign in later,
  moment: (sign, where) => where || sign in later,
};

// Offers the comparisons that fit, in the words of dates for dates.
function compare(select, of, where) {
  for (const option of select.options) {
    option.hidden = option.disabled = of in takes && !takes[of](option.value, where);
    option.text = (of === "moment" && later[option.value]) || (of === "word" && option.value === "=" && "is") || words.get(option);
  }
  if (select.selectedOptions[0]?.disabled) select.value = [...select.options].find((option) => !option.disabled).value;
}

function arrange() {
  show(".for-menus", value("mode") === "menus");
  show(".for-sql", value("mode") === "sql");
  show(".for-epsilon", value("way") === "epsilon");
  show(".for-error", value("way") === "error");
  show(".for-number", value("way") === "number");
  show(".for-delta", value("way") === "epsilon" || value("way") === "error");
  show("#epsilon-other", value("epsilon") === "other");
  show(".not-for-groups", value("what") !== "groups");
  const grouped = value("mode") === "sql" ? /\bgroup\s+by\b/i.test(value("question")) : value("group") || value("what") === "groups";
  show(".for-groups", grouped && value("way") !== "close");
  show(".for-share", value("what") === "share");
  form.querySelector("label[for=where]").textContent = value("what") === "share" ? "counting those whose" : "among those whose";
  compare(field("comparison"), kind("what"), false);
  compare(field("where_comparison"), kind("where"), true);
  show("[name=where_comparison]", value("where"));
  show("[name=where_value]", value("where") && !["null", "there"].includes(value("where_comparison")));
  field("where_value").setAttribute("list", field("where").selectedOptions[0]?.dataset.values ?? "");
}

// Says of each field whether it has a mistake, which stands beside it.
function mark() {
  for (const slot of form.querySelectorAll(".wrong")) {
    const wrong = slot.textContent.trim() !== "";
    const there = field(slot.dataset.field);
    if (!there) continue;
    if (wrong) there.setAttribute("aria-invalid", "true");
    else there.removeAttribute("aria-invalid");
    const more = slot.closest("details");
    if (wrong && more) more.open = true;
  }
}

form.addEventListener("input", (event) => {
  if (event.target.id === "epsilon" && event.target.value !== "other") field("epsilon_other").value = "";
  document.querySelectorAll("#answer > .notice.bad").forEach((refused) => refused.remove()); // it was about another entry
  arrange();
});
document.body.addEventListener("htmx:oobAfterSwap", mark);
document.body.addEventListener("mistaken", () => form.querySelector("[aria-invalid]:not([hidden])")?.focus());
arrange();
