"""The device that a program sees: attributes and properties of a machine profile, errors.

Source   layouts of cudaDeviceProp: driver_types.h of CUDA 12 and 13; texts of errors: what CUDA
         13's cudaGetErrorString gives. What the profiles lack (texture extents, grid sizes): the
         CUDA Programming Guide's table of compute capabilities; SMs and clock: data sheets.
"""

from __future__ import annotations

import functools
import re
import struct
from pathlib import Path

from nvir.ir.errors import LaunchError, NvirError, ParseError, Unsupported
from nvir.sm.profile import Profile

SMS = {70: 80, 75: 40, 80: 108, 86: 84, 89: 128, 90: 132, 100: 148, 120: 170}
_CLOCK = 1410000  # kHz

# Each field of cudaDeviceProp with its struct code; CUDA 12 has those in brackets as well.
_FIELDS = """
name:256s uuid:16s luid:8s luidDeviceNodeMask:I totalGlobalMem:Q sharedMemPerBlock:Q regsPerBlock:i
warpSize:i memPitch:Q maxThreadsPerBlock:i maxThreadsDim:3i maxGridSize:3i [clockRate:i]
totalConstMem:Q major:i minor:i textureAlignment:Q texturePitchAlignment:Q [deviceOverlap:i]
multiProcessorCount:i [kernelExecTimeoutEnabled:i] integrated:i canMapHostMemory:i [computeMode:i]
maxTexture1D:i maxTexture1DMipmap:i [maxTexture1DLinear:i] maxTexture2D:2i maxTexture2DMipmap:2i
maxTexture2DLinear:3i maxTexture2DGather:2i maxTexture3D:3i maxTexture3DAlt:3i maxTextureCubemap:i
maxTexture1DLayered:2i maxTexture2DLayered:3i maxTextureCubemapLayered:2i maxSurface1D:i
maxSurface2D:2i maxSurface3D:3i maxSurface1DLayered:2i maxSurface2DLayered:3i maxSurfaceCubemap:i
maxSurfaceCubemapLayered:2i surfaceAlignment:Q concurrentKernels:i ECCEnabled:i pciBusID:i
pciDeviceID:i pciDomainID:i tccDriver:i asyncEngineCount:i unifiedAddressing:i [memoryClockRate:i]
memoryBusWidth:i l2CacheSize:i persistingL2CacheMaxSize:i maxThreadsPerMultiProcessor:i
streamPrioritiesSupported:i globalL1CacheSupported:i localL1CacheSupported:i
sharedMemPerMultiprocessor:Q regsPerMultiprocessor:i managedMemory:i isMultiGpuBoard:i
multiGpuBoardGroupID:i hostNativeAtomicSupported:i [singleToDoublePrecisionPerfRatio:i]
pageableMemoryAccess:i concurrentManagedAccess:i computePreemptionSupported:i
canUseHostPointerForRegisteredMem:i cooperativeLaunch:i [cooperativeMultiDeviceLaunch:i]
sharedMemPerBlockOptin:Q pageableMemoryAccessUsesHostPageTables:i
directManagedMemAccessFromHost:i maxBlocksPerMultiProcessor:i accessPolicyMaxWindowSize:i
reservedSharedMemPerBlock:Q hostRegisterSupported:i sparseCudaArraySupported:i
hostRegisterReadOnlySupported:i timelineSemaphoreInteropSupported:i memoryPoolsSupported:i
gpuDirectRDMASupported:i gpuDirectRDMAFlushWritesOptions:I gpuDirectRDMAWritesOrdering:i
memoryPoolSupportedHandleTypes:I deferredMappingCudaArraySupported:i ipcEventSupported:i
clusterLaunch:i unifiedFunctionPointers:i
"""
_FIELD = re.compile(r"(\[?)(\w+):(\d*)(\w)")

# Number of each attribute (cudaDeviceAttr, CUdevice_attribute) and the property that it is, `[k]`
# for one of several.
_ATTRIBUTES = """
1:maxThreadsPerBlock 2:maxThreadsDim[0] 3:maxThreadsDim[1] 4:maxThreadsDim[2] 5:maxGridSize[0]
6:maxGridSize[1] 7:maxGridSize[2] 8:sharedMemPerBlock 9:totalConstMem 10:warpSize 11:memPitch
12:regsPerBlock 13:clockRate 14:textureAlignment 16:multiProcessorCount 19:canMapHostMemory
21:maxTexture1D 22:maxTexture2D[0] 23:maxTexture2D[1] 24:maxTexture3D[0] 25:maxTexture3D[1]
26:maxTexture3D[2] 31:concurrentKernels 33:pciBusID 36:memoryClockRate 37:memoryBusWidth
38:l2CacheSize 39:maxThreadsPerMultiProcessor 40:asyncEngineCount 41:unifiedAddressing
51:texturePitchAlignment 69:maxTexture1DLinear 75:major 76:minor 78:streamPrioritiesSupported
79:globalL1CacheSupported 80:localL1CacheSupported 81:sharedMemPerMultiprocessor
82:regsPerMultiprocessor 83:managedMemory 89:concurrentManagedAccess
90:computePreemptionSupported 95:cooperativeLaunch 97:sharedMemPerBlockOptin
99:hostRegisterSupported 106:maxBlocksPerMultiProcessor 111:reservedSharedMemPerBlock
115:memoryPoolsSupported 120:clusterLaunch
"""


Values = dict[str, bytes | int | tuple[int, ...]]


def properties(profile: Profile, memory: int) -> Values:
    """The fields of cudaDeviceProp that are not 0; `memory` is the device's in bytes."""
    limits, capability = profile.limits, profile.capability
    ones = (
        "canMapHostMemory", "concurrentKernels", "pciBusID", "unifiedAddressing",
        "streamPrioritiesSupported", "globalL1CacheSupported", "localL1CacheSupported",
        "managedMemory", "concurrentManagedAccess", "computePreemptionSupported",
        "cooperativeLaunch", "hostRegisterSupported", "memoryPoolsSupported", "deviceOverlap",
    )
    return {
        **dict.fromkeys(ones, 1),
        "name": f"nvir interpreter ({profile.name})".encode(),
        "totalGlobalMem": memory,
        "sharedMemPerBlock": limits.shared_per_block,
        "sharedMemPerBlockOptin": limits.shared_per_block_optin,
        "sharedMemPerMultiprocessor": limits.shared_per_sm,
        "reservedSharedMemPerBlock": limits.shared_reserved_per_block,
        "regsPerBlock": limits.registers_per_block,
        "regsPerMultiprocessor": limits.registers_per_sm,
        "warpSize": limits.warp_size,
        "memPitch": 0x7FFFFFFF,
        "maxThreadsPerBlock": limits.max_threads_per_block,
        "maxThreadsPerMultiProcessor": limits.max_threads_per_sm,
        "maxBlocksPerMultiProcessor": limits.max_blocks_per_sm,
        "maxThreadsDim": (1024, 1024, 64),
        "maxGridSize": (0x7FFFFFFF, 65535, 65535),
        "clockRate": _CLOCK, "memoryClockRate": 1215000, "memoryBusWidth": 5120,
        "totalConstMem": 65536,
        "major": capability // 10, "minor": capability % 10,
        "clusterLaunch": int(capability >= 90),
        "textureAlignment": 512, "texturePitchAlignment": 32, "surfaceAlignment": 512,
        "multiProcessorCount": SMS.get(capability, 108),
        "maxTexture1D": 131072, "maxTexture1DLinear": 1 << 28, "maxTexture2D": (131072, 65536),
        "maxTexture2DLinear": (131072, 65000, 2097120), "maxTexture2DGather": (32768, 32768),
        "maxTexture3D": (16384, 16384, 16384), "maxTextureCubemap": 32768,
        "maxTexture1DLayered": (32768, 2048), "maxTexture2DLayered": (32768, 32768, 2048),
        "maxTextureCubemapLayered": (32768, 2046), "maxSurface1D": 32768,
        "maxSurface2D": (131072, 65536), "maxSurface3D": (16384, 16384, 16384),
        "l2CacheSize": 40 << 20, "asyncEngineCount": 3, "singleToDoublePrecisionPerfRatio": 2,
    }


def property_bytes(values: Values, layout: int) -> bytes:
    """cudaDeviceProp as CUDA `layout` (12 or 13) has it, without its reserved end; 0: the name."""
    if layout == 0:
        return bytes(values["name"]) + b"\0"
    codes: list[str] = ["@"]
    given: list[bytes | int] = []
    for only_12, name, count, code in _FIELD.findall(_FIELDS):
        if only_12 and layout != 12:
            continue
        codes.append(count + code)
        value = values.get(name, b"" if code == "s" else 0)
        several = int(count or 1) if code != "s" else 1
        given += value if isinstance(value, tuple) else [value] * several
    return struct.pack("".join(codes), *given)


def attributes(values: Values) -> list[int]:
    """The device's attributes by number, 256 of them."""
    out = [0] * 256
    for pair in _ATTRIBUTES.split():
        number, _, name = pair.partition(":")
        name, _, place = name.partition("[")
        value = values.get(name, 0)
        if isinstance(value, tuple):
            value = value[int(place[:-1] or 0)] if place else value[0]
        assert isinstance(value, int)
        out[int(number)] = min(value, 0x7FFFFFFF)
    return out


@functools.cache
def error_text(code: int) -> str:
    """`NAME text` of an error of the runtime."""
    for line in (Path(__file__).parent / "errors.txt").read_text("utf-8").splitlines():
        number, _, rest = line.partition(" ")
        if int(number) == code:
            return rest
    return "unrecognized error code"


_FAULTS = (
    (r"misaligned", 716), (r"assertion", 710), (r"out of bounds|read-only", 700),
    (r"deadlock|more than [\d.e+-]+ (?:steps|seconds)", 702),
    (r"cannot launch", 1), (r"stack overflow", 719),
)


def error_code(error: NvirError) -> int:
    """The runtime's error for what a launch or a module raised."""
    if isinstance(error, ParseError):
        return 218
    if isinstance(error, Unsupported):
        return 801
    if isinstance(error, LaunchError):
        return next((code for words, code in _FAULTS if re.search(words, error.message)), 719)
    return 999
