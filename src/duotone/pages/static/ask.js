// The ask page: shows the fields of what is chosen. Without it all of them are there, and the server says what does not fit.
"use strict";

const form = document.getElementById("asking");
const value = (name) => form.elements.namedItem(name)?.value;
const show = (part, shown) => form.querySelectorAll(part).forEach((element) => (element.hidden = !shown));

function arrange() {
  show(".for-menus", value("mode") === "menus");
  show(".for-sql", value("mode") === "sql");
  show(".for-epsilon", value("way") === "epsilon");
  show(".for-error", value("way") === "error");
  show(".for-number", value("way") === "number");
  show(".for-delta", value("way") === "epsilon" || value("way") === "error");
  show("#epsilon-other", value("epsilon") === "other");
  const grouped = value("mode") === "sql" ? /\bgroup\s+by\b/i.test(value("question")) : value("group") || value("what") === "groups";
  show(".for-groups", grouped && value("way") !== "close");
  show(".for-share", value("what") === "share");
  form.querySelector("label[for=where]").textContent = value("what") === "share" ? "counting those whose" : "among those whose";
}

form.addEventListener("input", (event) => {
  if (event.target.id === "epsilon" && event.target.value !== "other") form.elements.namedItem("epsilon_other").value = "";
  arrange();
});
arrange();
