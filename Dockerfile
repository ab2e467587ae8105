# docker build -t olbench . && docker run --rm -v "$PWD:/work" olbench run quick
FROM python:3.12-slim AS build
COPY . /src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /src

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl && rm -r /wheels
# Results belong to a user, not to root; with another user id: docker run --user "$(id -u)".
RUN useradd --create-home --uid 1000 olbench && mkdir /work /cache && chown olbench /work /cache && chmod 1777 /cache
ENV OLBENCH_CACHE=/cache
USER olbench
WORKDIR /work
ENTRYPOINT ["olbench"]
CMD ["--help"]
