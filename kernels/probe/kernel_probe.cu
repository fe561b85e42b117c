// Measures what a training step asks of one GPU: GEMMs in the layouts of forward, data gradient and
// weight gradient, in a short loop and at thermal steady state; memory-bound kernels over sizes;
// kernel launches and gaps. Writes CSV to stdout. See README.md for how to build and run it.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  std::exit(4);
}
void check(cublasStatus_t code, const char* what) {
  if (code == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s: cuBLAS status %d\n", what, static_cast<int>(code));
  std::exit(4);
}
#define CHECK(call) check(call, #call)

__device__ std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

// Standard normal values: random bits decide the power of the tensor cores.
__global__ void fill_normal(__nv_bfloat16* out, std::size_t count, float scale) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const std::uint64_t bits = mix(i + 1);
    const float u = (static_cast<float>(bits >> 40) + 1.0f) / 16777217.0f;
    const float v = static_cast<float>((bits >> 8) & 0xffffff) / 16777216.0f;
    out[i] = __float2bfloat16(scale * sqrtf(-2 * logf(u)) * cospif(2 * v));
  }
}
__global__ void empty_kernel() {}
__global__ void copy_kernel(const uint4* in, uint4* out, std::size_t count) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x)
    out[i] = in[i];
}
__global__ void add_kernel(const float4* a, const float4* b, float4* out, std::size_t count) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const float4 x = a[i], y = b[i];
    out[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
  }
}

struct Layout {
  const char* name;
  bool transpose_a;
  bool transpose_b;
  bool fp32_accumulate;
};
// Row-major C[m,n]: forward X W^T, data gradient dY W, weight gradient dY^T X (+ fp32 C).
const Layout kLayouts[] = {{"forward", true, false, false},
                           {"dgrad", false, false, false},
                           {"wgrad", false, true, false},
                           {"wgrad_fp32_accumulate", false, true, true}};
struct Shape {
  std::int64_t m, n, k;
};

class Timer {
 public:
  Timer() {
    CHECK(cudaEventCreate(&start_));
    CHECK(cudaEventCreate(&stop_));
  }
  template <class F>
  double seconds(F&& work) {
    CHECK(cudaEventRecord(start_));
    work();
    CHECK(cudaEventRecord(stop_));
    CHECK(cudaEventSynchronize(stop_));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, start_, stop_));
    return ms * 1e-3;
  }

 private:
  cudaEvent_t start_{}, stop_{};
};

struct Buffers {
  void* a;
  void* b;
  void* c;
  void* workspace;
  std::size_t workspace_bytes;
};

/// A GEMM prepared with the first algorithm that the library's heuristic names.
class Gemm {
 public:
  Gemm(cublasLtHandle_t handle, const Shape& s, const Layout& layout, const Buffers& buffers)
      : handle_(handle), buffers_(buffers), beta_(layout.fp32_accumulate ? 1.0f : 0.0f) {
    // cuBLAS is column-major: it computes C^T[n,m] from the row-major operands as they lie.
    const cublasOperation_t ta = layout.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t tb = layout.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    CHECK(cublasLtMatmulDescCreate(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CHECK(cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta));
    CHECK(cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb));
    const auto matrix = [](cublasLtMatrixLayout_t* out, cudaDataType_t type, std::int64_t rows,
                           std::int64_t columns) {
      CHECK(cublasLtMatrixLayoutCreate(out, type, static_cast<std::uint64_t>(rows),
                                       static_cast<std::uint64_t>(columns), rows));
    };
    if (layout.transpose_a)
      matrix(&a_, CUDA_R_16BF, s.k, s.n);
    else
      matrix(&a_, CUDA_R_16BF, s.n, s.k);
    if (layout.transpose_b)
      matrix(&b_, CUDA_R_16BF, s.m, s.k);
    else
      matrix(&b_, CUDA_R_16BF, s.k, s.m);
    matrix(&c_, layout.fp32_accumulate ? CUDA_R_32F : CUDA_R_16BF, s.n, s.m);
    cublasLtMatmulPreference_t preference;
    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &buffers.workspace_bytes,
                                               sizeof buffers.workspace_bytes));
    int found = 0;
    CHECK(cublasLtMatmulAlgoGetHeuristic(handle, desc_, a_, b_, c_, c_, preference, 1, &result_,
                                         &found));
    cublasLtMatmulPreferenceDestroy(preference);
    if (found == 0) {
      std::fprintf(stderr, "no algorithm\n");
      std::exit(4);
    }
  }
  ~Gemm() {
    cublasLtMatrixLayoutDestroy(a_);
    cublasLtMatrixLayoutDestroy(b_);
    cublasLtMatrixLayoutDestroy(c_);
    cublasLtMatmulDescDestroy(desc_);
  }
  void run() const {
    const float alpha = 1;
    CHECK(cublasLtMatmul(handle_, desc_, &alpha, buffers_.a, a_, buffers_.b, b_, &beta_, buffers_.c,
                         c_, buffers_.c, c_, &result_.algo, buffers_.workspace,
                         buffers_.workspace_bytes, nullptr));
  }

 private:
  cublasLtHandle_t handle_;
  Buffers buffers_;
  float beta_;
  cublasLtMatmulDesc_t desc_{};
  cublasLtMatrixLayout_t a_{}, b_{}, c_{};
  cublasLtMatmulHeuristicResult_t result_{};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
void row(const char* kind, const char* variant, const Shape& s, double bytes, double seconds) {
  std::printf("%s,%s,%lld,%lld,%lld,%.0f,%.9g\n", kind, variant, static_cast<long long>(s.m),
              static_cast<long long>(s.n), static_cast<long long>(s.k), bytes, seconds);
  std::fflush(stdout);
}

/// Seven groups of a few calls after a rest: the clock is at its maximum, as in published tables.
double short_loop(Timer& timer, const Gemm& gemm) {
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  for (int i = 0; i < 3; ++i) gemm.run();
  std::vector<double> times;
  for (int group = 0; group < 7; ++group) {
    times.push_back(timer.seconds([&] {
      for (int i = 0; i < 4; ++i) gemm.run();
    }) / 4);
  }
  return median(times);
}

/// Back to back for `seconds`; median over the second half.
double sustained_loop(Timer& timer, const Gemm& gemm, double seconds, const char* kind,
                      const char* variant, const Shape& s, double report_every) {
  gemm.run();
  const double one = std::max(timer.seconds([&] { gemm.run(); }), 1e-6);
  const int batch = std::max(1, static_cast<int>(std::min(0.05, seconds / 20) / one));
  std::vector<double> times;
  double elapsed = 0, next = 0;
  while (elapsed < seconds) {
    const double t = timer.seconds([&] {
      for (int i = 0; i < batch; ++i) gemm.run();
    });
    elapsed += t;
    times.push_back(t / batch);
    if (report_every > 0 && elapsed >= next) {
      std::printf("%s_at_%.0fs,%s,%lld,%lld,%lld,0,%.9g\n", kind, elapsed, variant,
                  static_cast<long long>(s.m), static_cast<long long>(s.n),
                  static_cast<long long>(s.k), t / batch);
      next += report_every;
    }
  }
  return median({times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end()});
}

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {8192, 8192, 8192},
      {4096, 4096, 4096},
      {2048, 2048, 2048},
      {16384, 16384, 8192},
      // GPT-3 175B, tensor 8, 2048 tokens: forward, then data and weight gradient shapes
      {2048, 4608, 12288},
      {2048, 12288, 1536},
      {2048, 6144, 12288},
      {2048, 12288, 6144},
      {2048, 12288, 4608},
      {2048, 1536, 12288},
      {4608, 12288, 2048},
      {12288, 1536, 2048},
      {6144, 12288, 2048},
      {12288, 6144, 2048},
      // Llama-3 70B, tensor 8, 8192 tokens
      {8192, 1280, 8192},
      {8192, 8192, 1024},
      {8192, 7168, 8192},
      {8192, 8192, 3584},
      {8192, 16128, 8192},
      {8192, 8192, 1280},
      {8192, 1024, 8192},
      {8192, 8192, 7168},
      {8192, 3584, 8192},
      {1280, 8192, 8192},
      {8192, 1024, 8192},
      {7168, 8192, 8192},
      {8192, 3584, 8192},
      {16128, 8192, 8192},
      // Llama-3 8B, no tensor parallelism, 8192 tokens
      {8192, 6144, 4096},
      {8192, 4096, 4096},
      {8192, 28672, 4096},
      {8192, 4096, 14336},
      {8192, 4096, 6144},
      {8192, 4096, 28672},
      {8192, 14336, 4096},
      {6144, 4096, 8192},
      {4096, 4096, 8192},
      {28672, 4096, 8192},
      {4096, 14336, 8192},
      {8192, 128256, 4096},
      {128256, 4096, 8192},
      {4096, 4096, 6144},
      {4096, 28672, 4096},
      {2048, 28672, 4096},
      // GPT-2 1.5B, Llama-2 7B and 13B, DeepSeek-V3 and its experts, 22B of Korthikanti et al.
      {8192, 4800, 1600},
      {8192, 6400, 1600},
      {8192, 1600, 6400},
      {4096, 12288, 4096},
      {4096, 22016, 4096},
      {4096, 4096, 11008},
      {4096, 15360, 5120},
      {4096, 27648, 5120},
      {8192, 4096, 7168},
      {8192, 7168, 2048},
      {4096, 7168, 16384},
      {4096, 24576, 1536},
      {8192, 2304, 6144},
      {8192, 6144, 768},
      {8192, 3072, 6144},
      {8192, 6144, 3072},
      {512, 4096, 4096},
      {1024, 8192, 8192}};
  return all;
}

void measure_gemms(cublasLtHandle_t handle, const Buffers& buffers, Timer& timer) {
  for (const Shape& s : shapes()) {
    for (const Layout& layout : kLayouts) {
      const Gemm gemm(handle, s, layout, buffers);
      row("gemm_short", layout.name, s, 0, short_loop(timer, gemm));
    }
  }
}

void measure_sustained(cublasLtHandle_t handle, const Buffers& buffers, Timer& timer,
                       double seconds, const char* data) {
  const Shape cube = shapes().front();
  const Gemm gemm(handle, cube, kLayouts[0], buffers);
  row((std::string{"gemm_sustained_"} + data).c_str(), "forward", cube, 0,
      sustained_loop(timer, gemm, seconds, "gemm_sustained", data, cube, 5));
}

void measure_hot(cublasLtHandle_t handle, const Buffers& buffers, Timer& timer) {
  for (const Shape& s : shapes()) {
    const Gemm gemm(handle, s, kLayouts[0], buffers);
    row("gemm_hot", "forward", s, 0, sustained_loop(timer, gemm, 0.9, "", "", s, 0));
  }
}

void measure_memory(const Buffers& buffers, Timer& timer) {
  int sms = 0;
  CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  for (std::size_t bytes = 64 << 10; bytes <= std::size_t{2} << 30; bytes *= 2) {
    const std::size_t count = bytes / 16;
    const int blocks = static_cast<int>(std::min<std::size_t>((count + 511) / 512, sms * 16));
    // Every call takes another part of the buffers, so that nothing is found in the L2 cache.
    std::size_t offset = 0;
    const auto at = [&](void* base) { return static_cast<char*>(base) + offset; };
    const auto advance = [&] { offset = (offset + bytes) % (std::size_t{4} << 30); };
    const auto copy = [&] {
      copy_kernel<<<blocks, 512>>>(reinterpret_cast<uint4*>(at(buffers.a)),
                                   reinterpret_cast<uint4*>(at(buffers.b)), count);
      advance();
    };
    const auto add = [&] {
      add_kernel<<<blocks, 512>>>(reinterpret_cast<float4*>(at(buffers.a)),
                                  reinterpret_cast<float4*>(at(buffers.b)),
                                  reinterpret_cast<float4*>(at(buffers.c)), count);
      advance();
    };
    const auto memcpy_d2d = [&] {
      CHECK(cudaMemcpyAsync(at(buffers.b), at(buffers.a), bytes, cudaMemcpyDeviceToDevice));
      advance();
    };
    const auto time = [&](const char* name, double moved, auto&& work) {
      for (int i = 0; i < 3; ++i) work();
      std::vector<double> times;
      for (int group = 0; group < 9; ++group) {
        times.push_back(timer.seconds([&] {
          for (int i = 0; i < 20; ++i) work();
        }) / 20);
      }
      row("memory", name, {0, 0, 0}, moved, median(times));
    };
    time("copy", 2.0 * static_cast<double>(bytes), copy);
    time("add", 3.0 * static_cast<double>(bytes), add);
    time("memcpy", 2.0 * static_cast<double>(bytes), memcpy_d2d);
  }
}

void measure_launches(Timer& timer) {
  constexpr int kCount = 2000;
  for (int i = 0; i < 100; ++i) empty_kernel<<<1, 32>>>();
  CHECK(cudaDeviceSynchronize());
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 500; ++i) empty_kernel<<<1, 32>>>();
  const std::chrono::duration<double> host = std::chrono::steady_clock::now() - before;
  CHECK(cudaDeviceSynchronize());
  row("launch", "host", {0, 0, 0}, 0, host.count() / 500);
  row("launch", "stream", {0, 0, 0}, 0, timer.seconds([] {
    for (int i = 0; i < kCount; ++i) empty_kernel<<<1, 32>>>();
  }) / kCount);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kCount; ++i) empty_kernel<<<1, 32, 0, stream>>>();
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  row("launch", "graph", {0, 0, 0}, 0,
      timer.seconds([&] { CHECK(cudaGraphLaunch(executable, nullptr)); }) / kCount);
}

}  // namespace

int main() {
  Buffers buffers{};
  const std::size_t bytes = std::size_t{5} << 30;
  CHECK(cudaMalloc(&buffers.a, bytes));
  CHECK(cudaMalloc(&buffers.b, bytes));
  CHECK(cudaMalloc(&buffers.c, bytes));
  buffers.workspace_bytes = 64u << 20;
  CHECK(cudaMalloc(&buffers.workspace, buffers.workspace_bytes));
  const auto fill = [&] {
    for (void* p : {buffers.a, buffers.b}) {
      fill_normal<<<2048, 256>>>(static_cast<__nv_bfloat16*>(p), bytes / 2, 0.5f);
    }
    CHECK(cudaMemset(buffers.c, 0, bytes));
    CHECK(cudaDeviceSynchronize());
  };
  fill();
  cublasLtHandle_t handle;
  CHECK(cublasLtCreate(&handle));
  Timer timer;
  cudaDeviceProp device{};
  CHECK(cudaGetDeviceProperties(&device, 0));
  int driver = 0;
  CHECK(cudaDriverGetVersion(&driver));
  std::printf("# %s, %d SMs, CUDA driver %d, cublasLt %zu\n", device.name,
              device.multiProcessorCount, driver, cublasLtGetVersion());
  std::printf("kind,variant,m,n,k,bytes,seconds\n");
  measure_launches(timer);
  measure_memory(buffers, timer);
  fill();
  measure_gemms(handle, buffers, timer);
  measure_sustained(handle, buffers, timer, 60, "random");
  measure_hot(handle, buffers, timer);
  CHECK(cudaMemset(buffers.a, 0, bytes));
  CHECK(cudaMemset(buffers.b, 0, bytes));
  measure_sustained(handle, buffers, timer, 15, "zeros");
  CHECK(cudaDeviceSynchronize());
  return 0;
}
