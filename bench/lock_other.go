//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package bench

import "os"

// lock grants every file here: nothing keeps two writers apart.
func lock(*os.File) error { return nil }
