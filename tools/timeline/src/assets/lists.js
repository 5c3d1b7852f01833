// The lists below a chart: the findings, and when the device was idle.

function findings(chart) {
  const entries = chart.findings.map((finding, n) => {
    const entry = element("li", {}, element("b", { textContent: n + 1 }), element("pre", { textContent: finding.text }));
    if (finding.operations.length) {
      const button = element("button", { type: "button", textContent: "Show" });
      button.setAttribute("aria-label", `Show the operations of finding ${n + 1}`);
      button.onclick = () => showThings(chart, finding.operations.map((index) => chart.operations[index]));
      entry.append(button);
    }
    return entry;
  });
  const made = element("ol", { className: "findings" }, ...entries);
  made.setAttribute("aria-label", "Findings");
  return made;
}

// When the device was idle and why, folded.
function gaps(chart) {
  const { summary, causes, longest } = chart.gaps;
  const entries = longest.map(({ start, end, between, cause }) => {
    const [before, after] = between.map((place) => called(chart.operations[place]));
    const text = `${time(end - start)} at ${moment(start)}, after ${before}, before ${after}: ${cause}`;
    const button = element("button", { type: "button", textContent: "Show" });
    button.setAttribute("aria-label", `Show the gap at ${moment(start)}`);
    button.onclick = () => showThings(chart, [{ start, end }]);
    return element("li", {}, element("span", { textContent: text }), button);
  });
  return element("details", { className: "gaps" }, element("summary", { textContent: summary }),
    element("ul", {}, ...causes.map((cause) => element("li", { textContent: cause }))),
    element("p", { className: "quiet", textContent: "The longest gaps" }), element("ol", {}, ...entries));
}
