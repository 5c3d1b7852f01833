// The page's side of the worker, and what both sections of the page do with an answer.

// Each section has a worker of its own: a long lesson does not delay the other section.
export class Runner {
  #worker = new Worker("worker.js", { type: "module" });
  #waiting = new Map();
  #next = 0;

  constructor() {
    this.#worker.addEventListener("message", ({ data }) => {
      const waiting = this.#waiting.get(data.id);
      if ("progress" in data) return waiting.progress(data.progress);
      this.#waiting.delete(data.id);
      if ("error" in data) waiting.fail(new Error(data.error));
      else waiting.done(data);
    });
    this.#worker.addEventListener("error", (event) => {
      for (const { fail } of this.#waiting.values()) fail(new Error(event.message || "the worker cannot be loaded"));
      this.#waiting.clear();
    });
  }

  // Runs a program; `progress` gets the share of it that has arrived.
  run(request, progress) {
    const id = this.#next++;
    return new Promise((done, fail) => {
      this.#waiting.set(id, { done, fail, progress });
      this.#worker.postMessage({ id, ...request });
    });
  }
}

// Shows a page of timelines, as high as it is.
export function showTimeline(frame, page) {
  frame.hidden = !page;
  if (!page) return;
  frame.onload = () => {
    const content = frame.contentDocument.documentElement;
    const fit = () => {
      frame.style.height = `${content.querySelector("body").scrollHeight + 4}px`;
    };
    new ResizeObserver(fit).observe(content.querySelector("body"));
    fit();
  };
  frame.srcdoc = page;
}

export function showProgress(bar, share) {
  bar.hidden = share >= 1;
  bar.value = share;
}
