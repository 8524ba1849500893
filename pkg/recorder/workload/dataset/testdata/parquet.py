"""Writes sharegpt.parquet and openorca.parquet as the library `datasets` does,
rows as in the datasets of those names, texts of our own, and the same rows as
JSON Lines beside them.
"""

import datasets

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
