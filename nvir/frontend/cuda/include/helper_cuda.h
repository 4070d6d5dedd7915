#pragma once
#include <nvir/std.h>
// What the samples' helpers declare, for host code that is never compiled.
#define checkCudaErrors(e) ((void)(e))
#define getLastCudaError(m) ((void)0)
#define CUDA_CHECK_(e) ((void)(e))
int findCudaDevice(int, const char **); int gpuGetMaxGflopsDeviceId(); int gpuDeviceInit(int); int _ConvertSMVer2Cores(int, int);
bool checkCmdLineFlag(int, const char **, const char *); int getCmdLineArgumentInt(int, const char **, const char *); float getCmdLineArgumentFloat(int, const char **, const char *); bool getCmdLineArgumentString(int, const char **, const char *, char **);
struct StopWatchInterface; bool sdkCreateTimer(StopWatchInterface **); bool sdkStartTimer(StopWatchInterface **); bool sdkStopTimer(StopWatchInterface **); bool sdkResetTimer(StopWatchInterface **); bool sdkDeleteTimer(StopWatchInterface **); float sdkGetTimerValue(StopWatchInterface **); float sdkGetAverageTimerValue(StopWatchInterface **);
char *sdkFindFilePath(const char *, const char *); template <class... A> bool sdkLoadPGM(A...); template <class... A> bool sdkSavePGM(A...); template <class... A> bool sdkLoadPPM4(A...); template <class... A> bool sdkCompareL2fe(A...); template <class... A> bool compareData(A...); template <class... A> bool sdkWriteFile(A...); template <class... A> bool sdkReadFile(A...);
