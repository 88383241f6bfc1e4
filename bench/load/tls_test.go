package load

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// certificate is one for 127.0.0.1 that is valid until the given time.
func certificate(t *testing.T, until time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: until.Add(-time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// serveTLS is serve under TLS.
func serveTLS(t *testing.T, cert tls.Certificate, s script) *server {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	srv := &server{Listener: l, conns: map[net.Conn]bool{}}
	go srv.accept(s)
	t.Cleanup(srv.stop)
	return srv
}

func secure(srv *server) string { return "https://" + srv.Addr().String() }

// Under TLS reads, stamps and the pool are as without.
func TestTLS(t *testing.T) {
	cert, pool := certificate(t, time.Now().Add(time.Hour))
	srv := serveTLS(t, cert, tokens(4, 2*time.Millisecond))
	c := testClient(t, secure(srv), func(o *Options) { o.TLS = &tls.Config{RootCAs: pool} })
	res, got := run(t, c, Plan{Count: 40, Concurrency: 8})
	if res.Completed != 40 || srv.accepts.Load() > 8 {
		t.Errorf("completed %d, accepts %d, %v", res.Completed, srv.accepts.Load(), res.Classes)
	}
	want := frame(" t0") + frame(" t1") + frame(" t2") + frame(" t3") + doneFrame
	for _, q := range got.by {
		ordered(t, q)
		if body(q) != want {
			t.Errorf("%s: %q", q.ID, body(q))
		}
	}
	haveStamps(t, got)
}

// One socket read that completes several records is one Read.
func TestTLSRecordsOfOneRead(t *testing.T) {
	cert, pool := certificate(t, time.Now().Add(time.Hour))
	long := chunk("data: " + strings.Repeat("x", 40_000) + "\n\n") // three records
	srv := serveTLS(t, cert, func(c net.Conn, _ *http.Request, _ int64) bool {
		io.WriteString(c, streamHead+chunk("data: a\n\n")+long+chunk(doneFrame)+lastChunk)
		return true
	})
	_, got := run(t, testClient(t, secure(srv), func(o *Options) { o.TLS = &tls.Config{RootCAs: pool} }), Plan{Count: 3, Concurrency: 1})
	for _, q := range got.by {
		if len(body(q)) != len("data: a\n\n")+40_008+len(doneFrame) {
			t.Errorf("%s: %d bytes", q.ID, len(body(q)))
		}
		for i := 1; i < len(q.Reads); i++ {
			if q.Reads[i].TNS == q.Reads[i-1].TNS {
				t.Errorf("%s: reads %d and %d are of one socket read", q.ID, i-1, i)
			}
		}
	}
}

func TestTLSFaults(t *testing.T) {
	expired, expiredPool := certificate(t, time.Now().Add(-time.Minute))
	valid, _ := certificate(t, time.Now().Add(time.Hour))
	for _, c := range []struct {
		name string
		cert tls.Certificate
		cfg  *tls.Config
		text string
	}{
		{"expired", expired, &tls.Config{RootCAs: expiredPool}, "expired"},
		{"unknown authority", valid, nil, "unknown authority"},
		{"other name", valid, &tls.Config{ServerName: "other.example", InsecureSkipVerify: false}, "certificate"},
	} {
		srv := serveTLS(t, c.cert, tokens(1, 0))
		res, got := run(t, testClient(t, secure(srv), func(o *Options) { o.TLS = c.cfg }), Plan{Count: 4, Concurrency: 2})
		if res.Classes[ClassTLS] != 4 {
			t.Errorf("%s: %v", c.name, res.Classes)
		}
		if q := got.by["r0"]; !strings.Contains(q.Error, c.text) {
			t.Errorf("%s: %s", c.name, q.Error)
		}
	}
	srv := serveTLS(t, expired, tokens(1, 0))
	res, _ := run(t, testClient(t, secure(srv), func(o *Options) { o.TLS = &tls.Config{InsecureSkipVerify: true} }), Plan{Count: 2})
	if res.Completed != 2 {
		t.Errorf("unverified: %v", res.Classes)
	}
}

// A server that accepts and never shakes hands is given up after the connect
// limit, and a run that is cancelled does not wait for it.
func TestTLSHang(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := testClient(t, "https://"+l.Addr().String(), func(o *Options) { o.Limits.Connect = 100 * time.Millisecond })
	res, got := run(t, c, Plan{Count: 3})
	if res.Classes[ClassConnect] != 3 {
		t.Errorf("%v: %s", res.Classes, got.by["r0"].Error)
	}
	c = testClient(t, "https://"+l.Addr().String(), func(o *Options) { o.Limits.Connect = time.Hour })
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	res, _, err = runErr(t, ctx, c, Plan{Count: 3})
	if res.Classes[ClassCancelled] != 3 || err == nil {
		t.Errorf("%v %v", res.Classes, err)
	}
}
