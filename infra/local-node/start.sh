#!/usr/bin/env bash
# Run one assembled node in the foreground; SIGTERM stops it.
#
#   start.sh HOME NODE_DIR [HTTP_PORT] [-Esetting=value ...]
#
# HOME is what assemble.sh made, and is only read. NODE_DIR gets the node's config, data, logs and tmp. The transport
# port is HTTP_PORT + 100. JAVA_HOME (else PATH) says which JDK: 17 to 23 for 2.19.1, 21 or newer for 3.5.0.
# OPENSEARCH_HEAP is the heap, 1g by default.
# OpenSearch refuses to run as root: then it runs as the system user of HYBRID_SEARCH_NODE_USER (default
# "hybrid-search-node", created where it is missing), who must be able to reach both folders.
#
# A cluster on one machine: one call a node, each with its own port and NODE_DIR, and the same -Ecluster.name=...,
# -Ediscovery.seed_hosts=127.0.0.1:9300,127.0.0.1:9301,... and -Ecluster.initial_cluster_manager_nodes=node-9200,node-9201,...
# `scripts/node start 3` does all of this.
set -euo pipefail

fail() { echo "start.sh: $2" >&2; exit "$1"; }

(($# >= 2)) || fail 2 "usage: start.sh HOME NODE_DIR [HTTP_PORT] [-Esetting=value ...]"
[ -e "$1/VERSION" ] || fail 2 "$1 is not an assembled node: run assemble.sh $1"
home=$(cd "$1" && pwd)
mkdir -p "$2"
node=$(cd "$2" && pwd)
port=9200
shift 2
if (($#)) && [[ $1 != -* ]]; then port=$1; shift; fi
heap=${OPENSEARCH_HEAP:-1g}
java=$(command -v "${JAVA_HOME:+$JAVA_HOME/bin/}java") || fail 7 "there is no Java: install a JDK, or set JAVA_HOME"
major=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
case $(cat "$home/VERSION") in
  2.*) ((major >= 17 && major <= 23)) || fail 7 "OpenSearch 2.19.1 needs Java 17 to 23, $java is $major: set JAVA_HOME"
       flags=(-Djava.security.manager=allow "-Djava.locale.providers=SPI,COMPAT") ;;
  *)   ((major >= 21)) || fail 7 "OpenSearch 3.5.0 needs Java 21 or newer, $java is $major: set JAVA_HOME"
       flags=("-Djava.locale.providers=SPI,CLDR" --add-modules=jdk.incubator.vector --enable-native-access=ALL-UNNAMED) ;;
esac

mkdir -p "$node"/{config,data,logs,tmp}
cp "$home/config/log4j2.properties" "$node/config/"
run=()
if [ "$(id -u)" = 0 ]; then
  user=${HYBRID_SEARCH_NODE_USER:-hybrid-search-node}
  id "$user" >/dev/null 2>&1 || useradd --system --user-group --no-create-home --shell /usr/sbin/nologin "$user"
  chown -R "$user:" "$node"
  run=(setpriv --reuid="$user" --regid="$user" --clear-groups)
  for path in "$java" "$home/lib" "$node/data"; do   # -x: may enter, may run
    "${run[@]}" test -x "$path" || fail 7 "the user $user, as whom the node runs, cannot reach $path: it must be outside private folders"
  done
fi
cluster=(-Ecluster.name=local)   # a setting may be given once only: what the caller says replaces these two
discovery=(-Ediscovery.type=single-node)
for argument in "$@"; do
  case $argument in -Ecluster.name=*) cluster=() ;; -Ediscovery.*) discovery=() ;; esac
done
cd "$node"   # the flags are those of OpenSearch's own start script
exec "${run[@]+"${run[@]}"}" "$java" -Xms"$heap" -Xmx"$heap" "${flags[@]}" \
  -Xss1m -Dfile.encoding=UTF-8 -Djava.awt.headless=true -Djna.nosys=true -XX:-OmitStackTraceInFastThrow \
  -Dio.netty.noUnsafe=true -Dio.netty.noKeySetOptimization=true -Dio.netty.recycler.maxCapacityPerThread=0 \
  -Dlog4j.shutdownHookEnabled=false -Dlog4j2.disable.jmx=true -Djava.io.tmpdir="$node/tmp" \
  -Dopensearch.path.home="$home" -Dopensearch.path.conf="$node/config" \
  -Dopensearch.distribution.type=tar -Dopensearch.bundled_jdk=false -cp "$home/lib/*" \
  org.opensearch.bootstrap.OpenSearch \
  -Enode.name="node-$port" "${cluster[@]+"${cluster[@]}"}" "${discovery[@]+"${discovery[@]}"}" -Enetwork.host=127.0.0.1 \
  -Ehttp.port="$port" -Etransport.port=$((port + 100)) -Epath.data="$node/data" -Epath.logs="$node/logs" \
  -Ecluster.routing.allocation.disk.threshold_enabled=false "$@"
