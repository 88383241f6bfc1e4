//go:build !linux

package bench

// monotonic is unknown here: files of such a machine cannot be laid over each
// other, and say so by having no clock origin.
func monotonic() (ns int64, boot string, ok bool) { return 0, "", false }
