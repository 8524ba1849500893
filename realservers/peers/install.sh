#!/usr/bin/env bash
# Installs the load clients in Rust of vLLM and SGLang, to compare with, and prints the path of each program.
# Safe to run again: what is there is left alone.
#
#   install.sh [DIR]      by default $REALSERVERS_HOME/peers (REALSERVERS_HOME defaults to ~/.cache/pa-realservers)
#
# They come out of the wheels, without the engines, their packages or what those depend on. vLLM's is a program.
# SGLang's is an extension module, which needs a Python of the version that installed it (PYTHON=python3.12 picks one).
set -euo pipefail

DIR=${1:-${REALSERVERS_HOME:-$HOME/.cache/pa-realservers}/peers}
PYTHON=${PYTHON:-python3}
VLLM=0.33.0
SGLANG=0.5.23

PYTHON=$("$PYTHON" -c 'import sys; print(sys.executable)') ||
	{ echo "install.sh: needs Python with pip; PYTHON=/path/to/python names another one" >&2; exit 1; }
mkdir -p "$DIR"
DIR=$(cd "$DIR" && pwd)
TMP=$(mktemp -d "$DIR/tmp.XXXXXX")
trap 'rm -rf "$TMP"' EXIT

# The members of the wheel of package $1, version $2, whose names begin with $3, into $4. The hashes of its wheels follow.
wheel() {
	local package=$1 version=$2 member=$3 into=$4
	shift 4
	rm -rf "$TMP/wheel" "$TMP/unpacked"
	printf '%s==%s%s\n' "$package" "$version" "$(printf ' --hash=sha256:%s' "$@")" >"$TMP/requirements.txt"
	if ! "$PYTHON" -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary=:all: \
		--require-hashes --dest "$TMP/wheel" -r "$TMP/requirements.txt"; then
		echo "install.sh: pip has no wheel of $package $version for $(uname -sm) and $("$PYTHON" -V): its message is above." \
			"There are wheels for Linux on x86_64 and aarch64, SGLang's for Python 3.11 to 3.13 (set PYTHON)." \
			"If pip cannot reach an index, set PIP_INDEX_URL or HTTPS_PROXY, or PIP_FIND_LINKS to a folder with the wheel." >&2
		return 1
	fi
	"$PYTHON" -c '
import glob, sys, zipfile
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0])
names = [n for n in wheel.namelist() if n.startswith(sys.argv[2])]
if not names:
    sys.exit("install.sh: no " + sys.argv[2] + " in " + wheel.filename)
wheel.extractall(sys.argv[3], names)
' "$TMP/wheel" "$member" "$TMP/unpacked" || return 1
	rm -rf "$into" "$TMP/wheel" # the wheel is large
	mkdir "$into"
	mv "$TMP/unpacked/$member"* "$into/"
}

vllm() {
	local into=$DIR/vllm-$VLLM
	if [ ! -x "$into/vllm-rs" ]; then
		wheel vllm $VLLM vllm/vllm-rs "$into" \
			4b6bdec4ab269990bf70d45a3c1e94c3760a27064513760193b26d6f0da883aa \
			e9e404f52c8494b69bd83fe99fe7ecfa9f6b89fbd156d2a9639c24ea41d6d606 || return 1
		chmod +x "$into/vllm-rs"
	fi
	echo "$into/vllm-rs"
}

sglang() {
	local into=$DIR/sglang-$SGLANG
	if [ ! -x "$into/sglang-bench" ]; then
		wheel sglang $SGLANG sglang/srt/rust_extensions/_bench "$into" \
			00b3cd5b265ac76c64185fbb6b95424f324ddd9f428d0306b77bc9db9d859937 \
			4d23d6abe82435c4b1b5db7b6d89e6f398d0128efbd9b873ac3a1ab6ea17b5ee \
			8d257a319395b322bb1be327d05e5528859358153c8563b04c0a4a3c8af164b6 \
			2d538a89a6e7b1b0707e2ab7f8edef4af6a7beb5da661f9a231cddcdf5308417 \
			10f0b2b29c8fea616e4b27cbbbb147f32a879bf3db71c9767425a3d9d77a36cb \
			03b67b6b8206113aec8906b9b06b8e51139c4553dedac0650228a0ddbb43a4ef || return 1
		# What sglang.benchmark.rust_client does, without the package.
		printf '#!/bin/sh\nexec "%s" -c '"'"'import sys\nsys.path.insert(0, "%s")\nimport _bench\n_bench.run_argv(["sglang-bench", *sys.argv[1:]])'"'"' "$@"\n' \
			"$PYTHON" "$into" >"$TMP/sglang-bench"
		chmod +x "$TMP/sglang-bench"
		mv "$TMP/sglang-bench" "$into/"
	fi
	echo "$into/sglang-bench"
}

# One of them is worth a comparison, too.
missing=0
vllm || missing=$((missing + 1))
sglang || missing=$((missing + 1))
[ $missing -lt 2 ]
