/** The files of a directory that a person chose, and what in it looks as if it should not be passed on. */

import { ServiceError } from "../src/acting.js";
import type { ArtifactFile } from "../src/opening.js";
import { element, labelled } from "./dom.js";
import { bytes, counted, printable } from "./text.js";
import { t } from "./words.js";

const MOST_LISTED = 200;
const IGNORE_FILE = ".bountyignore";

/** A field for a directory and one for files; what was chosen last counts. */
export class DirectoryField {
  readonly place = element("div");
  #chosen: readonly File[] = [];
  #heard: (files: readonly ArtifactFile[]) => Promise<void> = async () => undefined;

  constructor() {
    const directory = element("input", { type: "file", multiple: "", webkitdirectory: "" });
    const files = element("input", { type: "file", multiple: "" });
    this.place.append(labelled(t`Directory with the work`, directory), labelled(t`Or files`, files));
    for (const input of [directory, files]) {
      input.addEventListener("change", () => {
        this.#chosen = [...(input.files ?? [])];
        void this.#heard(this.#below());
      });
    }
  }

  /** Passes on the files each time some are chosen. */
  onChosen(heard: (files: readonly ArtifactFile[]) => Promise<void>): void {
    this.#heard = heard;
  }

  /** Gives the files below the directory; its own name is not part of their paths. */
  files(): readonly ArtifactFile[] {
    const found = this.#below();
    if (found.length === 0) throw new ServiceError("nothing_chosen", t`Choose at least one file, or a directory that contains one.`);
    if (found.some(({ path }) => path === IGNORE_FILE)) {
      const message = t`The directory has a ${IGNORE_FILE}, which this page does not apply.`;
      const nextAction = t`Choose a copy without it and without the files it names, or use service-cli solver:submit.`;
      throw new ServiceError("ignore_file_present", message, { nextAction });
    }
    return found;
  }

  #below(): ArtifactFile[] {
    return this.#chosen.map((file) => {
      const [, ...below] = file.webkitRelativePath.split("/");
      return { path: below.length > 0 ? below.join("/") : file.name, content: file };
    });
  }
}

/** Lists files by their paths and sizes, as many as a person may look through. */
export function fileList(files: readonly { readonly path: string; readonly size: number }[]): HTMLElement {
  const shown = files.slice(0, MOST_LISTED).map(({ path, size }) => element("li", {}, `${printable(path)}, ${bytes(size)}`));
  const left = files.length - shown.length;
  if (left > 0) shown.push(element("li", {}, t`and ${counted(left, "file")} more`));
  return element("ul", { class: "files" }, ...shown);
}
