/** What passes between two things: how often a person is told how far something is, and a wait. */

const MILLISECONDS = 250;

/** Calls a function at most four times a second: a status that changes more often is read by nobody. */
export function paced<Value>(work: (value: Value) => void): (value: Value) => void {
  let last = -MILLISECONDS;
  return (value) => {
    if (performance.now() - last < MILLISECONDS) return;
    last = performance.now();
    work(value);
  };
}

/** Waits. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
