// The page's data. That of a large page is compressed, and its times and places are differences.

async function unpacked(element) {
  const letters = atob(element.textContent);
  const packed = new Uint8Array(letters.length);
  for (let n = 0; n < packed.length; n++) packed[n] = letters.charCodeAt(n);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = JSON.parse(await new Response(stream).text());
  for (const chart of data.figures.flatMap((figure) => figure.charts)) addUp(chart);
  return data;
}

// Makes times and places of differences.
function addUp(chart) {
  let start = 0;
  for (const operation of chart.operations) {
    operation[4] = start += operation[4];
    operation[5] += start;
  }
  start = 0;
  let enqueued = 0;
  for (const call of chart.calls) {
    call.start = start += call.start;
    call.end += start;
    if (call.enqueued !== null) call.enqueued = enqueued += call.enqueued;
  }
  for (const lane of chart.rows.flatMap((row) => row.lanes)) {
    let place = 0;
    lane.forEach((by, n) => { lane[n] = place += by; });
  }
}
