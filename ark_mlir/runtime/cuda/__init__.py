"""The driver for NVIDIA GPUs: one cooperative launch of the persistent kernel, by cuda-python."""
