//go:build !unix

package main

// childMain is the program itself.
func childMain() { main() }
