#!/usr/bin/env bash
# Assemble a real OpenSearch node with the k-NN plugin (Lucene engine) from Maven artifacts.
#
#   assemble.sh TARGET [2.19.1|3.5.0]
#
# Needs mvn, unzip and a JDK: 17 to 23 for 2.19.1; 21 or newer, with javac, for 3.5.0. JAVA_HOME says which, else PATH.
# About 90 MB to fetch, half a minute. Everything happens in a folder beside TARGET that is renamed at the very end, so
# an interrupted assembly is never taken for a finished one. Where TARGET/VERSION is there, nothing is done.
#
# In it: BM25 with language analyzers, knn_vector with engine "lucene", filtered and radial k-NN, aliases, _msearch,
# point in time, _reindex, _update_by_query with painless, clusters of several nodes.
# Not in it: the Faiss native library (an index is created, but the first vector kills the node), the security and
# neural-search plugins, the ICU analyzers.
set -euo pipefail

fail() { echo "assemble.sh: $2" >&2; exit "$1"; }

(($# == 1 || $# == 2)) || fail 2 "usage: assemble.sh TARGET [2.19.1|3.5.0]"
target=$1
version=${2:-2.19.1}
case $version in
  2.19.1) java=11 painless=PainlessPlugin analysis=CommonAnalysisPlugin netty=Netty4Plugin reindex=ReindexPlugin
          log4j=2.21.0 extra=() ;;
  3.5.0)  java=21 painless=PainlessModulePlugin analysis=CommonAnalysisModulePlugin netty=Netty4ModulePlugin
          reindex=ReindexModulePlugin log4j=2.25.3 extra=(org.opensearch:opensearch-agent-bootstrap:3.6.0) ;;
  *) fail 2 "there is no recipe for OpenSearch $version, only for 2.19.1 and 3.5.0" ;;
esac
if [ -e "$target/VERSION" ]; then
  [ "$(cat "$target/VERSION")" = "$version" ] || fail 2 "$target holds OpenSearch $(cat "$target/VERSION"): choose another TARGET"
  echo "OpenSearch $version is already assembled in $target"
  exit 0
fi
if [ -e "$target" ]; then fail 2 "$target exists and is not an assembled node: choose another TARGET, or remove it"; fi
for tool in mvn unzip; do command -v "$tool" >/dev/null || fail 7 "$tool is missing: install Maven and unzip"; done
tools=${JAVA_HOME:+$JAVA_HOME/bin/}
if [ "$version" = 3.5.0 ]; then
  command -v "${tools}javac" >/dev/null || fail 7 "OpenSearch $version needs javac: set JAVA_HOME to a full JDK of 21 or newer"
fi

mkdir -p "$(dirname "$target")"
parent=$(cd "$(dirname "$target")" && pwd)
find "$parent" -maxdepth 1 -name '.assembling-*' -mmin +60 -exec rm -rf {} +   # what a killed assembly left
work=$(mktemp -d "$parent/.assembling-XXXXXX")
trap 'rm -rf "$work"' EXIT
home=$work/home

# maven GOAL OPTION... : one goal of the dependency plugin
maven() { mvn -q -B "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:$1" "${@:2}"; }

# copy_dependencies DESTINATION GROUP:ARTIFACT:VERSION... : these artifacts and all they need at run time
copy_dependencies() {
  local destination=$1 pom coordinate group artifact number
  shift
  pom=$(mktemp "$work/XXXXXX.xml")
  { echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    echo '<groupId>local</groupId><artifactId>node</artifactId><version>1</version><packaging>pom</packaging><dependencies>'
    for coordinate in "$@"; do
      IFS=: read -r group artifact number <<<"$coordinate"
      echo "<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$number</version></dependency>"
    done
    echo '</dependencies></project>'; } >"$pom"
  maven copy-dependencies -f "$pom" -DoutputDirectory="$destination" -DincludeScope=runtime
}

# add_module NAME ARTIFACT PLUGIN_CLASS EXTENDED_PLUGINS : its jars, less those that lib/ already has, and a descriptor
add_module() {
  local directory="$home/modules/$1" jar
  mkdir -p "$directory"
  copy_dependencies "$directory" "org.opensearch.plugin:$2:$version"
  for jar in "$directory"/*.jar; do if [ -e "$home/lib/$(basename "$jar")" ]; then rm "$jar"; fi; done
  printf '%s\n' "description=$1" "version=$version" "name=$1" "classname=$3" "java.version=$java" \
    "opensearch.version=$version" "custom.foldername=" "extended.plugins=$4" "has.native.controller=false" \
    >"$directory/plugin-descriptor.properties"
}

# grant MODULE PERMISSION... : the security manager of 2.x refuses what a module's policy does not grant
grant() {
  local module=$1
  shift
  { echo 'grant {'; printf '  permission %s;\n' "$@"; echo '};'; } >"$home/modules/$module/plugin-security.policy"
}

grant_permissions() {
  local runtime=java.lang.RuntimePermission
  grant lang-painless "$runtime \"createClassLoader\"" "$runtime \"getClassLoader\"" \
    "$runtime \"accessDeclaredMembers\"" 'org.opensearch.secure_sm.ThreadPermission "modifyArbitraryThread"'
  # without setContextClassLoader a node takes 30 s to stop: the end of netty's threads is reported in a thread of its own
  grant transport-netty4 "$runtime \"getClassLoader\"" "$runtime \"accessDeclaredMembers\"" \
    "$runtime \"setContextClassLoader\"" 'java.util.PropertyPermission "sun.nio.ch.bugLevel", "write"' \
    'java.lang.reflect.ReflectPermission "suppressAccessChecks"' \
    'java.net.SocketPermission "*", "accept,connect,resolve"' 'java.net.NetPermission "*"' \
    'java.io.FilePermission "/proc/sys/net/core/somaxconn", "read"'
  grant reindex 'java.net.SocketPermission "*", "connect"' "$runtime \"getClassLoader\"" \
    "$runtime \"accessDeclaredMembers\""
}

# k-NN 3.5 extends the gRPC transport, whose module is not published. Its classes only name these three types, and call
# none of them without that module: empty ones are enough. Guava, which it would take from there, comes along.
stand_in_for_grpc() {
  local plugin="$home/plugins/opensearch-knn" sources="$work/grpc" spi=org.opensearch.transport.grpc.spi name
  sed -i.bak 's/^extended.plugins=.*/extended.plugins=lang-painless/' "$plugin/plugin-descriptor.properties"
  rm "$plugin/plugin-descriptor.properties.bak"
  copy_dependencies "$work/guava" com.google.guava:guava:33.5.0-jre
  cp "$work"/guava/guava-*.jar "$work"/guava/failureaccess-*.jar "$plugin/"
  mkdir "$sources"
  for name in QueryBuilderProtoConverter QueryBuilderProtoConverterRegistry; do
    echo "package $spi; public interface $name {}" >"$sources/$name.java"
  done
  echo 'package org.opensearch.protobufs; public class QueryContainer { public enum QueryContainerCase { KNN } }' \
    >"$sources/QueryContainer.java"
  "${tools}javac" --release 17 -d "$work/classes" "$sources"/*.java
  "${tools}jar" cf "$plugin/grpc-types.jar" -C "$work/classes" .
}

mkdir -p "$home"/{bin,lib,modules,plugins/opensearch-knn,config}
copy_dependencies "$home/lib" "org.opensearch:opensearch:$version" "org.opensearch:opensearch-plugin-classloader:$version" \
  "org.apache.logging.log4j:log4j-core:$log4j" "${extra[@]+"${extra[@]}"}"
add_module lang-painless    lang-painless           "org.opensearch.painless.$painless"        ""
add_module analysis-common  analysis-common         "org.opensearch.analysis.common.$analysis" lang-painless
add_module transport-netty4 transport-netty4-client "org.opensearch.transport.$netty"          ""
add_module reindex          reindex-client          "org.opensearch.index.reindex.$reindex"    ""
maven copy -Dartifact="org.opensearch.plugin:opensearch-knn:$version.0:zip" -DoutputDirectory="$work"
unzip -qo "$work/opensearch-knn-$version.0.zip" -d "$home/plugins/opensearch-knn"
if [ "$version" = 2.19.1 ]; then grant_permissions; else stand_in_for_grpc; fi
printf '%s\n' 'status = error' 'appender.console.type = Console' 'appender.console.name = console' \
  'appender.console.layout.type = PatternLayout' 'appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n' \
  'rootLogger.level = info' 'rootLogger.appenderRef.console.ref = console' >"$home/config/log4j2.properties"
echo "$version" >"$home/VERSION"
chmod -R a+rX "$home"
mv "$home" "$target"
echo "assembled OpenSearch $version with k-NN in $target"
