"""The driver for cpu: a thread for each lane, and a checked ELF image of the kernel."""
