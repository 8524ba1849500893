#!/usr/bin/env bash
# Record the runs of docs/gallery/README.md again, into testdata/golden/gallery.tar.zst:
#   docs/gallery/record.sh
# It runs the sh blocks of the page in turn. llama.cpp listens in place of the page's ports 8000 and 8001, vLLM in
# place of 8002 (realservers/openai, which ./install.sh vllm installs). The models are random and have 8 layers; at 8001
# the model has 9. Takes 4 minutes on two cores; nothing else should run. Needs zstd and GNU tar.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
base=${GALLERY_PORT:-18230} # and the two ports after it
servers=$root/realservers/openai
python=${REALSERVERS_HOME:-$HOME/.cache/pa-realservers}/openai/llamacpp/bin/python
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

runs=$work/gallery
mkdir "$runs"
for layers in 8 9; do
  "$python" "$servers/make_model.py" "$work/model$layers" --hidden 384 --layers $layers
done
cp "$work/model8/tiny/tokenizer.json" "$runs"

serve() { pids+=("$(REALSERVERS_MODEL=$work/model$1 "$servers/serve.sh" "${@:2}")"); }
serve 8 "$base" llamacpp --slots 4
serve 9 $((base + 1)) llamacpp --slots 4
serve 8 $((base + 2)) vllm --max-num-seqs 4 --enable-prompt-tokens-details --enable-per-request-metrics

awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' docs/gallery/README.md |
  sed "s/localhost:8000/localhost:$base/g; s/localhost:8001/localhost:$((base + 1))/g; s/localhost:8002/localhost:$((base + 2))/g" >"$work/commands"
(cd "$runs" && PATH=$root/bin:$PATH bash -euo pipefail "$work/commands")

# The host's name and its kernel concern nobody.
sed -E -i 's/"host":\{[^}]*\},//' "$runs"/*.json
cat >"$runs/README.md" <<END
# The runs of docs/gallery/README.md

docs/gallery/record.sh recorded them; the commands are on the page and in the \`pa.args\` of each file. The servers are
llama.cpp and vLLM of realservers/openai with a random model, and pa-record's simulator, on two cores over loopback. The
host's name and kernel were taken out. \`tokenizer.json\` is the model's.
END
tar --sort=name --mtime=2026-01-01 --owner=0 --group=0 --numeric-owner -C "$work" -cf - gallery |
  zstd -q -19 -f -o testdata/golden/gallery.tar.zst
ls -l testdata/golden/gallery.tar.zst
