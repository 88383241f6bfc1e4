package load

// Class is the kind of failure of a request; empty where the answer came to its
// end with status 200. It stands in the capture as error_class.
type Class string

// Classes of failure, in the order in which a request can meet them.
const (
	ClassDescriptors Class = "no_descriptors"     // this process has no file descriptor left
	ClassUnreachable Class = "unreachable"        // no route, no such host
	ClassRefused     Class = "refused"            // the port is closed
	ClassConnect     Class = "connect_timeout"    // no connection within the limit
	ClassProxy       Class = "proxy"              // the proxy would not connect
	ClassTLS         Class = "tls"                // handshake or certificate
	ClassReset       Class = "reset"              // reset by the other side
	ClassNoResponse  Class = "no_response"        // closed before a whole head came
	ClassBadResponse Class = "bad_response"       // not HTTP/1
	ClassHeadSize    Class = "head_too_large"     // endless headers or trailers
	ClassCompressed  Class = "compressed"         // an encoding that was not asked for
	ClassStatus      Class = "http_status"        // any status but 200
	ClassContentType Class = "content_type"       // a stream was asked for and something else came
	ClassCut         Class = "cut"                // closed inside the body
	ClassLineSize    Class = "line_too_long"      // a line of the body above the limit
	ClassBodySize    Class = "body_too_large"     // the body above the limit
	ClassStall       Class = "stall"              // nothing came for too long
	ClassTimeout     Class = "timeout"            // the whole took too long
	ClassDeadline    Class = "deadline"           // still running when the run's time was over
	ClassCancelled   Class = "cancelled"          // still running when the run was stopped
	ClassRequest     Class = "request_not_formed" // the request could not be built
)

// How a body ended, as it stands in the capture.
const (
	endEOF       = "eof"
	endCut       = "cut"
	endStatus    = "http_error"
	endTimeout   = "timeout"
	endCancelled = "cancelled"
)

// kind is the capture's end of a request that failed by c before its body came
// to an end.
func (c Class) kind() string {
	switch c {
	case ClassConnect, ClassStall, ClassTimeout:
		return endTimeout
	case ClassDeadline, ClassCancelled:
		return endCancelled
	}
	return endCut
}

// failure is an error with its class.
type failure struct {
	class Class
	err   error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(c Class, err error) *failure { return &failure{c, err} }
