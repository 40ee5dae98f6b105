/** A copy of sealed work in one file: a tar archive of a folder with `envelope.json` and `ciphertext.age`. */

const BLOCK = 512;
const ENCODER = new TextEncoder();

/** The archive; `folder` is the short plain name of the folder in it. The ciphertext is read when the archive is. */
export function archiveOf(folder: string, envelope: string, ciphertext: Blob): Blob {
  const parts = [...entry(`${folder}/envelope.json`, new Blob([envelope])), ...entry(`${folder}/ciphertext.age`, ciphertext)];
  return new Blob([...parts, new Uint8Array(2 * BLOCK)], { type: "application/x-tar" });
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
