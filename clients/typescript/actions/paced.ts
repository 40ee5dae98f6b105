/** What passes between two things: how often a person is told how far something is, a wait, and another look. */

const MILLISECONDS = 250;
/** So often a node is asked before it is believed that something is not there: its parts may be a block apart. */
export const MOST_LOOKS = 4;
const LOOK_MILLISECONDS = 1_000;

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

/** What is there, by several looks where it is not as expected. */
export async function lookedAt<Value>(
  look: () => Promise<Value>,
  isExpected: (found: Value) => boolean,
): Promise<Value> {
  for (let looks = 1; ; looks += 1) {
    const found = await look();
    if (looks === MOST_LOOKS || isExpected(found)) return found;
    await pause(LOOK_MILLISECONDS);
  }
}
