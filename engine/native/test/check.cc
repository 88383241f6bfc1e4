// check.cc: runs every test, or those whose name contains the argument. Exit
// status 1 when one failed or none ran.
#include "check.h"

#include <cstring>

namespace lathe_test {

namespace {
int failures = 0;
}

std::vector<Test> &tests()
{
    static std::vector<Test> all;
    return all;
}

void failed(const char *file, int line, const char *what)
{
    if (++failures <= 20) printf("    %s:%d: %s\n", file, line, what);
}

}  // namespace lathe_test

int main(int argc, char **argv)
{
    int ran = 0, broken = 0;
    for (const lathe_test::Test &t : lathe_test::tests()) {
        if (argc > 1 && strstr(t.name, argv[1]) == nullptr) continue;
        lathe_test::failures = 0;
        t.body();
        ran++;
        if (lathe_test::failures > 0) broken++;
        printf("%s %s\n", lathe_test::failures == 0 ? "ok  " : "FAIL", t.name);
        fflush(stdout);
    }
    printf("%d tests, %d failed\n", ran, broken);
    return ran == 0 || broken > 0 ? 1 : 0;
}
