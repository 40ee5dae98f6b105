/** The files of a directory that a person chose, and what in it looks as if it should not be passed on. */

import { ServiceError } from "../src/acting.js";
import { element, labelled } from "./dom.js";
import { bytes, counted, printable } from "./text.js";

const MOST_LISTED = 200;
const IGNORE_FILE = ".bountyignore";

/** A file that a person chose, by its path below the directory. */
export interface ChosenFile {
  readonly path: string;
  readonly content: File;
}

/** Fields for a directory and for files; what was chosen last counts, and is passed on each time. */
export function directoryField(onChosen: (files: readonly ChosenFile[]) => Promise<void>) {
  let chosen: readonly ChosenFile[] = [];
  const directory = element("input", { type: "file", multiple: "", webkitdirectory: "" });
  const single = element("input", { type: "file", multiple: "" });
  for (const input of [directory, single]) {
    input.addEventListener("change", () => {
      chosen = [...(input.files ?? [])].map((file) => {
        const [, ...below] = file.webkitRelativePath.split("/"); // without the directory's own name
        return { path: below.length > 0 ? below.join("/") : file.name, content: file };
      });
      void onChosen(chosen);
    });
  }
  /** Gives the files; refuses none, and a directory whose ignore file would have to be followed. */
  const files = (): readonly ChosenFile[] => {
    if (chosen.length === 0) throw new ServiceError("nothing_chosen", "Choose at least one file, or a directory that has one.");
    if (!chosen.some(({ path }) => path === IGNORE_FILE)) return chosen;
    throw new ServiceError("ignore_file_present", `The directory has a ${IGNORE_FILE}, which this page does not follow.`, {
      nextAction: "Choose a copy without it and without what it names, or use service-cli solver:submit.",
    });
  };
  return { place: element("div", {}, labelled("Directory with the work", directory), labelled("Or files", single)), files };
}

/** Lists files by their paths and sizes, as many as a person may look through. */
export function fileList(files: readonly { readonly path: string; readonly size: number }[]): HTMLElement {
  const shown = files.slice(0, MOST_LISTED).map(({ path, size }) => element("li", {}, `${printable(path)}, ${bytes(size)}`));
  const left = files.length - shown.length;
  if (left > 0) shown.push(element("li", {}, `and ${counted(left, "file")} more`));
  return element("ul", { class: "files" }, ...shown);
}
