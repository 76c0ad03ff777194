# Both services: the api is what runs by default, `node services/projector/src/main.ts` the projector.

FROM node:26.10.0-bookworm-slim@sha256:662933cf47f013bc8e4beb31a6116448427a82057ba7c42c97e4c5ba766504c2 AS node

FROM node AS packages
WORKDIR /plant-store
COPY package.json package-lock.json .npmrc ./
COPY shared/package.json shared/
COPY services/api/package.json services/api/
COPY services/projector/package.json services/projector/
COPY plantctl/package.json plantctl/
# Two thirds of what the packages contain is never loaded: declarations, maps, tests and texts. Licences stay.
RUN npm ci --omit=dev \
  && find node_modules -depth -type d \( -name test -o -name tests -o -name benchmark -o -name benchmarks \) \
    -exec rm -r {} + \
  && find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' \
    -o -name '*.test.*' -o -name '*.md' ! -iname '*licen[cs]e*' \) -delete

# Without what only builds (npm, yarn, headers) and the character sets of libc: Node has its own. A layer above cannot
# make the base smaller, so what is left becomes one layer. It has the same bytes as long as the base stays, and is then
# not fetched again.
FROM node AS system
RUN rm -rf /usr/local/lib/node_modules /usr/local/include /usr/local/share /opt/* /root/.npm \
    /usr/lib/*/gconv /var/cache/* /var/log/* \
  && find /usr/local/bin -mindepth 1 ! -name node -delete \
  # Named volumes take their first owner from here.
  && install -d -o 1000 -g 1000 /run/plant-store /run/plant-store-token \
  && find / -xdev -newer /usr/local/bin/node -exec touch --no-dereference --date=@0 {} +

# With the rights that the clone should have: its umask may have left none to others.
FROM node AS program
WORKDIR /plant-store
COPY package.json LICENSE ./
COPY shared shared
COPY services services
COPY plantctl plantctl
COPY local/create-topic.ts local/grant-rights.ts local/provide-tokens.ts local/
COPY local/launch/run-file.ts local/launch/token.ts local/launch/
COPY local/processes/failure.mjs local/processes/process-identity.ts local/processes/whole-file.ts local/processes/
RUN chmod -R a+rX .

FROM scratch
# The stage holds nothing but the base.
# hadolint ignore=DL3067
COPY --from=system / /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin NODE_ENV=production
WORKDIR /plant-store
COPY --from=packages /plant-store/node_modules node_modules
COPY --from=program /plant-store .
RUN ln -s /plant-store/plantctl/src/main.ts /usr/local/bin/plantctl
# A number: Kubernetes cannot tell whether a name is root's.
USER 1000:1000
# Within a container everything listens on all its addresses; what is published decides who reaches it.
ENV HOST=0.0.0.0 PORT=3000 OPS_PORT=3100
EXPOSE 3000 3100
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.OPS_PORT}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1))"]
# Last, because each release has others.
ARG VERSION=unreleased
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="Plant Store" \
  org.opencontainers.image.description="An event-sourced plant store: Fastify, Kafka and Redis" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.source="${SOURCE}" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
CMD ["node", "--no-allocation-site-pretenuring", "services/api/src/main.ts"]
