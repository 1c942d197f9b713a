# The suite on top of the program. Recordings are many and large, so that no ConfigMap holds
# them. Built from the folder that holds doubletake.yaml and the set:
#   docker build -f suite.Dockerfile -t doubletake-suite:1 .
# Put what is no part of the suite, .env and runs before all, into .dockerignore.
FROM doubletake:0.1.0
COPY . /suite
WORKDIR /suite
