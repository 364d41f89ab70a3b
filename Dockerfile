# The gateway, and every other command, in an image without a shell:
#
#     docker build --build-arg CROSSFEED_COMMIT="$(git rev-parse HEAD)" -t crossfeed .
#     docker run --rm crossfeed demo
#     docker run --rm -p 8080:8080 -v "$PWD/gateway.toml:/etc/crossfeed/gateway.toml:ro" crossfeed \
#         gateway --config /etc/crossfeed/gateway.toml --listen 0.0.0.0:8080
#
# It runs servers over HTTP. For servers that are commands, copy the binary into an image that has them.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
# What `crossfeed --version` shows: the image is built without the repository.
ARG CROSSFEED_COMMIT
ENV CROSSFEED_COMMIT=$CROSSFEED_COMMIT
RUN cargo build --locked --profile dist -p crossfeed-cli --features redis,object-store,sql

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /src/target/dist/crossfeed /usr/local/bin/crossfeed
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/crossfeed"]
