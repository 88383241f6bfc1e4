package load

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receiver reads sockets with recvmsg, whose control data hold the kernel's
// receive stamp. It allocates nothing and is for one thread at a time.
type receiver struct {
	msg     unix.Msghdr
	iov     unix.Iovec
	control [64]byte
}

// stampSocket asks the kernel to stamp what the socket receives.
func stampSocket(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
}

// keepStamping opens a socket that asks for stamps. The kernel begins to stamp
// arriving packets a little after the first such socket appeared and stops after
// the last one went: with this one the first reads of a run have theirs too. It
// is -1 where there is none.
func keepStamping() int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	if stampSocket(fd) != nil {
		unix.Close(fd)
		return -1
	}
	return fd
}

// endStamping closes what keepStamping opened.
func endStamping(fd int) {
	if fd >= 0 {
		unix.Close(fd)
	}
}

// read receives into p without waiting. kernel is the wall-clock time in
// nanoseconds at which the last segment of what was read came in, 0 where there
// is no stamp.
func (r *receiver) read(fd int, p []byte) (n int, kernel int64, errno syscall.Errno) {
	r.iov.Base = &p[0]
	r.iov.SetLen(len(p))
	r.msg.Iov = &r.iov
	r.msg.SetIovlen(1)
	r.msg.Control = &r.control[0]
	r.msg.SetControllen(len(r.control))
	// The socket does not block, so the call is short: no need to tell the
	// scheduler.
	got, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.msg)), unix.MSG_DONTWAIT)
	r.iov.Base = nil
	if errno != 0 {
		return 0, 0, errno
	}
	return int(got), r.stamp(), 0
}

// stamp reads the one control message that is looked for.
func (r *receiver) stamp() int64 {
	const head = unix.SizeofCmsghdr
	if uint64(r.msg.Controllen) < uint64(unix.CmsgLen(int(unsafe.Sizeof(unix.Timespec{})))) {
		return 0
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&r.control[0]))
	if h.Level != unix.SOL_SOCKET || h.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	ts := (*unix.Timespec)(unsafe.Pointer(&r.control[head]))
	return ts.Nano()
}

// epollWait is epoll_wait without telling the scheduler. An interrupted wait has
// no events.
func epollWait(ep int, events []unix.EpollEvent, timeout int) int {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(timeout), 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}
