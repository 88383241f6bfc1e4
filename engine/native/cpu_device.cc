// cpu_device.cc: see cpu_device.h.
#include "cpu_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "allowed_cpus.h"
#include "cpu_kernels.h"
#include "memory_size.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

namespace lathe {
namespace cpu {

namespace {

// The CPU's model name; "unknown" where the machine does not tell.
std::string cpu_name()
{
#if defined(__x86_64__) && defined(__GNUC__)
    unsigned words[12] = {0}, a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(0x80000000u, &a, &b, &c, &d) != 0 && a >= 0x80000004u) {
        for (unsigned i = 0; i < 3; i++)
            __get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]);
        char text[49] = {0};
        std::memcpy(text, words, 48);
        const std::string name = text;
        const size_t first = name.find_first_not_of(' '), last = name.find_last_not_of(' ');
        if (first != std::string::npos) return name.substr(first, last - first + 1);
    }
#endif
    return "unknown";
}

// A JSON string; what JSON would escape cannot be part of a name and becomes '?'.
std::string quoted(const std::string &text)
{
    std::string out = "\"";
    for (const char ch : text)
        out += ch == '"' || ch == '\\' || ch < 0x20 || ch > 0x7E ? '?' : ch;
    return out + "\"";
}

}  // namespace

uint64_t last_level_cache()
{
    long bytes = 0;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (bytes <= 0) bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return static_cast<uint64_t>(std::max(0L, bytes));
}

std::string device_json()
{
    std::string runs, built;
    for (const Kernels *const *p = kernel_paths(); *p != nullptr; p++) {
        built += (built.empty() ? "" : ",") + quoted((*p)->name);
        if ((*p)->runs_here()) runs += (runs.empty() ? "" : ",") + quoted((*p)->name);
    }
    char numbers[160];
    snprintf(numbers, sizeof numbers, "\"cores\":%d,\"last_level_cache_bytes\":%llu,\"memory_bytes\":%llu",
             allowed_cpus(), static_cast<unsigned long long>(last_level_cache()),
             static_cast<unsigned long long>(physical_memory()));
    return "{\"name\":" + quoted(cpu_name()) + ",\"paths\":[" + runs + "],\"built_paths\":[" + built + "]," + numbers +
           "}";
}

}  // namespace cpu
}  // namespace lathe
