"""A profile as the `jobs:` entry of an INSTANCE: JSON, which YAML contains, one operator a line."""

from __future__ import annotations

import json
from typing import Any

from pipefill_opt.files import check
from pipefill_opt.workload.profile.records import Configuration, Operator, Profile


def job_document(profile: Profile, main: str | None = None) -> dict[str, Any]:
    """An INSTANCE without devices, or with those of the MAIN file `main`; checked against the published schema."""
    source = f"{profile.name}, measured on {profile.device} with torch {profile.version}"
    document: dict[str, Any] = {"name": source}
    if main is not None:
        document["main"] = {"file": main}
    configurations = [_configuration(found) for found in profile.configurations]
    document["jobs"] = [{"name": profile.name, "configs": configurations}]
    check(document, "instance")
    return document


def job_text(document: dict[str, Any]) -> str:
    """The document with one operator a line."""
    (job,) = document["jobs"]
    configurations = [
        f'    {{"name": {json.dumps(found["name"])}, "samples": {found["samples"]},'
        f' "resident": {json.dumps(found["resident"])}, "operators": [\n      '
        + ",\n      ".join(map(json.dumps, found["operators"]))
        + "]}"
        for found in job["configs"]
    ]
    head = "".join(f" {json.dumps(key)}: {json.dumps(document[key])},\n" for key in document if key != "jobs")
    body = ",\n".join(configurations)
    return "{" + head[1:] + f' "jobs": [{{"name": {json.dumps(job["name"])}, "configs": [\n{body}]}}]}}\n'


def _configuration(found: Configuration) -> dict[str, Any]:
    return {
        "name": f"bs{found.batch}",
        "samples": found.batch,
        "resident": f"{found.resident}B",
        "operators": [_operator(operator) for operator in found.operators],
    }


def _operator(operator: Operator) -> dict[str, Any]:
    return {
        "name": operator.name,
        "duration": f"{operator.duration}ns",
        "memory": f"{operator.memory}B",
        "carry": f"{operator.carry}B",
        "flops": operator.flops,
    }
