// Loaded before the bundler, which listens on every interface and has no option for it: everything listens on loopback.

import net from "node:net";

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (options, ...rest) {
  return listen.call(this, { ...options, host: "127.0.0.1" }, ...rest);
};
