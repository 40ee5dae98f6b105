/** The files of a directory that a person chose or dropped, and what in it looks as if it should not be passed on. */

import { ServiceError } from "../src/acting.js";
import type { ArtifactFile } from "../src/opening.js";
import { element, labelled } from "./dom.js";
import { bytes, counted, printable } from "./text.js";
import { t } from "./words.js";

const MOST_LISTED = 200;
const IGNORE_FILE = ".bountyignore";

/** A field for a directory and one for files, onto which either can be dropped, too; what was chosen last counts. */
export class DirectoryField {
  readonly input = element("input", { type: "file", multiple: "", webkitdirectory: "" });
  readonly #files = element("input", { type: "file", multiple: "" });
  readonly place = element("div", { class: "drop" });
  #chosen = this.input;
  #dropped: Promise<ArtifactFile[]> | undefined;
  #heard: (files: readonly ArtifactFile[]) => Promise<void> = async () => undefined;

  /** `name` is the label of the field for a directory. */
  constructor(name = t`Directory with the work`) {
    const state = element("p", { class: "muted", role: "status" }, t`Or drop files or a directory here.`);
    this.place.append(labelled(name, this.input), labelled(t`Or files`, this.#files), state);
    for (const input of [this.input, this.#files]) {
      input.addEventListener("change", () => {
        this.#dropped = undefined;
        this.#chosen = input;
        state.textContent = t`${counted(input.files?.length ?? 0, "file")} chosen.`;
        void this.#tell();
      });
    }
    this.place.addEventListener("dragover", (event) => event.preventDefault());
    this.place.addEventListener("drop", (event) => {
      event.preventDefault();
      const entries = [...(event.dataTransfer?.items ?? [])].map((item) => item.webkitGetAsEntry());
      this.#dropped = dropped(entries);
      state.textContent = t`${entries.length} dropped.`;
      void this.#tell();
    });
  }

  /** Passes on the files each time some are chosen. */
  onChosen(heard: (files: readonly ArtifactFile[]) => Promise<void>): void {
    this.#heard = heard;
  }

  async #tell(): Promise<void> {
    const files = await this.files().catch(() => undefined); // refused when the person goes on
    if (files !== undefined) await this.#heard(files);
  }

  /** Gives the files below the directory; its own name is not part of their paths. */
  async files(): Promise<ArtifactFile[]> {
    const found = await (this.#dropped ?? chosen(this.#chosen.files));
    if (found.length === 0) throw new ServiceError("nothing_chosen", t`Choose at least one file, or a directory that has one.`);
    if (found.some(({ path }) => path === IGNORE_FILE)) {
      const message = t`The directory has a ${IGNORE_FILE}, which this page does not follow.`;
      const nextAction = t`Choose a copy without it and without what it names, or use service-cli solver:submit.`;
      throw new ServiceError("ignore_file_present", message, { nextAction });
    }
    return found;
  }
}

/** Lists files by their paths and sizes, as many as a person may look through. */
export function fileList(files: readonly { readonly path: string; readonly size: number }[]): HTMLElement {
  const shown = files.slice(0, MOST_LISTED).map(({ path, size }) => element("li", {}, `${printable(path)}, ${bytes(size)}`));
  const left = files.length - shown.length;
  if (left > 0) shown.push(element("li", {}, t`and ${counted(left, "file")} more`));
  return element("ul", { class: "files" }, ...shown);
}

async function chosen(files: FileList | null): Promise<ArtifactFile[]> {
  return [...(files ?? [])].map((file) => {
    const [, ...below] = file.webkitRelativePath.split("/");
    return { path: below.length > 0 ? below.join("/") : file.name, content: file };
  });
}

async function dropped(entries: readonly (FileSystemEntry | null)[]): Promise<ArtifactFile[]> {
  const [only] = entries;
  const isOne = entries.length === 1 && only?.isDirectory === true;
  const found: ArtifactFile[] = [];
  for (const entry of entries) {
    if (entry !== null) await collect(entry, isOne ? "" : entry.name, found);
  }
  return found;
}

async function collect(entry: FileSystemEntry, path: string, found: ArtifactFile[]): Promise<void> {
  if (entry.isFile) {
    const content = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ path, content });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return; // they come in parts
    for (const each of some) await collect(each, path === "" ? each.name : `${path}/${each.name}`, found);
  }
}
