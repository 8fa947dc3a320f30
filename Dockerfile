# ark with the runtime and assembler of CUDA, from a wheel of `make wheel`:
#
#   make wheel WHEEL_PYTHONS=3.12
#   docker build -t ark .
#   docker run --rm --gpus all ark env
#
# The base image brings no driver: the container uses that of the host, through NVIDIA's container
# toolkit. Ubuntu 24.04 has glibc 2.39 and Python 3.12; wheels need glibc 2.36 or newer.
ARG CUDA_VERSION=12.8.1
FROM nvidia/cuda:${CUDA_VERSION}-base-ubuntu24.04

RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*

RUN useradd --create-home ark
USER ark
WORKDIR /home/ark
ENV PATH=/home/ark/venv/bin:$PATH PIP_NO_CACHE_DIR=1

COPY --chown=ark dist/*cp312*.whl /tmp/
# The extra has the bindings of the driver, and ptxas.
RUN python3 -m venv venv \
 && wheel=$(ls /tmp/*.whl) \
 && pip install "$wheel[cuda12]" \
 && rm /tmp/*.whl \
 && ark env

ENTRYPOINT ["ark"]
CMD ["--help"]
