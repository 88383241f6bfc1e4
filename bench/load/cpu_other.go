//go:build !unix

package load

func cpuTime() int64 { return 0 }
