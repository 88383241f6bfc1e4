package load

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Proxy says which proxy requests go through. The zero value is none.
type Proxy struct {
	// URL is a proxy named for this run: it is used whatever the host.
	URL string
	// HTTP, HTTPS and Exempt are the values of http_proxy, https_proxy and
	// no_proxy where the environment is to be followed. A loopback address is
	// never reached through them.
	HTTP, HTTPS, Exempt string
}

func (p Proxy) validate() error {
	for _, v := range []string{p.URL, p.HTTP, p.HTTPS} {
		if _, err := proxyURL(v); err != nil {
			return err
		}
	}
	return nil
}

// proxyURL reads a proxy's address, with or without a scheme; nil for none.
func proxyURL(v string) (*url.URL, error) {
	if v == "" {
		return nil, nil
	}
	if !strings.Contains(v, "://") {
		v = "http://" + v
	}
	u, err := url.Parse(v)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if u.Scheme != "http" || u.Hostname() == "" {
		return nil, fmt.Errorf("proxy %s: only http:// proxies are supported", u.Redacted())
	}
	return u, nil
}

// choose is the proxy for t, nil for none.
func (p Proxy) choose(t *target) (*url.URL, error) {
	if p.URL != "" {
		return proxyURL(p.URL)
	}
	if loopback(t.name) || p.exempt(t) {
		return nil, nil
	}
	if t.secure {
		return proxyURL(p.HTTPS)
	}
	return proxyURL(p.HTTP)
}

func loopback(name string) bool {
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(name, "localhost") || strings.HasSuffix(strings.ToLower(name), ".localhost")
}

// exempt reads no_proxy: "*", addresses, ranges, and names that also cover what
// lies under them, each with or without a port, separated by commas.
func (p Proxy) exempt(t *target) bool {
	name := strings.ToLower(t.name)
	ip, ipErr := netip.ParseAddr(name)
	for entry := range strings.SplitSeq(p.Exempt, ",") {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if entry == "*" {
			return true
		}
		if host, port, ok := strings.Cut(entry, ":"); ok && !strings.Contains(port, ":") {
			if port != t.port {
				continue
			}
			entry = host
		}
		if r, err := netip.ParsePrefix(entry); err == nil {
			if ipErr == nil && r.Contains(ip.Unmap()) {
				return true
			}
			continue
		}
		entry = strings.TrimPrefix(strings.TrimPrefix(entry, "*"), ".")
		if entry != "" && (name == entry || strings.HasSuffix(name, "."+entry)) {
			return true
		}
	}
	return false
}
