// foretrain kernel: one question to the compute model, or a CSV file of them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/compute/compute_model.h"
#include "sim/compute/kernel_queries.h"
#include "sim/compute/profile.h"
#include "sim/hardware/catalog.h"
#include "tools/foretrain/command.h"

namespace foretrain {
namespace {

using Json = nlohmann::ordered_json;

struct KernelArguments {
  std::string profile;
  std::string gpu;
  std::string queries;
  bool json = false;
  bool within_step = false;
  KernelQuery gemm;
  KernelQuery attention;
  KernelQuery memory;
};

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

std::vector<std::string> known_profiles(const HardwareCatalog& catalog,
                                        const std::string& data_dir) {
  std::vector<std::string> names;
  for (const std::string& name : catalog.gpu_names()) {
    if (is_file(data_dir + "/profiles/" + name + ".json")) names.push_back(name);
  }
  return names;
}

/// A profile file, a shipped profile's name, or a GPU's name: then the catalog's rates serve.
Result<std::unique_ptr<ComputeModel>> open_model(const KernelArguments& arguments,
                                                 const std::string& data_dir) {
  const Result<HardwareCatalog> catalog = HardwareCatalog::load(data_dir + "/catalog");
  if (!catalog) return tl::make_unexpected(catalog.error());
  std::string path = arguments.profile;
  const std::string shipped = data_dir + "/profiles/" + path + ".json";
  if (!is_file(path) && is_file(shipped)) path = shipped;
  std::string gpu_name = arguments.gpu;
  if (is_file(path)) {
    const Result<Profile> profile = load_profile(path);
    if (!profile) return tl::make_unexpected(profile.error());
    if (gpu_name.empty()) gpu_name = profile->gpu.name;
  } else if (gpu_name.empty()) {
    gpu_name = arguments.profile;
  }
  const GpuSpec* gpu = catalog->gpu(gpu_name);
  if (gpu == nullptr) {
    std::string names;
    for (const std::string& name : known_profiles(*catalog, data_dir)) names += " " + name;
    const std::string nearest = nearest_name(gpu_name, catalog->gpu_names());
    return fail(
        fmt::format("'{}' is neither a profile file nor a profile nor a GPU", gpu_name),
        nearest.empty() ? "shipped profiles:" + names : fmt::format("did you mean '{}'?", nearest));
  }
  const ComputeModelOptions options{arguments.within_step};
  if (is_file(path)) return load_compute_model(path, *gpu, options);
  const std::string own = data_dir + "/profiles/" + gpu->profile + ".json";
  if (!gpu->profile.empty() && is_file(own)) return load_compute_model(own, *gpu, options);
  return make_catalog_model(data_dir + "/catalog", *gpu, options);
}

void print_answer(const KernelAnswer& answer, const ComputeModel& model, bool json) {
  if (json) {
    const Json result{{"time_s", answer.time_s},
                      {"flops_per_s", answer.flops_per_s},
                      {"interval", {answer.low_s, answer.high_s}},
                      {"extrapolated", answer.extrapolated},
                      {"gpu", model.gpu().name},
                      {"profile", model.provenance()}};
    std::printf("%s\n", result.dump(2).c_str());
    return;
  }
  std::printf("time        %.3f us  (90 %%: %.3f to %.3f us)%s\n", 1e6 * answer.time_s,
              1e6 * answer.low_s, 1e6 * answer.high_s,
              answer.extrapolated ? "  outside what was measured" : "");
  if (answer.flops_per_s > 0) {
    std::printf("rate        %.1f TFLOP/s\n", 1e-12 * answer.flops_per_s);
  }
  std::printf("profile     %s on %s\n", model.provenance().c_str(), model.gpu().name.c_str());
}

int answer_one(const KernelArguments& arguments, const KernelQuery& query,
               const std::string& data_dir) {
  const auto model = open_model(arguments, data_dir);
  if (!model) {
    std::fputs(to_string(model.error()).c_str(), stderr);
    return kWrongInput;
  }
  const auto answer = answer_query(**model, query);
  if (!answer) {
    std::fprintf(stderr, "error: %s\n", answer.error().c_str());
    return kWrongInput;
  }
  print_answer(*answer, **model, arguments.json);
  return kDone;
}

int answer_file(const KernelArguments& arguments, const std::string& data_dir) {
  const auto model = open_model(arguments, data_dir);
  if (!model) {
    std::fputs(to_string(model.error()).c_str(), stderr);
    return kWrongInput;
  }
  const auto answered = answer_query_file(**model, arguments.queries);
  if (!answered) {
    std::fputs(to_string(answered.error()).c_str(), stderr);
    return kWrongInput;
  }
  std::fputs(answered->text.c_str(), stdout);
  if (answered->failed > 0) {
    std::fprintf(stderr, "%d of %d rows cannot be answered: see column error\n", answered->failed,
                 answered->rows);
  }
  return answered->failed > 0 ? kWrongInput : kDone;
}

void add_gemm(CLI::App& parent, std::shared_ptr<KernelArguments> arguments,
              CommandContext& context) {
  auto* gemm = parent.add_subcommand("gemm", "C[m,n] = A[m,k] B[k,n]");
  KernelQuery& query = arguments->gemm;
  gemm->add_option("--m", query.m)->required();
  gemm->add_option("--n", query.n)->required();
  gemm->add_option("--k", query.k)->required();
  gemm->add_option("--batch", query.batch, "Independent products in one kernel");
  gemm->add_option("--dtype", query.dtype, "bf16, fp16, fp8, fp8_block, fp4, tf32 or fp32");
  gemm->add_flag("--accumulate", query.accumulate, "Add to an fp32 C, as weight gradients do");
  gemm->add_flag("--json", arguments->json);
  gemm->callback([arguments, &context] {
    context.exit_code = answer_one(*arguments, arguments->gemm, context.data_dir);
  });
}

void add_attention(CLI::App& parent, std::shared_ptr<KernelArguments> arguments,
                   CommandContext& context) {
  auto* attention = parent.add_subcommand("attention", "Fused attention core");
  KernelQuery& query = arguments->attention;
  query.causal = "false";
  attention->add_option("--batch", query.batch)->required();
  attention->add_option("--heads", query.heads)->required();
  attention->add_option("--kv-heads", query.kv_heads, "Default: as --heads");
  attention->add_option("--seq", query.seq)->required();
  attention->add_option("--head-dim", query.head_dim)->required();
  attention->add_flag_callback("--causal", [arguments] { arguments->attention.causal = "true"; });
  attention->add_option("--direction", query.direction, "forward, backward or forward+backward");
  attention->add_option("--window", query.window, "Keys that a query sees; 0: all");
  attention->add_option("--dtype", query.dtype, "bf16, fp16 or fp8");
  attention->add_option("--implementation", query.implementation,
                        "profiled (default), auto (of training), flash1, flash2, flash3, cudnn");
  attention->add_flag("--json", arguments->json);
  attention->callback([arguments, &context] {
    context.exit_code = answer_one(*arguments, arguments->attention, context.data_dir);
  });
}

void add_memory(CLI::App& parent, std::shared_ptr<KernelArguments> arguments,
                CommandContext& context) {
  auto* memory = parent.add_subcommand("memory", "Memory-bound kernel");
  KernelQuery& query = arguments->memory;
  memory->add_option("--bytes-read", query.bytes_read)->required();
  memory->add_option("--bytes-written", query.bytes_written)->required();
  memory->add_flag("--json", arguments->json);
  memory->callback([arguments, &context] {
    context.exit_code = answer_one(*arguments, arguments->memory, context.data_dir);
  });
}

}  // namespace

void add_kernel_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("kernel", "Duration of one kernel on one GPU");
  auto arguments = std::make_shared<KernelArguments>();
  arguments->gemm.op = "gemm";
  arguments->attention.op = "attention";
  arguments->memory.op = "memory";
  command
      ->add_option("--profile", arguments->profile,
                   "Profile file, shipped profile or GPU name: h100-sxm")
      ->required();
  command->add_option("--gpu", arguments->gpu,
                      "GPU of the catalog to predict for (default: the profile's own)");
  command->add_option("--queries", arguments->queries, "CSV file of questions");
  command->add_flag("--within-step", arguments->within_step,
                    "As within a training step: power limit, fp8 casts apart");
  command->add_flag("--json", arguments->json);
  add_gemm(*command, arguments, context);
  add_attention(*command, arguments, context);
  add_memory(*command, arguments, context);
  command->require_subcommand(0, 1);
  command->fallthrough();
  command->callback([arguments, command, &context] {
    if (!command->get_subcommands().empty()) return;
    if (arguments->queries.empty()) {
      std::fputs("error: name a kernel (gemm, attention, memory) or give --queries FILE.csv\n",
                 stderr);
      context.exit_code = kWrongInput;
      return;
    }
    context.exit_code = answer_file(*arguments, context.data_dir);
  });
}

}  // namespace foretrain
