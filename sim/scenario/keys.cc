#include "sim/scenario/keys.h"

#include <fmt/format.h>

namespace foretrain {

const std::vector<KeySpec>& scenario_keys() {
  using T = KeyType;
  static const std::vector<KeySpec> kKeys = {
      {"foretrain", T::kInteger, "", "required", "Format version: 1"},
      {"name", T::kText, "", "required", "Name of the scenario, as results carry it"},
      {"description", T::kText, "", "", "One line for people"},
      {"explanation", T::kText, "", "", "Why a published run is off by more than usual"},
      {"extends", T::kText, "", "",
       "Another scenario file, relative to this one; maps merge, lists and scalars replace"},
      {"source", T::kMap, "", "", "Where a published run was measured"},
      {"source.title", T::kText, "", "", "Title"},
      {"source.url", T::kText, "", "", "Address"},
      {"source.date", T::kText, "", "", "Date, ISO"},

      {"cluster", T::kMap, "", "required", "The machine"},
      {"cluster.nodes", T::kInteger, "", "1", "Number of nodes"},
      {"cluster.node", T::kAny, "@nodes", "required",
       "A catalog node, or a map of the fields below"},
      {"cluster.node.extends", T::kChoice, "@nodes", "",
       "Catalog node whose fields are the defaults"},
      {"cluster.node.gpu", T::kChoice, "@gpus", "required without extends", "GPU"},
      {"cluster.node.gpus", T::kInteger, "", "required without extends", "GPUs per node"},
      {"cluster.node.interconnect", T::kChoice, "nvswitch|nvlink-mesh|pcie", "by the GPU",
       "How the GPUs of a node are joined"},
      {"cluster.node.nics", T::kInteger, "", "0", "Network adapters per node"},
      {"cluster.node.nic", T::kChoice, "@nics", "", "Network adapter"},
      {"cluster.node.cpu", T::kChoice, "intel|amd|arm", "intel",
       "Host processor; NCCL's constants depend on it"},
      {"cluster.node.pcie", T::kInteger, "", "the GPU's", "PCIe generation, 3 to 6"},
      {"cluster.node.host_memory", T::kBytes, "", "", "Host memory"},
      {"cluster.node.local_storage", T::kBytes, "", "", "Local storage"},
      {"cluster.fabric", T::kMap, "", "from the node", "The network between nodes"},
      {"cluster.fabric.kind", T::kChoice, "fat-tree|ideal", "fat-tree",
       "Fabric; ideal = one switch without limits", "dragonfly|dragonfly+|torus|custom"},
      {"cluster.fabric.tiers", T::kInteger, "", "smallest that holds the nodes",
       "Switch tiers, 1 to 3"},
      {"cluster.fabric.rails", T::kInteger, "",
       "adapters per node (InfiniBand NVSwitch nodes), else the fewest that leaves have ports for",
       "1 = all adapters of a node on one leaf; R = adapter i on leaf i mod R"},
      {"cluster.fabric.rail_only", T::kBoolean, "", "false", "No switch joins two rails"},
      {"cluster.fabric.switch_ports", T::kInteger, "", "of the catalog switch that matches",
       "Ports of a switch at link bandwidth"},
      {"cluster.fabric.oversubscription", T::kAny, "", "1",
       "Down over up bandwidth at each tier boundary from the leaf up: a number or a list"},
      {"cluster.fabric.link", T::kMap, "", "", "Cables"},
      {"cluster.fabric.link.bandwidth", T::kRate, "", "the adapter's",
       "Bandwidth of a cable, one direction"},
      {"cluster.fabric.link.latency", T::kDuration, "", "150 ns", "Propagation of a cable"},
      {"cluster.fabric.switch_latency", T::kDuration, "", "of the catalog switch that matches",
       "Port to port"},
      {"cluster.fabric.routing", T::kChoice, "ecmp|spray", "ecmp; spray on InfiniBand",
       "Hash of a flow to one path, or even spreading (adaptive routing)",
       "adaptive|valiant|ugal|dimension-order"},
      {"cluster.faults", T::kList, "", "[]", "Slow GPUs and links"},
      {"cluster.faults[].gpu", T::kInteger, "", "", "GPU number in the cluster"},
      {"cluster.faults[].speed", T::kPercent, "", "", "Speed that is left of a GPU"},
      {"cluster.faults[].link", T::kText, "", "", "Two devices: leaf3/spine1"},
      {"cluster.faults[].bandwidth", T::kPercent, "", "", "Bandwidth that is left of a link"},

      {"job", T::kMap, "", "", "The training job"},
      {"job.model", T::kAny, "@models", "required",
       "A catalog model, or a map of the fields below"},
      {"job.model.name", T::kChoice, "@models", "", "Catalog model whose fields are the defaults"},
      {"job.model.layers", T::kInteger, "", "required without name", "Transformer layers"},
      {"job.model.hidden", T::kInteger, "", "required without name", "Hidden size"},
      {"job.model.heads", T::kInteger, "", "required without name", "Query heads"},
      {"job.model.kv_heads", T::kInteger, "", "heads", "Key-value heads"},
      {"job.model.head_dim", T::kInteger, "", "hidden / heads", "Head size"},
      {"job.model.ffn_hidden", T::kInteger, "", "required without name", "Width of the MLP"},
      {"job.model.vocab", T::kInteger, "", "required without name", "Vocabulary, unpadded"},
      {"job.model.activation", T::kChoice, "gelu|swiglu|geglu|relu|squared_relu", "swiglu",
       "Activation; swiglu and geglu are gated"},
      {"job.model.norm", T::kChoice, "layernorm|rmsnorm", "rmsnorm", "Normalisation"},
      {"job.model.positions", T::kChoice, "rotary|learned|alibi|none", "rotary", "Positions"},
      {"job.model.learned_position_rows", T::kInteger, "", "sequence_length",
       "Rows of the learned position table"},
      {"job.model.tied_embeddings", T::kBoolean, "", "false", "Embedding and head share one table"},
      {"job.model.biases", T::kBoolean, "", "false", "Biases in all linear layers"},
      {"job.model.attention_window", T::kAny, "", "full",
       "Tokens a query sees: a number, or a list per layer (0 = full)"},
      {"job.model.moe", T::kMap, "", "", "Mixture of experts; not supported in this version"},
      {"job.model.moe.experts", T::kInteger, "", "", "Routed experts"},
      {"job.model.moe.top_k", T::kInteger, "", "", "Experts a token"},
      {"job.model.moe.shared_experts", T::kInteger, "", "0", "Experts that see every token"},
      {"job.model.moe.expert_ffn_hidden", T::kInteger, "", "", "Width of an expert"},
      {"job.model.moe.first_dense_layers", T::kInteger, "", "0", "Leading layers without experts"},
      {"job.model.moe.capacity_factor", T::kNumber, "", "dropless",
       "Tokens an expert takes, over the mean"},
      {"job.model.mla", T::kMap, "", "", "Latent attention; not supported in this version"},
      {"job.model.mla.q_lora_rank", T::kInteger, "", "", "Rank of the query"},
      {"job.model.mla.kv_lora_rank", T::kInteger, "", "", "Rank of keys and values"},
      {"job.model.mla.qk_nope_head_dim", T::kInteger, "", "", "Head size without positions"},
      {"job.model.mla.qk_rope_head_dim", T::kInteger, "", "", "Head size with rotary positions"},
      {"job.model.mla.v_head_dim", T::kInteger, "", "", "Head size of values"},
      {"job.model.mtp_layers", T::kInteger, "", "0",
       "Multi-token prediction layers; only 0 in this version"},
      {"job.model.config", T::kText, "", "", "A config.json; not supported in this version"},
      {"job.sequence_length", T::kInteger, "", "required", "Tokens of a sequence"},
      {"job.parallel", T::kMap, "", "", "Degrees; tensor × pipeline × context × data = GPUs"},
      {"job.parallel.tensor", T::kInteger, "", "1", "Tensor parallel"},
      {"job.parallel.pipeline", T::kInteger, "", "1", "Pipeline stages"},
      {"job.parallel.context", T::kInteger, "", "1", "Context parallel"},
      {"job.parallel.expert", T::kInteger, "", "1", "Expert parallel; only 1 in this version"},
      {"job.parallel.data", T::kInteger, "", "what is left of the GPUs", "Data parallel"},
      {"job.parallel.virtual_stages", T::kInteger, "", "1",
       "Chunks per pipeline rank (interleaving)"},
      {"job.parallel.sequence_parallel", T::kBoolean, "", "the framework's, with tensor > 1",
       "Norms and residuals split over tensor ranks"},
      {"job.schedule", T::kChoice, "gpipe|1f1b|interleaved",
       "1f1b, interleaved with virtual stages", "Pipeline schedule", "zb-h1|zb-v|dualpipe"},
      {"job.batch", T::kMap, "", "required", "Batch, in sequences"},
      {"job.batch.global", T::kInteger, "", "required", "Sequences per step"},
      {"job.batch.micro", T::kInteger, "", "1", "Sequences per micro-batch"},
      {"job.precision", T::kChoice, "bf16|fp16|fp8|fp32", "bf16",
       "Precision of the matrix products"},
      {"job.fp8_recipe", T::kChoice, "delayed|current|blockwise|mx", "delayed", "Scaling of fp8"},
      {"job.optimizer", T::kMap, "", "", "Optimizer"},
      {"job.optimizer.kind", T::kChoice, "adam|sgd", "adam", "Optimizer"},
      {"job.optimizer.shard", T::kChoice, "none|optimizer|gradients|parameters", "the framework's",
       "What data-parallel ranks share out: ZeRO-1, 2, 3"},
      {"job.optimizer.shard_group", T::kInteger, "", "all data-parallel ranks",
       "Ranks that share (HSDP); copies beyond"},
      {"job.recompute", T::kAny, "none|selective|full", "none",
       "Activations computed again in the backward, or {full_layers: n} of each stage or virtual "
       "stage"},
      {"job.recompute.full_layers", T::kInteger, "", "",
       "Layers of each stage, or virtual stage, that are computed again"},
      {"job.attention", T::kChoice, "flash|flash1|flash2|flash3|cudnn|unfused", "the framework's",
       "Attention kernel", "block-sparse"},
      {"job.framework", T::kChoice, "@frameworks", "none", "Preset of overlap and bookkeeping"},
      {"job.options", T::kMap, "", "the framework's",
       "What a framework overlaps and how it keeps its books"},
      {"job.options.overlap_grad_reduce", T::kBoolean, "", "",
       "Gradient reduction beside the backward"},
      {"job.options.overlap_param_gather", T::kBoolean, "", "",
       "Parameter gathering beside the forward"},
      {"job.options.overlap_p2p", T::kBoolean, "", "", "Pipeline messages beside computation"},
      {"job.options.tensor_overlap", T::kBoolean, "", "",
       "Tensor-parallel collectives split against matrix products"},
      {"job.options.fused_kernels", T::kBoolean, "", "",
       "Fused norms, activations, rotary, cross entropy"},
      {"job.options.fused_loss", T::kBoolean, "", "", "Fused cross entropy, whatever else is"},
      {"job.options.compiled", T::kBoolean, "", "", "torch.compile"},
      {"job.options.optimizer_fused", T::kBoolean, "", "", "One kernel for the optimizer step"},
      {"job.options.gradient_bytes", T::kInteger, "", "",
       "Bytes per gradient element on the wire: 2 or 4"},
      {"job.options.parameter_gather_bytes", T::kInteger, "", "",
       "Bytes per gathered parameter: 1, 2 or 4"},
      {"job.options.bucket_parameters", T::kInteger, "", "", "Elements of a gradient bucket"},
      {"job.options.vocab_multiple", T::kInteger, "", "",
       "Vocabulary is padded to this times tensor; 1 = not"},
      {"job.options.host_time_per_launch", T::kDuration, "", "the profile's",
       "Host time of a kernel launch"},
      {"job.options.step_overhead", T::kDuration, "", "0 s", "Host work between steps"},
      {"job.placement", T::kChoice, "contiguous", "contiguous", "Ranks to GPUs"},

      {"nccl", T::kMap, "", "{version: 2.28}",
       "NCCL version, and its own variables by their names"},
      {"nccl.version", T::kText, "", "2.28", "Version planned for, 2.18 to 2.30"},
      {"profile", T::kText, "", "the GPU's own", "A shipped profile or a file"},
      {"fidelity", T::kChoice, "ideal|fluid|chunk", "fluid",
       "Network fidelity: without contention, fluid, collectives chunk by chunk", "packet"},
      {"seed", T::kInteger, "", "1", "Seed of hashed routes"},
      {"run", T::kMap, "", "", "Weeks instead of one step (kept for campaigns)"},
      {"run.tokens", T::kNumber, "", "", "Tokens to train"},
      {"run.checkpoint", T::kMap, "", "", "Checkpoints"},
      {"run.checkpoint.every", T::kDuration, "", "", "Interval"},
      {"run.failures", T::kMap, "", "",
       "Failure model; any keys, read but not used in this version"},
      {"sweep", T::kMap, "", "", "Axes: path: [values]"},
      {"expect", T::kList, "", "[]", "What must hold of the result: the scenario is a test"},
      {"expect[].metric", T::kText, "", "required", "Path in the JSON result: step.time_s"},
      {"expect[].value", T::kAny, "", "", "Number, or text"},
      {"expect[].within", T::kPercent, "", "0 %", "Relative tolerance of a number"},
      {"expect[].at_least", T::kNumber, "", "", "Lower limit"},
      {"expect[].at_most", T::kNumber, "", "", "Upper limit"},
  };
  return kKeys;
}

std::vector<std::string> keys_below(std::string_view path) {
  std::vector<std::string> keys;
  const std::string prefix = path.empty() ? "" : std::string{path} + ".";
  for (const KeySpec& key : scenario_keys()) {
    if (!key.path.starts_with(prefix)) continue;
    const std::string_view rest = key.path.substr(prefix.size());
    if (rest.empty() || rest.find_first_of(".[") != std::string_view::npos) continue;
    keys.emplace_back(rest);
  }
  return keys;
}

const KeySpec* find_key(std::string_view path) {
  for (const KeySpec& key : scenario_keys()) {
    if (key.path == path) return &key;
  }
  return nullptr;
}

std::vector<std::string> choices_of(const KeySpec& key) { return split_words(key.choices); }

std::vector<std::string> split_words(std::string_view rest) {
  std::vector<std::string> words;
  while (!rest.empty()) {
    const std::size_t bar = rest.find('|');
    words.emplace_back(rest.substr(0, bar));
    rest = bar == std::string_view::npos ? std::string_view{} : rest.substr(bar + 1);
  }
  return words;
}

namespace {

std::string_view type_word(const KeySpec& key) {
  switch (key.type) {
    case KeyType::kText: return "text";
    case KeyType::kInteger: return "whole number";
    case KeyType::kNumber: return "number";
    case KeyType::kBoolean: return "true or false";
    case KeyType::kChoice: return "one of";
    case KeyType::kBytes: return "size: 80 GiB";
    case KeyType::kRate: return "rate: 400 Gbit/s";
    case KeyType::kDuration: return "time: 600 ns";
    case KeyType::kPercent: return "percentage: 10 %";
    case KeyType::kMap: return "map";
    case KeyType::kList: return "list";
    case KeyType::kAny: return "";
  }
  return "";
}

/// What a key that takes several kinds of value takes.
std::string_view any_word(std::string_view path, bool after_words) {
  if (path.ends_with(".oversubscription")) return "number, or list of numbers";
  if (path.ends_with(".attention_window")) return "whole number, or list of whole numbers";
  if (path.ends_with(".value")) return "number or text";
  return after_words ? ", or a map" : "map";
}

}  // namespace

std::string scenario_keys_markdown() {
  std::string text = "| key | type | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const KeySpec& key : scenario_keys()) {
    std::string choices;
    for (const std::string& word : choices_of(key)) {
      choices += (choices.empty() ? " " : ", ") + ("`" + word + "`");
    }
    std::string type = fmt::format("{}{}", type_word(key), choices);
    if (key.choices.starts_with("@")) {
      type = fmt::format("a name of `foretrain catalog {}`", key.choices.substr(1));
    }
    if (key.choices == "@frameworks") type = "a preset of `catalog/frameworks.yaml`";
    if (key.type == KeyType::kAny) type += any_word(key.path, !type.empty());
    std::string meaning{key.description};
    std::string later;
    for (const std::string& word : split_words(key.later)) later += " `" + word + "`";
    if (!later.empty()) meaning += "; known, not in this version:" + later;
    text += fmt::format("| `{}` | {} | {} | {} |\n", key.path, type, key.default_text, meaning);
  }
  return text;
}

}  // namespace foretrain
