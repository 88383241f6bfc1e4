package load

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// target is where requests go and how they get there.
type target struct {
	secure bool
	host   string // for the Host header and, without its port, for the certificate
	name   string // host without port
	port   string
	prefix string // path of the base URL, without a slash at its end
	auth   string // Authorization from the URL's user

	proxy     *url.URL // nil: straight
	proxyAuth string

	addr netip.AddrPort // of the server or the proxy, once resolved
	took time.Duration  // resolving, and racing where there were several addresses
}

func parseTarget(base string) (*target, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	t := &target{host: u.Host, name: u.Hostname(), port: u.Port(), prefix: strings.TrimRight(u.EscapedPath(), "/")}
	switch u.Scheme {
	case "http":
	case "https":
		t.secure = true
	default:
		return nil, fmt.Errorf("base URL %s: it must start with http:// or https://", base)
	}
	switch {
	case t.name == "":
		return nil, fmt.Errorf("base URL %s: no host", base)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("base URL %s: a query or fragment has no place in it", base)
	case strings.ContainsAny(t.host+t.prefix, " \r\n\x00"):
		return nil, fmt.Errorf("base URL %q: a blank or line end inside", base)
	}
	if t.port == "" {
		if t.port = "80"; t.secure {
			t.port = "443"
		}
	}
	t.auth = basic(u.User)
	return t, nil
}

// basic is the credentials of a URL as a header's value.
func basic(u *url.Userinfo) string {
	if u == nil {
		return ""
	}
	password, _ := u.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password))
}

// via sets the proxy that p wants for t.
func (t *target) via(p Proxy) error {
	u, err := p.choose(t)
	if err != nil || u == nil {
		return err
	}
	t.proxy, t.proxyAuth = u, basic(u.User)
	return nil
}

// tunnelled says whether the proxy is asked for a tunnel instead of the answer.
func (t *target) tunnelled() bool { return t.proxy != nil && t.secure }

// requestTarget is what stands in a request line for path.
func (t *target) requestTarget(path string) string {
	if t.proxy != nil && !t.secure {
		return "http://" + t.host + t.prefix + path
	}
	return t.prefix + path
}

func (t *target) hostPort() (name, port string) {
	if t.proxy == nil {
		return t.name, t.port
	}
	if port = t.proxy.Port(); port == "" {
		port = "80"
	}
	return t.proxy.Hostname(), port
}

// where names the other end of a connection in an error.
func (t *target) where() string {
	if t.proxy != nil {
		return "via proxy " + t.addr.String()
	}
	return "to " + t.addr.String()
}

// resolve looks the address up once for the whole run. Where a name has several
// addresses they are tried as browsers do (IPv6 and IPv4 a little apart) and the
// one that answers first is kept; where none answers the first one is, so that
// each request fails in its own right.
func (t *target) resolve(ctx context.Context) error {
	name, port := t.hostPort()
	began := time.Now()
	defer func() { t.took = time.Since(began) }()
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return fmt.Errorf("resolve port of %s: %w", net.JoinHostPort(name, port), err)
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		t.addr = netip.AddrPortFrom(ip.Unmap(), uint16(number))
		return nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return fmt.Errorf("resolve %s: %w", name, err)
	}
	if len(addrs) == 0 {
		return fmt.Errorf("resolve %s: no address", name)
	}
	t.addr = netip.AddrPortFrom(addrs[0].Unmap(), uint16(number))
	if len(addrs) == 1 {
		return nil
	}
	d := net.Dialer{Timeout: 10 * time.Second}
	if c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(name, port)); err == nil {
		if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
			t.addr = netip.AddrPortFrom(a.AddrPort().Addr().Unmap(), uint16(number))
		}
		c.Close()
	}
	return nil
}
