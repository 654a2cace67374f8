# The experiments on data that come with scikit-learn, their report in /results:
#   docker build -t lpbench . && docker run --rm -v "$PWD/results:/results" lpbench
# Anything else: docker run --rm lpbench lpbench list experiments
FROM python:3.11-slim

RUN useradd --uid 1000 --create-home lpbench && mkdir /results && chown 1000 /results
WORKDIR /src
COPY requirements.lock ./
RUN python -m pip install --no-cache-dir -r requirements.lock
COPY . .
RUN python -m pip install --no-cache-dir --no-deps --no-build-isolation . && rm -rf /src/*

USER 1000
WORKDIR /home/lpbench
ENV LPBENCH_RESULTS=/results
CMD ["lpbench", "reproduce", "extensions/embedded_*"]
