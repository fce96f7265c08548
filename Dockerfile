# Three images from one file (docker-compose.yml says which service runs which):
#   web         the pages, the `agents` worker, beat, migrations
#   sandboxes   web + Docker's client, for the one service that talks to an engine
#   flower      web + Flower, only for the compose profile of that name

FROM python:3.11-slim AS base
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PATH=/opt/envevo/bin:$PATH

# The dependencies, byte for byte those of the lock. Wheels only, so no compiler is needed.
FROM base AS dependencies
COPY requirements.lock /
RUN python -m venv --without-pip /opt/envevo \
 && pip --python /opt/envevo/bin/python install --no-cache-dir --disable-pip-version-check \
      --only-binary :all: --require-hashes -r /requirements.lock

# What git checks out under a strict umask, nobody but its owner could read.
FROM base AS source
COPY . /app
RUN chmod -R u=rwX,go=rX /app

FROM base AS web
LABEL org.opencontainers.image.title="envevo" \
      org.opencontainers.image.description="Grows verified terminal tasks into lineages of harder environments" \
      org.opencontainers.image.licenses="Apache-2.0"
# A new volume at /data takes over the owner of what is here.
RUN groupadd --gid 10001 envevo \
 && useradd --uid 10001 --gid envevo --no-create-home --home-dir /tmp --shell /usr/sbin/nologin envevo \
 && install -d -o envevo -g envevo -m 750 /data /data/tmp
COPY --from=dependencies /opt/envevo /opt/envevo
COPY --from=source /app /app
WORKDIR /app
ENV ENVEVO_VAR=/data \
    TMPDIR=/data/tmp \
    HOME=/tmp
USER envevo
EXPOSE 8000
CMD ["gunicorn", "envevo_site.wsgi", "--bind", "0.0.0.0:8000", "--workers", "2", "--threads", "4", \
     "--no-control-socket", "--worker-tmp-dir", "/dev/shm"]

# Docker's client and its buildx from Debian 13's packages, which need libc alone. The base image is Debian 13
# or, where it is still 12, borrows them: that one has no buildx, and without it a Dockerfile with a
# heredoc could not be built. Nothing of the engine comes along.
FROM base AS client
WORKDIR /packages
RUN find /etc/apt -type f \( -name '*.list' -o -name '*.sources' \) -exec sed -i 's/bookworm/trixie/g' {} + \
 && apt-get update -q \
 && apt-get download -q docker-cli docker-buildx \
 && mkdir /client \
 && for package in *.deb; do dpkg-deb -x "$package" /client; done \
 && install -D -t /client/only/bin /client/usr/bin/docker \
 && install -D -t /client/only/lib/docker/cli-plugins /client/usr/libexec/docker/cli-plugins/docker-buildx

FROM web AS sandboxes
COPY --from=client /client/only /usr/local

FROM dependencies AS flower-dependencies
COPY requirements-flower.lock /
RUN pip --python /opt/envevo/bin/python install --no-cache-dir --disable-pip-version-check \
      --only-binary :all: --require-hashes -r /requirements-flower.lock

FROM web AS flower
COPY --from=flower-dependencies /opt/envevo /opt/envevo
