# Both services: the api is what runs by default, `node services/projector/src/main.ts` the projector.

FROM node:26-bookworm-slim AS base
WORKDIR /plant-store
ENV NODE_ENV=production

FROM base AS packages
COPY package.json package-lock.json .npmrc ./
COPY shared/package.json shared/
COPY services/api/package.json services/api/
COPY services/projector/package.json services/projector/
COPY plantctl/package.json plantctl/
RUN npm ci --omit=dev

FROM base
# A named volume takes its first owner from here.
RUN install -d -o node -g node /run/plant-store
COPY --from=packages /plant-store/node_modules node_modules
COPY package.json ./
COPY shared shared
COPY services services
COPY plantctl plantctl
RUN ln -s /plant-store/plantctl/src/main.ts /usr/local/bin/plantctl
COPY local/acls.ts local/create-topic.ts local/grant-rights.ts local/provide-tokens.mjs local/
COPY local/launch/token.mjs local/launch/
COPY local/processes/failure.mjs local/processes/whole-file.mjs local/processes/
USER node
# Within a container everything listens on all its addresses; what is published decides who reaches it.
ENV HOST=0.0.0.0 PORT=3000 OPS_PORT=3100
EXPOSE 3000 3100
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.OPS_PORT}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1))"]
CMD ["node", "--no-allocation-site-pretenuring", "services/api/src/main.ts"]
