// Package load owns the client side of a serving run: when each request goes
// out, over which connection, with which bytes, and every socket read of its
// answer with the time at which it came. It writes them to a capture while the
// request runs and closes each request with one record, whatever happens to the
// others.
//
// It refuses to know what a token is: bodies are kept as they came, and every
// figure is computed afterwards from the capture. It retries nothing unless told
// to, follows no redirect and asks for no compression, because each of these
// would move a time without leaving a trace.
//
// # What a read is
//
// One bench.Read is what one read of the socket brought of the body: chunked
// framing is taken out, all chunks that came in one read are one Read, and a
// chunk that came in three reads is three. That is what vLLM's client is handed
// by its HTTP library, and its figures depend on it. A read that brought only
// framing (the last chunk) is no Read; it gives the end its time. Under TLS the
// records that one socket read completed are one Read, with that read's time.
//
// # Why not net/http
//
// net/http reads ahead into a buffer of its own and its chunked reader crosses
// read boundaries where it can, so that neither the boundary nor the time of a
// read reaches the caller, and a dialler that stamps would have to parse the
// chunks a second time to know which bytes it stamped. Each read would also wake
// a goroutine through the runtime's poller: more than the whole cost of a frame
// here. So this package reads HTTP/1.1 answers itself, with every length
// bounded: see [Limits]. HTTP/2 is not spoken; neither harness does.
//
// # Two ways to read
//
// On Linux plain connections belong to one locked thread with its own epoll
// set. Connections under TLS, and all of them on other systems, have a
// goroutine each over the runtime's poller. Both hand what they read to the
// same code.
//
// # Two times
//
// t_ns is taken when the read returns, kernel_ns by the Linux kernel when the
// last segment of the read arrived (SO_TIMESTAMPNS). Their difference is this
// client's own lag. The kernel's stamps are wall-clock times: they are moved to
// the run's clock by pairs of both clocks read every half second, and where the
// wall clock was stepped between two pairs they are left out and a warning says
// so.
package load
