package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestProxyChoice(t *testing.T) {
	env := Proxy{HTTP: "http://proxy:3128", HTTPS: "proxy2:3129", Exempt: "localhost, 10.0.0.0/8, .inner.example, host.example:8080, *.wild.example"}
	for _, c := range []struct {
		proxy     Proxy
		url, want string
	}{
		{env, "http://server.example", "proxy:3128"},
		{env, "https://server.example", "proxy2:3129"},
		{env, "http://127.0.0.1:8000", ""},
		{env, "http://[::1]:8000", ""},
		{env, "http://localhost:8000", ""},
		{env, "http://10.1.2.3", ""},
		{env, "http://11.1.2.3", "proxy:3128"},
		{env, "http://a.inner.example", ""},
		{env, "http://inner.example", ""},
		{env, "http://notinner.example", "proxy:3128"},
		{env, "http://host.example:8080", ""},
		{env, "http://host.example:8081", "proxy:3128"},
		{env, "http://x.wild.example", ""},
		{Proxy{HTTP: "p:1", Exempt: "*"}, "http://server.example", ""},
		{Proxy{URL: "p:1", Exempt: "*"}, "http://127.0.0.1", "p:1"},
		{Proxy{}, "http://server.example", ""},
	} {
		target, err := parseTarget(c.url)
		if err == nil {
			err = target.via(c.proxy)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if target.proxy != nil {
			got = target.proxy.Host
		}
		if got != c.want {
			t.Errorf("%s: proxy %q, want %q", c.url, got, c.want)
		}
	}
	for _, bad := range []Proxy{{URL: "socks5://p:1"}, {HTTP: "http://"}, {HTTPS: "://"}} {
		if err := bad.validate(); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// P112: a dead proxy in the environment does no harm to a loopback server, and
// where it is used the error says that it was.
func TestP112_Proxy(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	address := dead.Addr().String()
	srv := serve(t, tokens(1, 0))
	c := testClient(t, srv.url(), func(o *Options) { o.Proxy = Proxy{HTTP: "http://" + address} })
	if res, _ := run(t, c, Plan{Count: 2}); res.Completed != 2 || c.Proxy() != "" {
		t.Errorf("loopback: %v, proxy %q", res.Classes, c.Proxy())
	}
	for _, url := range []string{"http://server.example", "https://server.example"} {
		c := testClient(t, url, func(o *Options) { o.Proxy = Proxy{HTTP: address, HTTPS: address} })
		res, got := run(t, c, Plan{Count: 1})
		if q := got.by["r0"]; res.Classes[ClassRefused] != 1 || !strings.Contains(q.Error, "via proxy "+address) || c.Proxy() != address {
			t.Errorf("%s: %s %s, proxy %q", url, q.ErrorClass, q.Error, c.Proxy())
		}
	}
}

// Through a proxy a plain request names the whole URL and brings the proxy its
// credentials.
func TestPlainProxy(t *testing.T) {
	seen := make(chan *http.Request, 1)
	proxy := serve(t, func(c net.Conn, r *http.Request, n int64) bool {
		seen <- r
		return tokens(1, 0)(c, r, n)
	})
	c := testClient(t, "http://server.example:81/x", func(o *Options) {
		o.Proxy = Proxy{URL: strings.Replace(proxy.url(), "//", "//user:pass@", 1)}
	})
	res, _ := run(t, c, Plan{Count: 1})
	r := <-seen
	if res.Completed != 1 || r.RequestURI != "http://server.example:81/x/v1/completions" || r.Host != "server.example:81" || r.Header.Get("Proxy-Authorization") != "Basic dXNlcjpwYXNz" {
		t.Errorf("%v: %s host %s %v", res.Classes, r.RequestURI, r.Host, r.Header)
	}
}

// tunnelling is a proxy that answers CONNECT and joins the client to the server,
// or refuses with the status.
func tunnelling(t *testing.T, status string, to netip.AddrPort) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				req, err := http.ReadRequest(r)
				if err != nil || req.Method != "CONNECT" {
					return
				}
				io.WriteString(c, "HTTP/1.1 "+status+"\r\nVia: test\r\n\r\n")
				up, err := net.Dial("tcp", to.String())
				if err != nil || !strings.HasPrefix(status, "200") {
					return
				}
				defer up.Close()
				go io.Copy(up, r)
				io.Copy(c, up)
			}()
		}
	}()
	return l
}

func TestTunnel(t *testing.T) {
	cert, pool := certificate(t, time.Now().Add(time.Hour))
	srv := serveTLS(t, cert, tokens(2, 0))
	to := srv.Addr().(*net.TCPAddr).AddrPort()
	for status, want := range map[string]Class{"200 Established": "", "407 Who": ClassProxy} {
		proxy := tunnelling(t, status, to)
		c := testClient(t, secure(srv), func(o *Options) {
			o.Proxy, o.TLS = Proxy{URL: proxy.Addr().String()}, &tls.Config{RootCAs: pool}
		})
		res, got := run(t, c, Plan{Count: 2, Concurrency: 1})
		q := got.by["r0"]
		if q.ErrorClass != string(want) || want == "" && res.Completed != 2 || want != "" && !strings.Contains(q.Error, "407") {
			t.Errorf("%s: %v %s", status, res.Classes, q.Error)
		}
	}
}

// P115: a server on one of the families of localhost is found once, and every
// request goes there.
func TestP115_LocalhostHasTwoFamilies(t *testing.T) {
	srv := serve(t, tokens(1, 0))
	_, port, _ := net.SplitHostPort(srv.Addr().String())
	c := testClient(t, "http://localhost:"+port, nil)
	address, _ := c.Address()
	res, got := run(t, c, Plan{Count: 5})
	if res.Completed != 5 || address != srv.Addr().String() {
		t.Errorf("address %s: %v", address, res.Classes)
	}
	for _, q := range got.by {
		if q.Remote != srv.Addr().String() || q.ConnectedNS == nil && !*q.Reused {
			t.Errorf("%s: remote %s", q.ID, q.Remote)
		}
	}
	if six, err := net.Listen("tcp", "[::1]:0"); err == nil {
		six.Close()
		l, err := net.Listen("tcp", "[::1]:0")
		if err != nil {
			t.Fatal(err)
		}
		srv := &server{Listener: l, conns: map[net.Conn]bool{}}
		go srv.accept(tokens(1, 0))
		t.Cleanup(srv.stop)
		if res, _ := run(t, testClient(t, "http://"+l.Addr().String(), nil), Plan{Count: 2}); res.Completed != 2 {
			t.Errorf("IPv6: %v", res.Classes)
		}
	}
}

func TestTargets(t *testing.T) {
	for _, bad := range []string{"", "127.0.0.1:80", "ftp://x", "http://", "http://x/?a=b", "http://x/#f", "http://x y"} {
		if _, err := NewClient(context.Background(), Options{URL: bad}, nil); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	for url, want := range map[string][3]string{
		"http://h":           {"80", "", ""},
		"https://h/v/":       {"443", "/v", ""},
		"http://u:p@h:1/a b": {},
		"http://u:p@h:1/a":   {"1", "/a", "Basic dTpw"},
	} {
		target, err := parseTarget(url)
		if want == ([3]string{}) {
			continue
		}
		if err != nil || target.port != want[0] || target.prefix != want[1] || target.auth != want[2] {
			t.Errorf("%s: %+v %v", url, target, err)
		}
	}
}
