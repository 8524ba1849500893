"""Writes table.parquet (pyarrow 26) and table.jsonl, the same rows as JSON.

Columns that a Table does not read are in the first file only.
"""

import base64
import decimal
import json

import pyarrow as pa
import pyarrow.parquet as pq

rows = []
for i in range(300):
    rows.append({
        "text": None if i % 7 == 0 else f"row {i} \u00e9\u6771\U0001f600 \"quoted\"\n",
        "large": "x" * (i % 5),
        "repeated": ["a", "b", "c"][i % 3],
        "small": -i,
        "number": i * 10**12,
        "unsigned": 2**63 + i,
        "half": None if i % 4 == 0 else i / 8,
        "single": i / 4,
        "flag": None if i % 5 == 0 else i % 2 == 0,
        "when": None if i % 2 else i * 1000,
        "words": None if i % 6 == 0 else [f"w{k}" for k in range(i % 4)],
        "numbers": [None if k == 1 else k * i for k in range(i % 3)],
        "conversations": None if i % 11 == 0 else
            [{"from": "human" if k % 2 == 0 else "gpt", "value": None if k == 3 else f"{i}.{k}"} for k in range(i % 5)],
        "struct": {"a": i},
        "binary": None if i % 9 == 0 else [b"text", b"\x89PNG\xff" + bytes([i % 256])][i % 2],
        "picture": None if i % 8 == 0 else {"bytes": None if i % 3 == 0 else b"\x89" + bytes([i % 256]), "path": f"{i}.png"},
    })
types = {
    "text": pa.string(), "large": pa.large_string(), "repeated": pa.dictionary(pa.int32(), pa.string()),
    "small": pa.int16(), "number": pa.int64(), "unsigned": pa.uint64(), "half": pa.float64(), "single": pa.float32(),
    "flag": pa.bool_(), "when": pa.timestamp("us"), "words": pa.list_(pa.string()), "numbers": pa.list_(pa.int32()),
    "conversations": pa.list_(pa.struct([("from", pa.string()), ("value", pa.string())])),
    "struct": pa.struct([("a", pa.int64())]), "binary": pa.binary(), "picture": pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
}
columns = {name: pa.array([r[name] for r in rows], type=t) for name, t in types.items()}
columns["decimal"] = pa.array([decimal.Decimal(i) / 4 for i in range(300)], type=pa.decimal128(20, 2))
columns["lists"] = pa.array([{"a": ["x"] * (i % 3), "b": ["y"] * (i % 3)} for i in range(300)])
columns["nested"] = pa.array([[[i], []] for i in range(300)])
table = pa.table(columns)
pq.write_table(table, "table.parquet", row_group_size=100, compression="zstd")


def as_text(b):
    """Bytes as a Table has them."""
    try:
        return b.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(b).decode()}


with open("table.jsonl", "w") as f:
    for r in rows:
        f.write(json.dumps(r, ensure_ascii=False, separators=(",", ":"), default=as_text) + "\n")
