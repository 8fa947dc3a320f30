"""The interface of a device, and code that the drivers of all backends share.

Comes in: a bundle, and the driver table of the caller. Goes out: the driver of the bundle's
backend. Read first: `interface`, the methods of a driver and their records, then `table`, which
selects a driver. `abi` has the records that kernel and host share, and `doorbell` starts the runs
of a resident kernel.
"""
