"""A scenario that sets every field there is, with numbers that are easily lost on the way through a page."""

from __future__ import annotations

from typing import Any

FULL: dict[str, Any] = {
    "format": "workbench-scenario/1",
    "name": "full",
    "description": "every key once",
    "notes": ["made by hand"],
    "calibrated": {"scheduler": "slurm", "code": "ab", "key": "0123456789abcdef" * 4},
    "recorded": {"end_s": 4000.5, "ends_known": True, "gpu_s": 8000},
    "begins": "2024-03-01T08:00:00",
    "seed": 2**62,
    "cluster": {
        "accelerators": [
            {"name": "v100", "price_per_hour": 2.48, "memory_gb": 16, "tflops": 9, "pcie_scaling": 1.0, "link_gbps": 9},
            {"name": "k80"},
        ],
        "nodes": [
            {"name": "a", "accelerator": "v100", "gpus": 4, "count": 2, "speed": 0.9, "attributes": {"rack": 1.5}},
            {"name": "b", "accelerator": "k80", "gpus": 2, "hosts": ["bee"]},
        ],
        "network_gbps": 25,
    },
    "jobs": [
        {
            "name": "j0", "model": "resnet50", "user": "ada", "arrival_s": 0, "steps": 1000, "steps_done": 10,
            "attained_s": 5, "gpus": 1, "gpu_choices": [1, 2], "weight": 2.0, "entity": "research",
            "rewards": [[100, 1.0], [200, 0.5]], "tasks_per_round": 4, "size_class": "M",
            "attributes": {"lora_rank": 8, "team": "vision"},
        },
        {"name": "j1", "model": "a3c", "arrival_s": 3.5, "steps": 10},
    ],
    "throughputs": [
        {"model": "resnet50", "accelerator": "v100", "gpus": 1, "steps_per_s": 4.0},
        {"model": "resnet50", "accelerator": "v100", "gpus": 2, "placement": "unconsolidated", "nodes": 2,
         "steps_per_s": 7.123456789, "sync_s": 0.1},
        {"model": "a3c", "accelerator": "k80", "steps_per_s": 0},
        {"model": "a3c", "accelerator": "v100", "steps_per_s": 3},
    ],
    "colocated": [
        {"model": "resnet50", "with_model": "a3c", "accelerator": "v100", "gpus": 1, "placement": "consolidated",
         "steps_per_s": 2.0, "with_steps_per_s": 1.5}
    ],
    "models": [
        {"name": "resnet50", "parameters_gb": 0.1, "model_gb": 0.3, "memory_gb": 8, "batch_size": 64, "size_class": "M",
         "dataset_class": "L", "load_s": [[0.8, 0.01, 0.002], [0.2, 0.1, 0.02]], "attributes": {"family": "cnn"}}
    ],
    "entities": [{"name": "research", "weight": 2.0, "policy": "fifo", "quota_gpus": 3,
                  "attributes": {"MaxJobs": 2}}],
    "running": [{"job": "j0", "gpus": {"a-0": 1}}],
    "scaling": {"law": "power", "efficiency": 0.8},
    "core": {
        "restart": {"law": "log2", "restart_s": 10}, "space_sharing": True, "checkpoint_s": 60,
        "faults": {"mtbf_s": 1000, "mttr_s": 10, "list": [
            {"node": "a-0", "from_s": 0, "to_s": 60}, {"node": "bee", "from_s": 0, "to_s": 60, "drain": True}]},
    },
    "schedulers": [{"scheduler": "las", "knobs": {"round_s": 360, "keep": True, "why": None}}],
}  # fmt: skip
