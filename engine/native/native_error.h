// native_error.h: how a backend reports an error without letting an exception
// cross the C border. Inside, code throws Failure; every table entry is one
// `guard(err, err_cap, [&] { ... })`.
#ifndef LATHE_NATIVE_ERROR_H
#define LATHE_NATIVE_ERROR_H

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>

#include "backend.h"

namespace lathe {

// A refusal with its status and its one-line message. The text is stored
// inline, so that reporting "out of memory" needs no memory.
class Failure : public std::exception {
public:
    lathe_status status;
    char text[400];
    explicit Failure(lathe_status s) : status(s) { text[0] = '\0'; }
    const char *what() const noexcept override { return text; }
};

// Throws a Failure. The message is lower case, one line, and names the subject
// and the value.
[[noreturn]] __attribute__((format(printf, 2, 3))) static inline void fail(lathe_status status,
                                                                           const char *format, ...)
{
    Failure f(status);
    va_list args;
    va_start(args, format);
    vsnprintf(f.text, sizeof f.text, format, args);
    va_end(args);
    throw f;
}

// Copies text into the caller's buffer, cut to fit, always ended by NUL.
static inline void write_text(char *out, int32_t cap, const char *text)
{
    if (out != nullptr && cap > 0) snprintf(out, static_cast<size_t>(cap), "%s", text);
}

// Runs body and turns what it throws into a status and a message.
template <class Body>
static inline int32_t guard(char *err, int32_t err_cap, Body &&body) noexcept
{
    try {
        body();
        return LATHE_OK;
    } catch (const Failure &f) {
        write_text(err, err_cap, f.text);
        return f.status;
    } catch (const std::bad_alloc &) {
        write_text(err, err_cap, "out of memory");
        return LATHE_E_MEMORY;
    } catch (const std::exception &e) {
        write_text(err, err_cap, e.what());
        return LATHE_E_INTERNAL;
    } catch (...) {
        write_text(err, err_cap, "unknown exception in the backend");
        return LATHE_E_INTERNAL;
    }
}

// Refuses a NULL pointer by its name.
static inline void require(const void *pointer, const char *name)
{
    if (pointer == nullptr) fail(LATHE_E_INVALID, "%s is NULL", name);
}

}  // namespace lathe

#endif  // LATHE_NATIVE_ERROR_H
