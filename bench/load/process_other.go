//go:build !linux

package load

func raiseFiles(int) string { return "" }
