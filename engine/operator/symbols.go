package operator

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// use is a group of symbols that say what code does beside computing. A kernel that refers to a
// refused one cannot be trusted with a measurement; the others are said as a warning, because what
// they do is seen when it happens.
type use struct {
	what    string
	refused bool
	names   []string
}

// uses lists what is looked for in the symbol table. Inlined instructions (rdtsc, syscall) have no
// symbol and are not seen here.
func uses() []use {
	return []use{
		{"reads a clock", true, []string{"clock_gettime", "clock_getres", "clock", "gettimeofday", "time", "times", "ftime", "timespec_get",
			"getrusage", "_ZNSt6chrono3_V212steady_clock3nowEv", "_ZNSt6chrono3_V212system_clock3nowEv"}},
		{"starts threads or processes", true, []string{"pthread_create", "thrd_create", "clone", "fork", "vfork", "posix_spawn", "posix_spawnp",
			"system", "popen", "execv", "execve", "execvp", "execl", "execlp", "execle", "fexecve",
			"_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE", "GOMP_parallel", "__kmpc_fork_call"}},
		{"looks up symbols or calls the system by number", true, []string{"dlopen", "dlmopen", "dlsym", "dlvsym", "syscall"}},
		{"handles signals or other memory", true, []string{"sigaction", "signal", "sigaltstack", "sigprocmask", "setitimer", "timer_create", "ptrace",
			"mprotect", "pkey_mprotect", "process_vm_readv", "process_vm_writev"}},
		{"ends the process", false, []string{"exit", "_exit", "_Exit", "quick_exit", "pthread_exit", "kill", "raise"}},
		{"prints or uses files", false, []string{"printf", "__printf_chk", "puts", "putchar", "vprintf", "fprintf", "__fprintf_chk", "fputs", "fwrite",
			"write", "fopen", "open", "openat", "open64", "mmap", "_ZSt4cout", "_ZSt4cerr"}},
		{"reads the environment", false, []string{"getenv", "secure_getenv", "environ", "__environ"}},
		{"sleeps", false, []string{"sleep", "usleep", "nanosleep", "clock_nanosleep"}},
	}
}

// systemLibraries are those a kernel may need without a word: what a C or C++ compiler adds.
func systemLibraries() []string {
	return []string{"libc.so", "libm.so", "libmvec.so", "libgcc_s.so", "libstdc++.so", "libc++.so", "libc++abi.so", "libunwind.so",
		"libpthread.so", "libdl.so", "libatomic.so", "ld-linux"}
}

// surface is what a library shows of itself.
type surface struct {
	imports, exports, libraries []string
}

// readSurface reads the dynamic symbols of an ELF file. The file is not loaded.
func readSurface(path string) (surface, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return surface{}, errors.New("is no shared library: it is no regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return surface{}, plain(err)
	}
	defer file.Close()
	f, err := elf.NewFile(file)
	if err != nil {
		return surface{}, fmt.Errorf("is no shared library: %w", err)
	}
	if f.Type != elf.ET_DYN {
		return surface{}, fmt.Errorf("is no shared library: its ELF type is %s", f.Type)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return surface{}, fmt.Errorf("its dynamic symbols cannot be read: %w", err)
	}
	var s surface
	for _, y := range symbols {
		switch {
		case y.Name == "":
		case y.Section == elf.SHN_UNDEF:
			s.imports = append(s.imports, y.Name)
		default:
			s.exports = append(s.exports, y.Name)
		}
	}
	if s.libraries, err = f.ImportedLibraries(); err != nil {
		return surface{}, fmt.Errorf("the libraries it needs cannot be read: %w", err)
	}
	return s, nil
}

// plain is a file error without the path, which the caller names.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// judge says what is refused and what is doubtful about a library.
func (s surface) judge(v *Verdict) {
	for _, u := range uses() {
		if hit := common(u.names, s.imports); len(hit) > 0 {
			text := fmt.Sprintf("%s: it refers to %s", u.what, strings.Join(hit, ", "))
			if u.refused {
				v.found(Finding{Code: ForbiddenSymbol, Detail: text})
			} else {
				v.warn("%s", text)
			}
		}
		if hit := common(u.names, s.exports); len(hit) > 0 {
			v.found(Finding{Code: ForbiddenSymbol,
				Detail: fmt.Sprintf("carries its own %s: a symbol of the system's that it would put its code in place of", strings.Join(hit, ", "))})
		}
	}
	var others []string
	for _, lib := range s.libraries {
		if !slices.ContainsFunc(systemLibraries(), func(known string) bool { return strings.HasPrefix(lib, known) }) {
			others = append(others, lib)
		}
	}
	if len(others) > 0 {
		v.warn("needs %s, whose code is not looked at", strings.Join(others, ", "))
	}
}

// common are the names of list that are in set, in list's order.
func common(list, set []string) []string {
	var out []string
	for _, name := range list {
		if slices.Contains(set, name) {
			out = append(out, name)
		}
	}
	return out
}
