/**
 * A copy of sealed work in one file: a tar archive of a folder with `envelope.json` and `ciphertext.age`, which putting
 * lost work back takes as it is, here and in `service-cli solver:submit --put-back`.
 */

/** A file by its path. */
export interface CopiedFile {
  readonly path: string;
  readonly content: Blob;
}

const BLOCK = 512;
/** Entries of an archive that are looked at. */
const MOST_ENTRIES = 1_000;
const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();

/** The archive; `folder` is the short plain name of the folder in it. The ciphertext is read when the archive is. */
export function archiveOf(folder: string, envelope: string, ciphertext: Blob): Blob {
  const parts = [...entry(`${folder}/envelope.json`, new Blob([envelope])), ...entry(`${folder}/ciphertext.age`, ciphertext)];
  return new Blob([...parts, new Uint8Array(2 * BLOCK)], { type: "application/x-tar" });
}

/** The files in such an archive, of any tool; of what is none, those before it ends to be one. Nothing is copied. */
export async function filesIn({ path, content }: CopiedFile): Promise<CopiedFile[]> {
  const found: CopiedFile[] = [];
  let at = 0;
  for (let entries = 0; entries < MOST_ENTRIES && at + BLOCK <= content.size; entries += 1) {
    const header = new Uint8Array(await content.slice(at, at + BLOCK).arrayBuffer());
    const size = Number.parseInt(text(header, 124, 136), 8);
    if (text(header, 257, 262) !== "ustar" || !Number.isSafeInteger(size) || size < 0) break;
    at += BLOCK;
    const isFile = header[156] === 0x30 || header[156] === 0;
    if (isFile && at + size <= content.size) {
      found.push({ path: `${path}/${text(header, 0, 100)}`, content: content.slice(at, at + size) });
    }
    at += size + (-size & (BLOCK - 1));
  }
  return found;
}

function entry(name: string, content: Blob): BlobPart[] {
  const header = new Uint8Array(BLOCK);
  const put = (at: number, value: string) => header.set(ENCODER.encode(value), at);
  put(0, name);
  put(100, "0000600\0");
  put(108, "0000000\0");
  put(116, "0000000\0");
  put(124, `${content.size.toString(8).padStart(11, "0")}\0`);
  put(136, `${"0".repeat(11)}\0`);
  put(148, " ".repeat(8)); // the checksum counts as spaces
  put(156, "0");
  put(257, "ustar\0" + "00");
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return [header, content, new Uint8Array(-content.size & (BLOCK - 1))];
}

function text(header: Uint8Array, from: number, to: number): string {
  return (DECODER.decode(header.subarray(from, to)).split("\0")[0] ?? "").trim();
}
