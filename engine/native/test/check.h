// check.h: the smallest test harness: TEST(name) { CHECK(...); }.
#ifndef LATHE_TEST_CHECK_H
#define LATHE_TEST_CHECK_H

#include <cstdio>
#include <vector>

namespace lathe_test {

struct Test {
    const char *name;
    void (*body)();
};

// Every test of the executable, in the order of linking.
std::vector<Test> &tests();
// Counts a failure of the running test and prints it.
void failed(const char *file, int line, const char *what);

struct Register {
    Register(const char *name, void (*body)()) { tests().push_back({name, body}); }
};

}  // namespace lathe_test

#define TEST(name)                                                  \
    static void name();                                             \
    static const lathe_test::Register register_##name(#name, name); \
    static void name()

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) lathe_test::failed(__FILE__, __LINE__, #condition);   \
    } while (0)

// A failed CHECK with numbers in it.
#define CHECK_MSG(condition, ...)                             \
    do {                                                      \
        if (!(condition)) {                                   \
            char text_[600];                                  \
            snprintf(text_, sizeof text_, __VA_ARGS__);       \
            lathe_test::failed(__FILE__, __LINE__, text_);    \
        }                                                     \
    } while (0)

#endif  // LATHE_TEST_CHECK_H
