package operator

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages; where there are none the memory is as it was.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
