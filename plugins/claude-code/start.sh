# Starts the server: start.sh INTERPRETER COMMAND ARGUMENTS...
# Where either is gone, hooks that ask the server are answered with nothing, so that only those that are commands fail.
[ -x "$1" ] && [ -x "$2" ] && shift && exec "$@"
about='"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"missing","version":"0"}'
while read -r line; do
  id=${line##*'"id":'}
  case $line in
    *'"server/discover"'*) said='"error":{"code":-32601,"message":"The method is unknown."}' ;;
    *'"id":'*) said='"result":{'$about',"tools":[],"content":[{"type":"text","text":"{}"}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "${id%%[,\}]*}" "$said"
done
