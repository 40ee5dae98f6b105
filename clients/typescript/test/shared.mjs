// What several tests need: the published vectors, and the code with which something is refused.
import abi_hashes from "../../../tests/vectors/abi_hashes.json" with { type: "json" };
import age_artifact from "../../../tests/vectors/age_artifact.json" with { type: "json" };
import archive from "../../../tests/vectors/archive.json" with { type: "json" };
import canonical_json from "../../../tests/vectors/canonical_json.json" with { type: "json" };
import canonical_query from "../../../tests/vectors/canonical_query.json" with { type: "json" };
import commitments from "../../../tests/vectors/commitments.json" with { type: "json" };
import delivery_wrap from "../../../tests/vectors/delivery_wrap.json" with { type: "json" };
import documents from "../../../tests/vectors/documents.json" with { type: "json" };
import envelope from "../../../tests/vectors/envelope.json" with { type: "json" };
import key_capsule from "../../../tests/vectors/key_capsule.json" with { type: "json" };
import names from "../../../tests/vectors/names.json" with { type: "json" };
import request_approval from "../../../tests/vectors/request_approval.json" with { type: "json" };
import reveal from "../../../tests/vectors/reveal.json" with { type: "json" };
import witnesses from "../../../tests/vectors/witnesses.json" with { type: "json" };
import { ServiceError } from "bounty-escrow-client";

const published = {
  abi_hashes,
  age_artifact,
  archive,
  canonical_json,
  canonical_query,
  commitments,
  delivery_wrap,
  documents,
  envelope,
  key_capsule,
  names,
  request_approval,
  reveal,
  witnesses,
};

/** The vectors of `tests/vectors` by the name of their file. */
export const load = (name) => published[name];

/** The code with which an attempt is refused; "accepted" where it is not. Anything else that it throws is a fault. */
export async function failureOf(attempt) {
  try {
    await attempt();
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
  return "accepted";
}
