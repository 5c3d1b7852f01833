/* The one function of bcryptprimitives.dll that Rust's standard library imports, for a Wine that lacks the library. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T bytes)
{
    return RtlGenRandom(data, (ULONG)bytes);
}
