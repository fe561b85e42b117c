#!/usr/bin/env python3
"""Turn rows of a table of measured training runs into scenarios, run them, and report the errors.

The table is a CSV with the columns of the published-runs collection (id, model_name, layers, hidden,
heads, kv_heads, ffn_hidden, vocab, seq_len, gpu, n_gpus, framework, precision, tp, pp, dp, cp, vpp,
zero_stage, seq_parallel, act_recompute, micro_batch, global_batch, grad_accum, attention, step_time_s …).
Everything that a row leaves open is a default of foretrain or a rule stated below; nothing is fitted.

  training_rows.py CSV --foretrain build/tools/foretrain/foretrain --out DIR [--only PREFIX] [--table FILE]
"""
import argparse
import csv
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# Node of each GPU name of the table. Fabrics follow the node's own NICs unless the row says otherwise.
NODES = {
    "H100-80GB-SXM": "dgx-h100", "H100-80GB": "dgx-h100", "H100-80GB (8x)": "dgx-h100",
    "H100-80GB-SXM (GCP A3)": "gcp-a3-mega", "H200-141GB": "hgx-h200",
    "A100-80GB-SXM": "dgx-a100", "A100-80GB": "dgx-a100", "A100-80GB-SXM (Ampere)": "dgx-a100",
    "A100-40GB": "dgx-a100-40g", "A100-40GB-SXM": "dgx-a100-40g",
    "A100-40GB (DGX-A100)": "dgx-a100-40g", "V100-32GB (DGX-2)": "dgx-2",
    "B200": "dgx-b200", "B300": "dgx-b300", "GB200": "gb200-nvl72", "GB300": "gb300-nvl72",
    "H800-80GB": "hgx-h800",
}
TIMEOUT_S = 30
GPU_OVERRIDE = {"A800-80GB": "a800-80", "H100-96GB-HBM2e (500W)": "h100-96-hbm2e"}

LLAMA = dict(activation="swiglu", norm="rmsnorm", positions="rotary", tied_embeddings="false")
GPT = dict(activation="gelu", norm="layernorm", positions="learned", tied_embeddings="true",
           biases="true")
MPT = dict(activation="gelu", norm="layernorm", positions="alibi", tied_embeddings="true")


def number(text):
    try:
        return int(float(text))
    except ValueError:
        return None


def family(name):
    lower = name.lower()
    if "mpt" in lower or "mosaicgpt" in lower:
        return MPT
    if "llama" in lower or "qwen" in lower or "mistral" in lower:
        return LLAMA
    if "nemotron" in lower:
        return dict(activation="squared_relu", norm="layernorm", positions="rotary",
                    tied_embeddings="false")
    if "bloom" in lower:
        return dict(GPT, positions="alibi")
    return GPT


def model_fields(row):
    fields = {}
    for column, key in (("layers", "layers"), ("hidden", "hidden"), ("heads", "heads"),
                        ("kv_heads", "kv_heads"), ("ffn_hidden", "ffn_hidden"), ("vocab", "vocab")):
        value = number(row[column])
        if value is None and key == "kv_heads":
            continue
        if value is None:
            return None, "row does not state " + column
        fields[key] = value
    if fields["hidden"] % fields["heads"]:
        return None, "heads do not divide hidden"
    fields.update(family(row["model_name"]))
    return fields, None


def precision(row):
    text = row["precision"].lower()
    if "nvfp4" in text:
        return None, None
    if "fp8" in text:
        recipe = "mx" if "mx" in text else ("current" if "cs" in text else "delayed")
        return "fp8", recipe
    if text.startswith("fp16"):
        return "fp16", None
    return "bf16", None


def framework(row):
    text = row["framework"].lower()
    zero = row["zero_stage"].lower()
    if "torchtitan" in text:
        return "torchtitan"
    if "composer" in text:
        return "composer"
    if "maxtext" in text or "pax" in text or "fms" in text:
        return "fsdp2"
    if "megatron-deepspeed" in text or text.startswith("deepspeed"):
        return "deepspeed"
    if "fsdp" in zero and "megatron-fsdp" not in zero and "fsdp=0" not in zero:
        return "fsdp2"
    if "nemo" in text or "megatron-bridge" in text:
        return "nemo"
    return "megatron-lm"


def sharding(row, frame):
    zero = row["zero_stage"].lower()
    if "fsdp=0" in zero:
        return "optimizer"
    if "fsdp" in zero or "zero3" in zero or "hsdp" in zero or "full_shard" in zero:
        return "parameters"
    if "zero2" in zero or "shard_grad_op" in zero:
        return "gradients"
    if "zero1" in zero or "distributed optimizer" in zero:
        return "optimizer"
    if zero == "none" or zero == "ddp":
        return "none"
    return "optimizer" if frame in ("megatron-lm", "nemo") else "none"


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def heading(row):
    """Where the row's measurement comes from."""
    what = f"{row['model_name']} on {row['n_gpus']} {row['gpu']}, {row['framework']}, {row['precision']}"
    lines = [f"description: {quoted(what)}"]
    source = row["source"]
    at = source.find("http")
    if at >= 0:
        url = source[at:].split()[0].rstrip("],;)")
        lines.append(f"source: {{title: {quoted(source)}, url: {quoted(url)}, date: 2026-12-01}}")
    else:
        lines.append(f"source: {{title: {quoted(source)}, date: 2026-12-01}}")
    return lines


def scenario(row, name=None, within=35):
    """YAML text of a row, or the reason why it is left out."""
    if row["moe_experts"]:
        return None, "mixture of experts"
    lower = row["model_name"].lower()
    for word in ("lora", "proxy", "nano", "super", "fine-tune"):
        if word in lower:
            return None, word
    gpu = row["gpu"]
    if gpu not in NODES and gpu not in GPU_OVERRIDE:
        return None, "GPU not in the catalog: " + gpu
    fields, reason = model_fields(row)
    if fields is None:
        return None, reason
    kind, recipe = precision(row)
    if kind is None:
        return None, "precision " + row["precision"]
    gpus = number(row["n_gpus"])
    degrees = {key: number(row[column]) or 1 for key, column in
               (("tensor", "tp"), ("pipeline", "pp"), ("context", "cp"))}
    virtual = number(row["vpp"]) or 1
    if degrees["pipeline"] == 1:
        virtual = 1
    frame = framework(row)
    shard = sharding(row, frame)
    micro = number(row["micro_batch"])
    batch = number(row["global_batch"])
    data = gpus // (degrees["tensor"] * degrees["pipeline"] * degrees["context"])
    if not batch:
        return None, "row does not state its batch"
    if not micro:
        accumulation = number(row["grad_accum"])
        micro = batch // (data * accumulation) if accumulation else batch // data
        if degrees["pipeline"] > 1 and not accumulation:
            micro = 1  # not stated; pipelines are fed sequence by sequence
        if micro < 1 or batch % (micro * data):
            return None, "micro-batch unknown"
    per_node = min(number(row["gpus_per_node"]) or 8, gpus)
    lines = ["foretrain: 1", f"name: {name or row['id']}"] + heading(row) + ["cluster:"]
    node = NODES.get(gpu)
    if gpu in GPU_OVERRIDE:
        base = "dgx-a100" if gpu.startswith("A800") else "dgx-h100"
        lines.append(f"  node: {{extends: {base}, gpu: {GPU_OVERRIDE[gpu]}}}")
        per_node = min(8, gpus)
    elif node.endswith("nvl72"):
        per_node = min(gpus, 64)
        lines.append(f"  node: {{extends: {node}, gpus: {per_node}, nics: {per_node}}}")
    elif gpus < 8:
        lines.append(f"  node: {{extends: {node}, gpus: {gpus}}}")
    elif "OmniPath" in row["inter_node"]:
        lines.append("  node: {extends: dgx-a100, nics: 4, nic: opa-100g}")
    elif "1600" in row["inter_node"] or row["id"].startswith("foundry"):
        lines.append(f"  node: {node}")
    else:
        lines.append(f"  node: {node}")
    nodes = max(1, gpus // (8 if per_node == 8 else per_node))
    lines.append(f"  nodes: {nodes}")
    lines += ["job:", "  model:"]
    lines += [f"    {key}: {value}" for key, value in fields.items()]
    lines += [
        f"  sequence_length: {row['seq_len']}",
        "  parallel: {" + ", ".join(f"{k}: {v}" for k, v in degrees.items())
        + f", data: {data}, virtual_stages: {virtual}"
        + (f", sequence_parallel: {'true' if row['seq_parallel'] == 'yes' else 'false'}"
           if row["seq_parallel"] in ("yes", "no") else "") + "}",
        f"  batch: {{global: {batch}, micro: {micro}}}",
        f"  precision: {kind}",
        f"  optimizer: {{kind: adam, shard: {shard}}}",
    ]
    if recipe:
        lines.append(f"  fp8_recipe: {recipe}")
    recompute = row["act_recompute"].split()[0] if row["act_recompute"] else ""
    if recompute in ("none", "selective", "full"):
        lines.append(f"  recompute: {recompute}")
    attention = row["attention"].lower()
    if row["id"].startswith(("korth", "bs176", "mlm2009")) or attention == "none":
        lines.append("  attention: unfused")
    elif "flash1" in attention:
        lines.append("  attention: flash1")
    elif "flash2" in attention or frame in ("composer", "fsdp2", "torchtitan"):
        lines.append("  attention: flash2")
    elif "cudnn" in attention:
        lines.append("  attention: cudnn")
    lines.append(f"  framework: {frame}")
    options = []
    if "mp_mode=PURE" in row["notes"]:
        options.append("gradient_bytes: 2")
    if "compile" in row["notes"]:
        options.append("compiled: true")
    if options:
        lines.append("  options: {" + ", ".join(options) + "}")
    lines += ["expect:", f"  - {{metric: step.time_s, value: {row['step_time_s']}, within: {within} %}}"]
    return "\n".join(lines) + "\n", None


def write_published(arguments):
    with open(arguments.csv, newline="") as file:
        by_id = {row["id"]: row for row in csv.DictReader(file)}
    with open(arguments.published) as file:
        for line in file:
            if not line.strip() or line.startswith("#"):
                continue
            identity, name, within, *why = line.rstrip("\n").split("\t")
            text, reason = scenario(by_id[identity], name, within)
            if text is None:
                sys.exit(f"{identity}: {reason}")
            if why:
                text += "explanation: " + quoted(why[0]) + "\n"
            with open(os.path.join(arguments.out, name + ".yaml"), "w") as out:
                out.write(f"# Measured run {identity} of the published-runs table. Written by "
                          f"tools/validation/training_rows.py.\n" + text)


def run_one(program, path):
    try:
        result = subprocess.run([program, "run", path, "--json", "--quiet"], capture_output=True, text=True,
                                timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None, f"took more than {TIMEOUT_S} s"
    if result.returncode not in (0, 1, 3):
        return None, result.stderr.strip().split("\n")[0]
    return json.loads(result.stdout), None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("csv")
    parser.add_argument("--foretrain", default="foretrain")
    parser.add_argument("--only", default="", help="prefix of the ids to take")
    parser.add_argument("--out", required=True, help="folder for the scenarios")
    parser.add_argument("--table", help="write every row's prediction here, as CSV")
    parser.add_argument("--published", metavar="LIST",
                        help="write the rows that LIST names (id, file name, tolerance in %%) and stop")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    if arguments.published:
        write_published(arguments)
        return
    rows, left_out = [], {}
    with open(arguments.csv, newline="") as file:
        for row in csv.DictReader(file):
            if not row["id"].startswith(arguments.only) or row["anomalous"] or not row["step_time_s"]:
                continue
            text, reason = scenario(row)
            if text is None:
                left_out[reason] = left_out.get(reason, 0) + 1
                continue
            path = os.path.join(arguments.out, row["id"] + ".yaml")
            with open(path, "w") as out:
                out.write(text)
            rows.append((row, path))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda item: run_one(arguments.foretrain, item[1]), rows))
    report(rows, results, left_out, arguments.table)


def report(rows, results, left_out, table):
    by_group, out_of_memory, failed, lines = {}, 0, {}, []
    for (row, _), (result, error) in zip(rows, results):
        if error:
            failed.setdefault(error, []).append(row["id"])
            continue
        if result["outcome"] != "completed":
            out_of_memory += 1  # the step is predicted all the same
        measured, predicted = float(row["step_time_s"]), result["step"]["time_s"]
        error = predicted / measured - 1
        low, high = result["step"]["time_s_interval"]
        by_group.setdefault(row["id"].split("-")[0], []).append(
            (error, low <= measured <= high, row["id"]))
        breakdown = {k: round(v / predicted, 3) for k, v in result["step"]["breakdown_s"].items() if v}
        lines.append([row["id"], row["gpu"], row["precision"], f"{measured:.4g}", f"{predicted:.4g}",
                      f"{error:+.3f}", json.dumps(breakdown)])
    if table:
        with open(table, "w", newline="") as file:
            csv.writer(file).writerows(lines)
    everything = [item for group in by_group.values() for item in group]
    print(f"{'group':<12}{'rows':>6}{'median err':>12}{'median |e|':>12}{'p90 |e|':>10}{'max |e|':>10}{'in 90 %':>9}")
    for name, items in sorted(by_group.items()) + [("all", everything)]:
        if not items:
            continue
        errors = sorted(abs(e) for e, _, _ in items)
        signed = sorted(e for e, _, _ in items)
        inside = sum(1 for _, held, _ in items if held) / len(items)
        print(f"{name:<12}{len(items):>6}{signed[len(signed) // 2]:>+12.3f}{errors[len(errors) // 2]:>12.3f}"
              f"{errors[int(len(errors) * 0.9)]:>10.3f}{errors[-1]:>10.3f}{inside:>9.2f}")
    print(f"out of memory by the model: {out_of_memory}")
    for reason, count in sorted(left_out.items(), key=lambda x: -x[1]):
        print(f"left out: {count:>4}  {reason}")
    for reason, ids in failed.items():
        print(f"failed: {len(ids):>4}  {reason}  (e.g. {ids[0]})", file=sys.stderr)


if __name__ == "__main__":
    main()
