"""Fused attention through PyTorch: cuDNN and FlashAttention-2, forward and backward, as CSV on stdout.

Random normal bf16 inputs, causal; median of groups of calls timed with CUDA events. Backward is the
time of autograd's backward alone.
"""
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

SHAPES = [  # batch, sequence, heads, kv heads, head_dim
    (1, 8192, 8, 1, 128), (2, 8192, 16, 16, 128), (1, 8192, 32, 8, 128), (4, 2048, 12, 12, 128),
    (1, 2048, 12, 12, 128), (2, 2048, 32, 32, 128), (4, 4096, 32, 32, 128), (1, 4096, 32, 8, 128),
    (1, 4096, 64, 8, 128), (8, 1024, 16, 16, 128), (8, 1024, 25, 25, 64), (16, 1024, 16, 16, 64),
    (4, 2048, 32, 32, 64), (1, 16384, 8, 1, 128), (1, 32768, 8, 2, 128), (16, 1024, 12, 12, 64),
    (1, 2048, 8, 8, 96), (32, 512, 16, 16, 128),
]


def seconds(work, repeats, groups=7):
    for _ in range(3):
        work()
    times = []
    for _ in range(groups):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(repeats):
            work()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) * 1e-3 / repeats)
    return statistics.median(times)


def main():
    print(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    print("kernel,batch,seq,heads,kv_heads,head_dim,causal,direction,seconds")
    for name, backend in (("cudnn", SDPBackend.CUDNN_ATTENTION), ("flash2", SDPBackend.FLASH_ATTENTION)):
        for batch, seq, heads, kv_heads, dim in SHAPES:
            def tensor(h):
                return torch.randn(batch, h, seq, dim, device="cuda", dtype=torch.bfloat16, requires_grad=True)
            try:
                with sdpa_kernel(backend):
                    q, k, v = tensor(heads), tensor(kv_heads), tensor(kv_heads)
                    def forward():
                        return torch.nn.functional.scaled_dot_product_attention(
                            q, k, v, is_causal=True, enable_gqa=heads != kv_heads)
                    with torch.no_grad():
                        t_forward = seconds(forward, 10)
                    out = forward()
                    grad = torch.randn_like(out)
                    t_backward = seconds(
                        lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True), 5)
            except RuntimeError as error:
                print(f"{name} {batch}x{seq}x{heads}x{kv_heads}x{dim}: {str(error)[:120]}", file=sys.stderr)
                continue
            for direction, t in (("forward", t_forward), ("backward", t_backward)):
                print(f"{name},{batch},{seq},{heads},{kv_heads},{dim},true,{direction},{t:.9g}", flush=True)


main()
