"""Writes sharegpt.parquet and openorca.parquet with the library `datasets`, and the
same rows as JSON Lines. The rows have the columns of the datasets with these names and
texts of our own. media.parquet holds an image and an audio clip in the column types of
the library's features Image and Audio. bytes.parquet holds an image as plain bytes.
baseten.parquet and baseten.jsonl hold rows of a trace.
"""

import base64
import json
import struct

import datasets
import pyarrow
import pyarrow.parquet

conversations = [
    {
        "id": f"c{i}",
        "conversations": [
            {"from": "human" if k % 2 == 0 else "gpt", "value": f"Saying {k} of conversation {i}: caf\u00e9, \u6771\u4eac, \"quoted\"."}
            for k in range(i % 5)
        ],
    }
    for i in range(40)
]
questions = [
    {
        "id": f"flan.{i}",
        "system_prompt": "" if i % 3 == 0 else "Answer in one line.",
        "question": f"What is {i} times {i}?\nThink first.",
        "response": str(i * i),
    }
    for i in range(60)
]
for name, rows in (("sharegpt", conversations), ("openorca", questions)):
    d = datasets.Dataset.from_list(rows)
    d.to_parquet(f"{name}.parquet", batch_size=25)
    d.to_json(f"{name}.jsonl", force_ascii=False)

picture = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAADElEQVR4nGNgIB0AAAA0AAF2Xq7DAAAAAElFTkSuQmCC")
sound = b"RIFF" + struct.pack("<I", 40) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16) + b"data" + struct.pack("<Ihh", 4, 0, 1)
feature = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
pyarrow.parquet.write_table(
    pyarrow.table({
        "text": ["one", "two", "three"],
        "image": pyarrow.array([{"bytes": picture, "path": "a.png"}, None, {"bytes": None, "path": "https://example.com/b.png"}], type=feature),
        "audio": pyarrow.array([None, {"bytes": sound, "path": None}, None], type=feature),
    }),
    "media.parquet",
)
pyarrow.parquet.write_table(pyarrow.table({"text": ["one"], "image": pyarrow.array([picture], type=pyarrow.binary())}), "bytes.parquet")

# The columns of Baseten's traces, as AIPerf's loader names them; baseten.jsonl has the same rows.
traced = [
    {
        "timestamp_start_unix_ms": 1_700_000_000_000 + at,
        "prompt": f"Prompt {i} of session {session}" + " and more" * i,
        "input_tokens": 4 + 2 * i,
        "output_tokens": 7 * (i % 4),
        "total_hashes": [session * 10 + k for k in range(i + 1)],
        "provided_session_id": f"unique-{i}",
        "poor_man_session_id": session,
        "block_size": 64,
        "request_canceled": int(i % 4 == 0),
        "duration_e2e_ms": None if i == 5 else 250 * i,
        "cached_tokens_reference": 0,
    }
    for i, (session, at) in enumerate([(3, 0), (5, 40), (3, 900), (3, 800), (5, 2000), (5, 6000), (5, 9000), (3, 30000)])
]
pyarrow.parquet.write_table(pyarrow.Table.from_pylist(traced), "baseten.parquet")
with open("baseten.jsonl", "w") as f:
    f.writelines(json.dumps(row) + "\n" for row in traced)
