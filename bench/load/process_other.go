//go:build !linux

package load

func raiseFiles() string { return "" }
