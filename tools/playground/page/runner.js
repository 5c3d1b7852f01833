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

// Shows a page of timelines, which scrolls within its frame. It has an address of its own, whose fragment it changes.
export function showTimeline(frame, page) {
  URL.revokeObjectURL(frame.src);
  frame.hidden = !page;
  if (page) frame.src = URL.createObjectURL(new Blob([page], { type: "text/html" }));
}

export function showProgress(bar, share) {
  bar.hidden = share >= 1;
  bar.value = share;
}
