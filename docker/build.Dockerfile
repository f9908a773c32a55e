# Everything to build a program that uses Millrace: Go, a C++ compiler, the
# sources of Millrace with their dependencies, the program millrace, and
# TensorFlow with headers and Millrace's dataset operations. The other
# Dockerfiles start with it. docs/container.md says how to use it.
#
#     docker build -t millrace-build -f docker/build.Dockerfile .

# A digest fixes the base for good: golang:1.26.0-bookworm@sha256:...
ARG GO_BASE=golang:1.26.0-bookworm
FROM ${GO_BASE}

# pip only downloads TensorFlow's wheel. Nothing of Python runs afterwards.
RUN apt-get update \
	&& apt-get install --yes --no-install-recommends ca-certificates g++ python3-pip \
	&& rm -rf /var/lib/apt/lists/*

# Mirrors, for those who need them; they are not in the environment of the
# image. The secret "ca-certificates" replaces the certificates that downloads
# are checked with. It is not mounted over the file that the image has: buildah
# would remove that file.
ARG GOPROXY
ARG PIP_INDEX_URL

# Paths of this machine stay out of programs.
ENV GOFLAGS=-trimpath GOTOOLCHAIN=local CGO_ENABLED=1

WORKDIR /usr/src/millrace
COPY go.mod go.sum ./
RUN --mount=type=secret,id=ca-certificates \
	if [ -e /run/secrets/ca-certificates ]; then export SSL_CERT_FILE=/run/secrets/ca-certificates; fi \
	&& go mod download

COPY . .
ARG REVISION=unknown
RUN go build -buildvcs=false -ldflags "-s -w -X main.revision=${REVISION}" -o /usr/local/bin/millrace ./cmd/millrace

# pip keeps the wheel in the cache, so that a changed source does not download
# it again.
ARG VARIANT=cpu
ENV MILLRACE_RUNTIME=/opt/millrace/runtime
RUN --mount=type=secret,id=ca-certificates --mount=type=cache,target=/var/cache/pip \
	if [ -e /run/secrets/ca-certificates ]; then export PIP_CERT=/run/secrets/ca-certificates; fi \
	&& export PIP_CACHE_DIR=/var/cache/pip \
	&& unset MILLRACE_RUNTIME \
	&& case ${VARIANT} in cpu) set -- ;; cuda) set -- --cuda ;; *) echo "VARIANT is cpu or cuda, not ${VARIANT}" >&2; exit 2 ;; esac \
	&& millrace runtime install --prelink=false --native=false --dir /opt/millrace "$@" \
	&& mv /opt/millrace/*-${VARIANT} /opt/millrace/runtime

# An image without the operations would be slower for good, so this may fail.
RUN millrace runtime native
