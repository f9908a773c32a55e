# The program millrace with TensorFlow for the CPU and Millrace's dataset
# operations. docs/container.md says how to build and run it.
#
#     docker build -t millrace-build -f docker/build.Dockerfile .
#     docker build -t millrace .

ARG BUILDER=millrace-build
# Nothing but what docker/minimal-root collects: no shell, no package manager, no setuid program. With
# BASE=debian:bookworm-slim@sha256:... there is a shell to look around with.
ARG BASE=scratch

FROM ${BUILDER} AS build
# The operations and the program change with each version of Millrace, TensorFlow does not: two
# folders make two layers.
RUN millrace runtime export /tmp/runtime \
	&& docker/minimal-root /image/base /usr/local/bin/millrace /tmp/runtime \
	&& mkdir -p /image/late/opt/millrace/runtime /image/late/usr/local /image/base/usr/share/doc/millrace \
	&& mv /image/base/opt/millrace/runtime/ops /image/late/opt/millrace/runtime/ops \
	&& mv /image/base/usr/local/bin /image/late/usr/local/bin \
	&& cp LICENSE /image/base/usr/share/doc/millrace/

FROM ${BASE}
COPY --from=build /image/base /
COPY --from=build /image/late /

ENV MILLRACE_RUNTIME=/opt/millrace/runtime PATH=/usr/local/bin:/usr/bin:/bin
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
WORKDIR /data
# gRPC and HTTP of "millrace serve".
EXPOSE 8500 8501
# Asks the server whether it is ready, where its own flags say that it listens. A container that runs
# another command is healthy. No shell takes part.
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["millrace", "serve", "--probe"]
ENTRYPOINT ["millrace"]
CMD ["--help"]

# Last, because another revision must not make the layers above again.
ARG BASE
ARG REVISION=unknown
ARG VERSION=devel
ARG SOURCE=""
LABEL org.opencontainers.image.title="millrace" \
	org.opencontainers.image.description="TensorFlow input pipelines and models, run from Go" \
	org.opencontainers.image.licenses="Apache-2.0" \
	org.opencontainers.image.version="${VERSION}" \
	org.opencontainers.image.source="${SOURCE}" \
	org.opencontainers.image.revision="${REVISION}" \
	org.opencontainers.image.base.name="${BASE}" \
	org.cyclonedx.sbom="/usr/share/doc/millrace/sbom.cdx.json"
