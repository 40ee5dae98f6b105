// The audits of GraphQL over HTTP at an address: one JSON object per line with id, name and status.
import { serverAudits } from "graphql-http";

for (const audit of serverAudits({ url: process.argv[2] })) {
  const { id, name, status, reason } = await audit.fn();
  console.log(JSON.stringify({ id, name, status, reason }));
}
process.exit(0);
