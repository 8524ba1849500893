"""The token events of a Parquet file."""

from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.compute as pc
import pyarrow.parquet

_COLUMNS = ["experiment", "id", "start_ns", "recv_ns", "token_events", "token_choice", "token_reasoning", "token_count", "events", "event_tokens"]


def tokens(path: str) -> arrow.Table:
    """Returns a row for each token event, in the order of the requests and of arrival."""
    file = pyarrow.parquet.ParquetFile(path)
    parts, before = [], 0
    for batch in file.iter_batches(batch_size=4096, columns=_COLUMNS):
        parts.append(_tokens(arrow.Table.from_batches([batch]), before))
        before += batch.num_rows
    return arrow.concat_tables(parts or [_tokens(file.read(columns=_COLUMNS), 0)])


def _tokens(requests: arrow.Table, before: int) -> arrow.Table:
    """Returns the token events of some requests, which follow a number of other ones."""
    column = {name: requests[name].combine_chunks() for name in _COLUMNS}
    lengths = pc.list_value_length(column["recv_ns"]).to_numpy(zero_copy_only=False)
    first_response = np.cumsum(lengths) - lengths
    request_of = np.repeat(np.arange(len(lengths)), lengths)

    def by_response(name: str) -> Any:
        """Returns the elements of a list with one for each response, null where a request has no list."""
        mask = column[name].is_valid().take(arrow.array(request_of))
        elements = column[name].flatten()
        return pc.replace_with_mask(arrow.nulls(len(request_of), elements.type), mask, elements)

    # A request with events of several choices in one response lists its events; of the others, each response has a number.
    events = column["events"]
    listed = events.is_valid().to_numpy(zero_copy_only=False)
    number = by_response("token_events").fill_null(0).to_numpy(zero_copy_only=False)
    counted = np.repeat(np.arange(len(number)), np.where(listed[request_of], 0, number))
    in_list, list_of = events.flatten(), pc.list_parent_indices(events).to_numpy(zero_copy_only=False)
    from_list = first_response[list_of] + in_list.field("response").to_numpy(zero_copy_only=False)

    response = np.concatenate([counted, from_list]).astype(np.int64)
    order = np.argsort(request_of[response], kind="stable")
    response = response[order]
    request = request_of[response]
    per_request = np.bincount(request, minlength=len(lengths))
    event = np.arange(len(response)) - (np.cumsum(per_request) - per_request)[request]

    def of_events(name: str, field: str) -> Any:
        return arrow.concat_arrays([by_response(name).take(arrow.array(counted)), in_list.field(field)]).take(arrow.array(order))

    # The numbers of tokens are the server's for each event, or one number for a response with one event.
    stated = column["event_tokens"]
    stated_lengths = pc.list_value_length(stated).fill_null(0).to_numpy(zero_copy_only=False)
    at = (np.cumsum(stated_lengths) - stated_lengths)[request] + event
    by_event = stated.flatten().take(arrow.array(at, mask=stated_lengths[request] == 0))
    alone = by_response("token_count").take(arrow.array(response, mask=number[response] != 1))

    requests_at = arrow.array(request)
    received = column["recv_ns"].flatten().take(arrow.array(response))
    return arrow.table(
        {
            "request": arrow.array(request + before),
            "experiment": column["experiment"].take(requests_at),
            "id": column["id"].take(requests_at),
            "event": arrow.array(event),
            "choice": of_events("token_choice", "choice"),
            "reasoning": of_events("token_reasoning", "reasoning").fill_null(False),
            "recv_ns": received,
            "since_start_ns": pc.subtract(received, column["start_ns"].take(requests_at)),
            "tokens": pc.coalesce(by_event, alone),
        }
    )
