//go:build !linux

package load

import "runtime"

func promptThread() {}

func yieldThread() { runtime.Gosched() }
