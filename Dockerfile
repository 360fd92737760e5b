# Two stages: the compiler stays behind. Build: docker build -t sales-concierge .
# Run: docker run -p 3000:3000 -v concierge:/data --env-file concierge.env sales-concierge

FROM rust:1.95-slim-bookworm AS build
# rust:slim brings cc, all that SQLite and ring ask for.
WORKDIR /build
# What goes in is listed in .dockerignore.
COPY . .
# Slower to build than --release, and a quarter faster afterwards.
RUN cargo build --profile dist --locked

FROM debian:bookworm-slim
# The certificates of Slack's and the model's issuers are read from the system.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin concierge \
 && install -d -o concierge -g concierge -m 0700 /data
COPY --from=build /build/target/dist/sales-concierge /usr/local/bin/sales-concierge
USER concierge
WORKDIR /data
VOLUME /data
# Inside a container, loopback is not reachable from outside.
ENV SALES_CONCIERGE__SERVER__LISTEN=0.0.0.0:3000 \
    SALES_CONCIERGE__SERVER__METRICS_LISTEN=0.0.0.0:9464 \
    SALES_CONCIERGE__LOG__JSON=true
EXPOSE 3000 9464
# The program stops cleanly on SIGTERM, docker's default.
ENTRYPOINT ["sales-concierge"]
CMD ["serve", "--data-dir", "/data"]
