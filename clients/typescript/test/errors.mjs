// Code and status of what is refused: node errors.mjs SETTINGS-URL prints them.
import { createServer } from "node:http";
import { ServiceError, answerOf, createApi } from "bounty-escrow-client";

const { apiUrl, relays } = await import(process.argv[2]);

async function refusalOf(call) {
  try {
    await call();
  } catch (error) {
    if (error instanceof ServiceError) return [error.code, error.status ?? null];
    throw error;
  }
  return "accepted";
}

const zero = `0x${"00".repeat(32)}`;
const detail = (url) => () =>
  answerOf(createApi(url).GET("/api/bounties/{bounty_id}", { params: { path: { bounty_id: "999999" } } }));
const unsigned = () =>
  createApi(apiUrl).GET("/api/bounties/{bounty_id}/submissions/{submission_commitment}/content", {
    params: { path: { bounty_id: "1", submission_commitment: zero } },
  });

const bare = async (status, body = "") => {
  const proxy = createServer((_request, response) => response.writeHead(status).end(body));
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  try {
    await detail(`http://127.0.0.1:${proxy.address().port}`)();
    return "accepted";
  } catch (error) {
    return [error.code, error.status, error.message, error.nextAction];
  } finally {
    proxy.close();
  }
};

console.log(
  JSON.stringify({
    unknown_bounty: await refusalOf(detail(apiUrl)),
    unsigned: await refusalOf(unsigned),
    nobody: await refusalOf(detail("http://127.0.0.1:9")),
    another_server: await refusalOf(detail(relays[0])),
    bare_413: await bare(413),
    bare_502: await bare(502, "<html>bad gateway</html>"),
    bare_504: await bare(504),
  }),
);
